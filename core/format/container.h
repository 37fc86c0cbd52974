// The container that every file of Stowage is in: a fixed header, then one payload. This page is its
// specification.
//
// All numbers are little-endian. A file is exactly 48 + payload_bytes long.
//
//   offset size field
//        0    8 magic          89 53 54 4F 57 0D 0A 1A: not text, and changed by every line-end conversion
//        8    4 version        kFormatVersion; raised when older readers would misread the new format
//       12    2 kind           1 trace, 2 plan, 3 kept plans, 4 kept schedule
//       14    2 encoding       0 stored, 1 one zstd frame
//       16    8 payload_bytes  bytes that follow the header
//       24    8 content_bytes  bytes of the payload once decompressed
//       32    8 reserved       0
//       40    8 checksum       checksum() of bytes [0, 40), then of the payload, chained
//
// The content is a FlatBuffer, whose schemas are trace.fbs, plan.fbs, kept_plans.fbs and kept_schedule.fbs. A
// reader checks everything before it uses it: sizes before memory is taken (content_bytes is at most
// kMaxContentBytes, and at most kMaxExpansion times the payload and 64 KiB more), the checksum before
// decompression.
//
// Thread safety: functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/result.h"

namespace stowage::format {

enum class Kind : std::uint16_t { kTrace = 1, kPlan = 2, kKeptPlans = 3, kKeptSchedule = 4 };
enum class Encoding : std::uint16_t { kStored = 0, kZstd = 1 };

inline constexpr std::size_t kHeaderBytes = 48;
inline constexpr std::uint32_t kFormatVersion = 1;
/// No content is larger: 1 GiB, some ten million events.
inline constexpr std::uint64_t kMaxContentBytes = std::uint64_t{1} << 30;
/// A payload never grows by more than this factor; a writer stores what would compress better.
inline constexpr std::uint64_t kMaxExpansion = 256;
inline constexpr std::uint64_t kFreeExpansionBytes = 64 * 1024;

/// Decompressed content, aligned for any fundamental type.
struct Content {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size = 0;
};

/// 64-bit hash of `bytes`, chained from `seed`. Each step is a bijection of the word read and of the state
/// before it, so that a change within one aligned 8-byte word is always found and any other with a chance of
/// 1 - 2^-64. It is for damage, not for an adversary: what is read is verified all the same.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed);

/// Wraps `content`. Errors: kInvalidArgument (more than kMaxContentBytes), kInternal (zstd failed).
Result<std::vector<std::byte>> pack(std::span<const std::byte> content, Kind kind);

/// Checks a file's first bytes: `head` is its first kHeaderBytes (fewer only if the file is
/// shorter), `file_bytes` its length. Errors as for unpack.
Status check_header(std::span<const std::byte> head, std::uint64_t file_bytes, Kind kind);

/// The content of a whole file. Errors: kForeignFile (not ours, or of another kind), kUnknownVersion,
/// kDamagedFile.
Result<Content> unpack(std::span<const std::byte> file, Kind kind);

/// The error for content of more than kMaxContentBytes.
Error too_large();

/// The error for content that passed the checksum and still breaks a rule of its schema.
Error damaged(const char* what);

}  // namespace stowage::format
