// Columns of a FlatBuffer table, written from rows and read back with care. Used by the format's own .cc
// files only.
//
// Several fields of a hostile file may point at the same bytes, so that a small file claims much memory.
// ColumnReader adds up what all columns and strings claim; honest ones never claim more than the content has.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/format/container.h"

namespace stowage::format {

/// Bits of BufferColumns::flags.
inline constexpr std::uint8_t kPreexistingBit = 1;
inline constexpr std::uint8_t kCrossStreamBit = 2;

/// Of most kinds of content: a trace or a plan has at most 8.
inline constexpr flatbuffers::uoffset_t kMostTables = 16;

/// A verifier for untrusted content: our schemas nest 4 deep.
inline flatbuffers::Verifier make_verifier(const Content& content, flatbuffers::uoffset_t max_tables) {
  constexpr flatbuffers::uoffset_t kMaxDepth = 8;
  return {reinterpret_cast<const std::uint8_t*>(content.bytes.get()), content.size, kMaxDepth, max_tables};
}

/// A vector with `get(row)` of each row.
template <class Wire, class Row, class Get>
flatbuffers::Offset<flatbuffers::Vector<Wire>> write_column(flatbuffers::FlatBufferBuilder& builder,
                                                            const std::vector<Row>& rows, Get get) {
  Wire* out = nullptr;
  auto offset = builder.CreateUninitializedVector<Wire>(rows.size(), &out);
  for (const Row& row : rows) *out++ = get(row);
  return offset;
}

/// The elements of a column. FlatBuffers' verifier checks that they are within the content, not that they are
/// aligned: they are copied out byte by byte.
template <class Wire>
class Column {
 public:
  Column() = default;
  explicit Column(const std::uint8_t* data) : data_(data) {}
  Wire operator[](std::size_t index) const {
    Wire element;
    std::memcpy(&element, data_ + index * sizeof element, sizeof element);
    return element;
  }

 private:
  const std::uint8_t* data_ = nullptr;
};

/// Reads columns and strings, and remembers whether any was invalid.
class ColumnReader {
 public:
  explicit ColumnReader(std::size_t content_bytes) : left_(content_bytes) {}

  /// Claims `column` of exactly `rows` elements. If it has another number, the reader is damaged from then on
  /// and the result must not be read.
  template <class Wire>
  Column<Wire> take(const flatbuffers::Vector<Wire>* column, std::size_t rows) {
    const std::size_t have = column == nullptr ? 0 : column->size();
    claim(have == rows && have <= left_ / sizeof(Wire), have * sizeof(Wire));
    return damaged_ || column == nullptr ? Column<Wire>() : Column<Wire>(column->Data());
  }

  /// Claims a vector of strings and the strings in it.
  std::vector<std::string> take_all(
      const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
    std::vector<std::string> taken;
    const std::size_t rows = texts == nullptr ? 0 : texts->size();
    claim(rows <= left_ / sizeof(flatbuffers::uoffset_t), rows * sizeof(flatbuffers::uoffset_t));
    for (std::uint32_t i = 0; i < rows && !damaged_; ++i) taken.push_back(take(texts->Get(i)));
    return taken;
  }

  /// Claims a string; "" if there is none.
  std::string take(const flatbuffers::String* text) {
    if (text == nullptr) return {};
    claim(text->size() <= left_, text->size());
    return damaged_ ? std::string() : text->str();
  }

  /// A rule of one element.
  void require(bool holds) { damaged_ = damaged_ || !holds; }

  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  void claim(bool allowed, std::size_t bytes) {
    if (allowed && !damaged_) {
      left_ -= bytes;
    } else {
      damaged_ = true;
    }
  }

  std::size_t left_;
  bool damaged_ = false;
};

/// How many rows a column has; an absent one has none.
template <class Wire>
std::size_t row_count(const flatbuffers::Vector<Wire>* column) {
  return column == nullptr ? 0 : column->size();
}

}  // namespace stowage::format
