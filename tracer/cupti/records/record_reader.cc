#include "tracer/cupti/records/record_reader.h"

#include <cstring>

namespace stowage::tracer::cupti {
namespace {

constexpr int kDriverDomain = 1;
constexpr int kRuntimeDomain = 2;

template <class Field>
Field field(const std::byte* record, std::size_t offset) {
  Field value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}
std::uint32_t u32(const std::byte* record, std::size_t offset) {
  return field<std::uint32_t>(record, offset);
}
std::uint64_t u64(const std::byte* record, std::size_t offset) {
  return field<std::uint64_t>(record, offset);
}

void read_kernel(const std::byte* record, NameBook& names, Record& into) {
  into.begin = u64(record, 16);
  into.end = u64(record, 24);
  into.device = u32(record, 40);
  into.stream = u32(record, 48);
  into.correlation = u32(record, 92);
  const auto* const name = field<const char*>(record, 104);
  into.name = names.number_of(name != nullptr ? name : "kernel without a name");
  into.graph_node = u32(record, 144);
}

void read_copy(const std::byte* record, NameBook& names, Record& into) {
  const bool fills = into.kind == RecordKind::kMemset;
  into.detail = fills ? 0 : field<std::uint8_t>(record, 4);
  into.value = u64(record, 8);
  into.begin = u64(record, 16);
  into.end = u64(record, 24);
  into.device = u32(record, 32);
  into.stream = u32(record, 40);
  into.correlation = into.kind == RecordKind::kMemcpyPeer ? u32(record, 60) : u32(record, 44);
  into.name = names.number_of(fills ? "memset" : "memcpy");
}

void read_call(const std::byte* record, const Library& library, NameBook& names, Record& into) {
  into.detail = u32(record, 4);
  into.begin = u64(record, 8);
  into.end = u64(record, 16);
  into.thread = u32(record, 28);
  into.correlation = u32(record, 32);
  const int domain = into.kind == RecordKind::kRuntimeCall ? kRuntimeDomain : kDriverDomain;
  const char* name = nullptr;
  if (library.get_callback_name != nullptr)
    static_cast<void>(library.get_callback_name(domain, into.detail, &name));
  into.name = names.number_of(name != nullptr ? name : "call " + std::to_string(into.detail));
}

void read_synchronization(const std::byte* record, NameBook& names, Record& into) {
  into.detail = u32(record, 4);
  into.begin = u64(record, 8);
  into.end = u64(record, 16);
  into.correlation = u32(record, 24);
  into.stream = u32(record, 32);
  into.name = names.number_of("synchronize");
}

void read_memory_operation(const std::byte* record, NameBook& names, Record& into) {
  into.detail = u32(record, 4);
  into.correlation = u32(record, 12);
  into.value = u64(record, 24);
  into.begin = into.end = u64(record, 32);
  into.device = u32(record, 52);
  into.stream = u32(record, 60);
  into.name = names.number_of("memory operation");
}

void read_pool(const std::byte* record, NameBook& names, Record& into) {
  into.detail = u32(record, 4);
  into.correlation = u32(record, 12);
  into.name = names.number_of("memory pool");
}

void read_external(const std::byte* record, Record& into) {
  into.detail = u32(record, 4);
  into.value = u64(record, 8);
  into.correlation = u32(record, 16);
}

void read_overhead(const std::byte* record, NameBook& names, Record& into) {
  into.detail = u32(record, 4);
  into.begin = u64(record, 24);
  into.end = u64(record, 32);
  into.name = names.number_of("CUPTI overhead");
}

}  // namespace

std::uint32_t NameBook::number_of(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(text);
  numbers_.emplace(names_.back(), number);
  return number;
}

bool read_record(const std::byte* record, const Library& library, NameBook& names, Record& into) {
  into = {};
  into.kind = static_cast<RecordKind>(u32(record, 0));
  switch (into.kind) {
    case RecordKind::kKernel:
      read_kernel(record, names, into);
      return true;
    case RecordKind::kMemcpy:
    case RecordKind::kMemset:
    case RecordKind::kMemcpyPeer:
      read_copy(record, names, into);
      return true;
    case RecordKind::kRuntimeCall:
    case RecordKind::kDriverCall:
      read_call(record, library, names, into);
      return true;
    case RecordKind::kSynchronization:
      read_synchronization(record, names, into);
      return true;
    case RecordKind::kMemoryOperation:
      read_memory_operation(record, names, into);
      return true;
    case RecordKind::kMemoryPool:
      read_pool(record, names, into);
      return true;
    case RecordKind::kExternalCorrelation:
      read_external(record, into);
      return true;
    case RecordKind::kOverhead:
      read_overhead(record, names, into);
      return true;
  }
  return false;
}

void read_buffer(std::byte* buffer, std::size_t valid, const Library& library, NameBook& names,
                 std::vector<Record>& into, ActivityLosses& losses) {
  void* at = nullptr;
  for (;;) {
    const CuptiResult found = library.get_next_record(reinterpret_cast<std::uint8_t*>(buffer), valid, &at);
    if (found == kMaxLimitReached) return;
    if (found != kSuccess) {
      ++losses.unknown;
      return;
    }
    Record record;
    if (read_record(static_cast<const std::byte*>(at), library, names, record)) into.push_back(record);
  }
}

}  // namespace stowage::tracer::cupti
