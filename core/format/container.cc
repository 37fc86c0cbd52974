#include "core/format/container.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "core/support/mix.h"

namespace stowage::format {
namespace {

static_assert(std::endian::native == std::endian::little,
              "headers are read and written in place, little-endian");

constexpr std::array<unsigned char, 8> kMagic = {0x89, 'S', 'T', 'O', 'W', '\r', '\n', 0x1a};
constexpr std::size_t kChecksumOffset = 40;
constexpr int kCompressionLevel = 3;  // zstd's default: a trace is written at the end of a running job

/// The header as it lies in the file.
struct Header {
  std::array<unsigned char, 8> magic = kMagic;
  std::uint32_t version = kFormatVersion;
  std::uint16_t kind = 0;
  std::uint16_t encoding = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t content_bytes = 0;
  std::uint64_t reserved = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == kHeaderBytes && offsetof(Header, checksum) == kChecksumOffset);

/// The finalizer of splitmix64 (Steele, Lea, Flood 2014), a bijection of 64-bit words.
Header read_header(std::span<const std::byte> head) {
  Header header;
  std::memcpy(&header, head.data(), sizeof header);
  return header;
}

std::uint64_t file_checksum(std::span<const std::byte> file) {
  return checksum(file.subspan(kHeaderBytes), checksum(file.first(kChecksumOffset), 0));
}

bool expansion_allowed(std::uint64_t payload_bytes, std::uint64_t content_bytes) {
  return content_bytes <= kFreeExpansionBytes ||
         (content_bytes - kFreeExpansionBytes) / kMaxExpansion < payload_bytes;
}

/// With its article; null for a kind that is not known.
const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kTrace:
      return "a trace";
    case Kind::kPlan:
      return "a plan";
    case Kind::kKeptPlans:
      return "a file of kept plans";
    case Kind::kKeptSchedule:
      return "a kept schedule";
  }
  return nullptr;
}

Error foreign(const std::string& what) { return Error{ErrorCode::kForeignFile, what + "; check the path"}; }

Status check_identity(const Header& header, Kind kind) {
  if (header.version != kFormatVersion) {
    return Error{ErrorCode::kUnknownVersion, "the file has format version " + std::to_string(header.version) +
                                                 ", this build reads version " +
                                                 std::to_string(kFormatVersion) +
                                                 "; read it with the Stowage that wrote it, or make it anew"};
  }
  if (header.kind == static_cast<std::uint16_t>(kind)) return {};
  const char* const other = name_of(Kind{header.kind});
  if (other == nullptr) return damaged("its kind is not known");
  return foreign(std::string("the file is ") + other + " where " + name_of(kind) + " is needed");
}

/// Everything before the sizes is checked; nothing is allocated before they are.
Status check_sizes(const Header& header, std::uint64_t file_bytes) {
  if (header.payload_bytes != file_bytes - kHeaderBytes)
    return damaged("its length is not the one it was written with");
  if (header.reserved != 0) return damaged("its reserved field is not 0");
  if (header.content_bytes > kMaxContentBytes) return damaged("its content would be larger than 1 GiB");
  if (header.payload_bytes > ZSTD_compressBound(header.content_bytes))
    return damaged("its payload is implausibly large");
  switch (Encoding{header.encoding}) {
    case Encoding::kStored:
      if (header.content_bytes != header.payload_bytes) return damaged("its two sizes do not agree");
      return {};
    case Encoding::kZstd:
      if (!expansion_allowed(header.payload_bytes, header.content_bytes))
        return damaged("its content is implausibly large");
      return {};
  }
  return damaged("its encoding is not known");
}

Result<std::vector<std::byte>> compress(std::span<const std::byte> content) {
  std::vector<std::byte> payload(ZSTD_compressBound(content.size()));
  const std::size_t size =
      ZSTD_compress(payload.data(), payload.size(), content.data(), content.size(), kCompressionLevel);
  if (ZSTD_isError(size) != 0) {
    return Error{ErrorCode::kInternal,
                 std::string("zstd could not compress: ") + ZSTD_getErrorName(size) + "; report it"};
  }
  payload.resize(size);
  return payload;
}

}  // namespace

Error damaged(const char* what) {
  return Error{ErrorCode::kDamagedFile,
               std::string("the file is damaged: ") + what + "; delete it and make it again"};
}

Error too_large() {
  return Error{ErrorCode::kInvalidArgument, "more than 1 GiB of content; record fewer events"};
}

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = mix(seed + kGoldenGamma + bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += sizeof state) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    state = mix((state ^ word) + kGoldenGamma);
  }
  return state;
}

Result<std::vector<std::byte>> pack(std::span<const std::byte> content, Kind kind) {
  if (content.size() > kMaxContentBytes) return too_large();
  auto payload = compress(content);
  if (!payload) return payload;
  const bool stored = !expansion_allowed(payload->size(), content.size());
  const std::span<const std::byte> body = stored ? content : std::span<const std::byte>(*payload);
  Header header;
  header.kind = static_cast<std::uint16_t>(kind);
  header.encoding = static_cast<std::uint16_t>(stored ? Encoding::kStored : Encoding::kZstd);
  header.payload_bytes = body.size();
  header.content_bytes = content.size();
  std::vector<std::byte> file(kHeaderBytes + body.size());
  std::memcpy(file.data(), &header, sizeof header);
  std::copy(body.begin(), body.end(), file.begin() + kHeaderBytes);
  header.checksum = file_checksum(file);
  std::memcpy(file.data() + kChecksumOffset, &header.checksum, sizeof header.checksum);
  return file;
}

Status check_header(std::span<const std::byte> head, std::uint64_t file_bytes, Kind kind) {
  const auto magic = std::as_bytes(std::span(kMagic)).first(std::min(head.size(), kMagic.size()));
  if (!std::equal(magic.begin(), magic.end(), head.begin())) {
    return foreign(std::string("the file is not ") + name_of(kind) + " of Stowage");
  }
  if (head.size() < kHeaderBytes) return damaged("it ends within its header");
  const Header header = read_header(head);
  if (Status status = check_identity(header, kind); !status) return status;
  return check_sizes(header, file_bytes);
}

Result<Content> unpack(std::span<const std::byte> file, Kind kind) {
  const auto head = file.first(std::min(file.size(), kHeaderBytes));
  if (Status status = check_header(head, file.size(), kind); !status) return status.error();
  const Header header = read_header(head);
  if (header.checksum != file_checksum(file)) return damaged("its checksum does not match");
  const auto payload = file.subspan(kHeaderBytes);
  Content content{std::make_unique_for_overwrite<std::byte[]>(header.content_bytes), header.content_bytes};
  if (Encoding{header.encoding} == Encoding::kStored) {
    std::copy(payload.begin(), payload.end(), content.bytes.get());
    return content;
  }
  const std::size_t size = ZSTD_decompress(content.bytes.get(), content.size, payload.data(), payload.size());
  if (ZSTD_isError(size) != 0 || size != content.size) return damaged("its payload cannot be decompressed");
  return content;
}

}  // namespace stowage::format
