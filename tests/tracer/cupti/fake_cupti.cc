#include "tests/tracer/cupti/fake_cupti.h"

#include <cstring>

namespace stowage::tracer::cupti::testing {
namespace {

FakeCupti* fake = nullptr;

std::size_t size_of(std::uint32_t kind) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kKernel:
      return fake->kernel_size;
    case RecordKind::kMemcpy:
    case RecordKind::kMemset:
    case RecordKind::kMemcpyPeer:
      return 96;
    case RecordKind::kRuntimeCall:
    case RecordKind::kDriverCall:
      return 40;
    case RecordKind::kExternalCorrelation:
      return 24;
    case RecordKind::kSynchronization:
    case RecordKind::kOverhead:
      return 56;
    case RecordKind::kMemoryOperation:
      return 128;
    case RecordKind::kMemoryPool:
      return 72;
  }
  return 0;
}

}  // namespace

struct FakeFunctions {
  static CuptiResult get_version(std::uint32_t* version) {
    *version = fake->version;
    return fake->answer("get_version");
  }
  static CuptiResult get_result_string(CuptiResult, const char** text) {
    *text = "CUPTI_ERROR_MADE_UP";
    return kSuccess;
  }
  static CuptiResult get_timestamp(std::uint64_t* ns) {
    *ns = fake->time;
    return kSuccess;
  }
  static CuptiResult enable(std::uint32_t kind) {
    fake->note("enable " + std::to_string(kind));
    if (const auto refused = fake->enable_answers.find(kind); refused != fake->enable_answers.end())
      return refused->second;
    fake->enabled.insert(kind);
    return fake->answer("enable");
  }
  static CuptiResult disable(std::uint32_t kind) {
    fake->note("disable " + std::to_string(kind));
    fake->enabled.erase(kind);
    return kSuccess;
  }
  static CuptiResult register_callbacks(BufferRequested requested, BufferCompleted completed) {
    fake->note("register");
    fake->requested_ = requested;
    fake->completed_ = completed;
    return fake->answer("register_callbacks");
  }
  static CuptiResult get_next_record(std::uint8_t* buffer, std::size_t valid, void** record) {
    auto* const before = static_cast<std::uint8_t*>(*record);
    const auto kind_at = [&](std::uint8_t* at) {
      std::uint32_t kind = 0;
      if (at + sizeof kind <= buffer + valid) std::memcpy(&kind, at, sizeof kind);
      return kind;
    };
    std::uint8_t* const next = before == nullptr ? buffer : before + size_of(kind_at(before));
    if (next >= buffer + valid) return kMaxLimitReached;
    const std::size_t size = size_of(kind_at(next));
    if (size == 0) return 21;                                   // CUPTI_ERROR_INVALID_KIND
    if (next + size > buffer + valid) return kMaxLimitReached;  // cut
    *record = next;
    return kSuccess;
  }
  static CuptiResult get_dropped(void*, std::uint32_t, std::size_t* dropped) {
    const std::lock_guard lock(fake->mutex_);
    *dropped = std::exchange(fake->dropped, 0);
    return kSuccess;
  }
  static CuptiResult flush_all(std::uint32_t flag) {
    fake->note("flush " + std::to_string(flag));
    const std::lock_guard lock(fake->mutex_);
    if (!fake->at_flush.empty()) {
      fake->write_locked(fake->at_flush.front());
      fake->at_flush.erase(fake->at_flush.begin());
    }
    fake->complete();
    return fake->answer("flush_all");
  }
  static CuptiResult push(std::uint32_t, std::uint64_t id) {
    const std::lock_guard lock(fake->mutex_);
    ++fake->pushes;
    fake->stack.push_back(id);
    return fake->answer("push");
  }
  static CuptiResult pop(std::uint32_t, std::uint64_t* last) {
    const std::lock_guard lock(fake->mutex_);
    if (fake->stack.empty()) return 18;  // CUPTI_ERROR_QUEUE_EMPTY
    *last = fake->stack.back();
    fake->stack.pop_back();
    return kSuccess;
  }
  static CuptiResult get_callback_name(int, std::uint32_t cbid, const char** name) {
    *name = cbid == kLaunchKernel ? "cudaLaunchKernel" : "another call";
    return kSuccess;
  }
  static CuptiResult finalize() {
    fake->note("finalize");
    return kSuccess;
  }
};

FakeCupti::FakeCupti() { fake = this; }
FakeCupti::~FakeCupti() { fake = nullptr; }

Library FakeCupti::library() const {
  Library made;
  made.get_version = &FakeFunctions::get_version;
  made.get_result_string = &FakeFunctions::get_result_string;
  made.get_timestamp = &FakeFunctions::get_timestamp;
  made.enable = &FakeFunctions::enable;
  made.disable = &FakeFunctions::disable;
  made.register_callbacks = &FakeFunctions::register_callbacks;
  made.get_next_record = &FakeFunctions::get_next_record;
  made.get_dropped = &FakeFunctions::get_dropped;
  made.flush_all = &FakeFunctions::flush_all;
  made.push = &FakeFunctions::push;
  made.pop = &FakeFunctions::pop;
  made.get_callback_name = &FakeFunctions::get_callback_name;
  made.finalize = &FakeFunctions::finalize;
  return made;
}

void FakeCupti::note(const std::string& call) {
  const std::lock_guard lock(mutex_);
  calls.push_back(call);
}

CuptiResult FakeCupti::answer(const std::string& function) {
  const auto found = answers.find(function);
  return found == answers.end() ? kSuccess : found->second;
}

// Requires: mutex_ is held.
void FakeCupti::complete() {
  if (buffer_ == nullptr || used_ == 0 || others_) return;
  completed_(nullptr, 0, std::exchange(buffer_, nullptr), bytes_, std::exchange(used_, 0));
}

void FakeCupti::write_locked(const std::vector<Bytes>& records) {
  for (const Bytes& record : records) {
    if (buffer_ != nullptr && used_ + record.size() > bytes_) complete();
    if (buffer_ == nullptr) {
      std::size_t most = 0;
      requested_(&buffer_, &bytes_, &most);
    }
    if (buffer_ == nullptr || bytes_ < record.size()) {
      ++dropped;
      continue;
    }
    std::memcpy(buffer_ + used_, record.data(), record.size());
    used_ += record.size();
  }
}

void FakeCupti::write(const std::vector<Bytes>& records) {
  const std::lock_guard lock(mutex_);
  write_locked(records);
}

void FakeCupti::deliver(const std::vector<Bytes>& records) {
  const std::lock_guard lock(mutex_);
  write_locked(records);
  complete();
}

}  // namespace stowage::tracer::cupti::testing
