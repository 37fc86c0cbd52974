// Seeded mutants of good files. One seed says everything: which file, what kind of mutation, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/format/container.h"

namespace stowage::testing {

using FileBytes = std::vector<std::byte>;

enum class Mutation : std::uint8_t {
  kTruncate,  ///< cut, anywhere
  kFlip,      ///< 1 to 8 bits turned over
  kSplice,    ///< a run of bytes copied, inserted from another file, or left out
  kForeign,   ///< bytes that are not of ours, with or without our magic
  kRepaired,  ///< header or payload changed, then lengths and checksum put right
  kContent,   ///< decompressed content changed, then compressed and checksummed again
  kCount
};

/// A mutant and what it was made from.
struct Mutant {
  format::Kind kind = format::Kind::kTrace;  ///< of the file it was made from
  Mutation mutation = Mutation::kTruncate;
  bool changed = false;  ///< differs from the good file
  bool sealed = false;   ///< its checksum fits: only the content can give it away
  FileBytes bytes;
};

/// The good files, of all kinds, small and large.
const std::vector<FileBytes>& good_files();
format::Kind kind_of(const FileBytes& file);
/// Sets the length and checksum fields of `file` to what they must be. Requires: at least a header.
void repair(FileBytes& file);
/// Mutant number `number` of a class.
Mutant make_mutant(Mutation mutation, std::uint32_t number);

}  // namespace stowage::testing
