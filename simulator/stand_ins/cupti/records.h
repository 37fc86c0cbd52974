// CUPTI's activity records, as bytes, in the newest structs of the headers that this is compiled with.
//
// Thread safety: pure functions.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulator/device/activity/activity.h"

namespace stowage::simulator {

/// One record: `size` of these bytes.
struct RawRecord {
  static constexpr std::size_t kMost = 256;
  std::array<std::byte, kMost> bytes{};
  std::size_t size = 0;
};

/// The bytes of a record of `kind`; 0: the kind is not known, and a reader cannot pass it.
std::size_t record_size(CUpti_ActivityKind kind);

/// `begin`, `end`, `at`: stamps of CUPTI's clock.
RawRecord call_record(const ApiCall& call, std::uint64_t begin, std::uint64_t end, std::uint32_t thread);
RawRecord external_record(CUpti_ExternalCorrelationKind kind, std::uint64_t id, std::uint32_t correlation);
RawRecord work_record(const Work& work, std::uint64_t begin, std::uint64_t end);
RawRecord wait_record(const Wait& wait, std::uint64_t begin, std::uint64_t end);
RawRecord memory_record(const MemoryOperation& operation, std::uint64_t at);
/// A kind that no reader knows.
RawRecord unknown_record();

/// The kind that must be enabled for `work` to be recorded.
CUpti_ActivityKind kind_of(const Work& work);

}  // namespace stowage::simulator
