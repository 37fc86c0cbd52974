#include "tracer/cupti/source.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "core/support/check.h"
#include "tracer/cupti/callbacks.h"

namespace stowage::tracer::cupti {
namespace {

constexpr std::uint32_t kForced = 1;     // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr int kHostPinnedAttribute = 8;  // CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED
constexpr std::chrono::milliseconds kBetweenFlushes{1};  // doubled at each one in vain
constexpr int kVainFlushes = 6;

// What times need; and what else is recorded if this version of CUPTI can.
constexpr RecordKind kNeeded[] = {RecordKind::kExternalCorrelation, RecordKind::kRuntimeCall,
                                  RecordKind::kMemcpy, RecordKind::kMemset, RecordKind::kKernel};
constexpr RecordKind kWelcome[] = {RecordKind::kDriverCall,      RecordKind::kMemcpyPeer,
                                   RecordKind::kSynchronization, RecordKind::kMemoryOperation,
                                   RecordKind::kMemoryPool,      RecordKind::kOverhead};

// Calls that PyTorch makes all the time and that launch, copy, allocate and wait for nothing, by cbid:
// cudaGetLastError, cudaPeekAtLastError, cudaFuncGetAttributes, cudaSetDevice, cudaGetDevice, cudaEventQuery,
// cudaPointerGetAttributes, cudaDeviceGetAttribute, the occupancy questions, cudaStreamIsCapturing,
// cudaStreamGetCaptureInfo, __cudaPushCallConfiguration, __cudaPopCallConfiguration.
constexpr std::uint32_t kIdleCalls[] = {10,  11,  15,  16,  17,  138, 151, 200, 207, 210, 251,
                                        317, 318, 324, 325, 409, 410, 461, 462, 502, 503};

bool is_idle_call(const Record& record) {
  return record.kind == RecordKind::kRuntimeCall &&
         std::find(std::begin(kIdleCalls), std::end(kIdleCalls), record.detail) != std::end(kIdleCalls);
}

std::uint64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

std::vector<std::uint64_t>& open_ids() {
  thread_local std::vector<std::uint64_t> ids;
  return ids;
}

std::atomic<std::uint64_t> last_id{0};

// The process's source. Never destroyed: the last clock may go after static objects.
struct Present {
  std::mutex mutex;
  std::weak_ptr<Source> source;
};
Present& present() {
  static auto& the_present = *new Present;
  return the_present;
}

}  // namespace

Result<std::shared_ptr<Source>> Source::join(const Library& library, const SourceOptions& options) {
  const std::lock_guard lock(present().mutex);
  if (options.others_record && options.others_record())
    return Error{ErrorCode::kUnsupported, "another profiler is recording"};
  if (std::shared_ptr<Source> there = present().source.lock(); there && !there->is_lost()) return there;
  std::shared_ptr<Source> made(new Source(library, options));
  if (stowage::Status started = made->start(); !started) return started.error();
  present().source = made;
  return made;
}

Source::Source(const Library& library, SourceOptions options)
    : library_(library),
      options_(std::move(options)),
      process_(getpid()),
      pool_(std::make_shared<BufferPool>(options_.buffers, options_.buffer_bytes)) {}

Source::~Source() {
  if (getpid() != process_) {  // thread and buffers are the parent's
    static_cast<void>(std::make_unique<std::thread>(std::move(reader_)).release());
    static_cast<void>(std::make_unique<std::shared_ptr<BufferPool>>(pool_).release());
    return;
  }
  stop();
}

// ---- beginning

stowage::Status Source::start() {
  std::uint8_t pinned = 1;
  std::size_t bytes = sizeof pinned;  // CUPTI's own buffers would else lie in device memory; it may refuse
  if (library_.set_attribute != nullptr)
    static_cast<void>(library_.set_attribute(kHostPinnedAttribute, &bytes, &pinned));
  if (stowage::Status taken = serve_buffers(library_, pool_); !taken) return taken;
  begin_ = read_clocks();
  if (stowage::Status enabled = enable_kinds(); !enabled) {
    stop();
    return enabled;
  }
  reader_ = std::thread([this] { read_buffers(); });
  return {};
}

stowage::Status Source::enable_kinds() {
  for (const RecordKind kind : kNeeded) {
    const auto number = static_cast<std::uint32_t>(kind);
    if (const CuptiResult answer = library_.enable(number); answer != kSuccess)
      return Error{ErrorCode::kUnsupported, library_.describe("cuptiActivityEnable", answer)};
    enabled_.push_back(number);
  }
  for (const RecordKind kind : kWelcome) {
    const auto number = static_cast<std::uint32_t>(kind);
    if (library_.enable(number) == kSuccess) enabled_.push_back(number);
  }
  return {};
}

ClockPair Source::read_clocks() const {
  ClockPair pair;
  static_cast<void>(library_.get_timestamp(&pair.cupti));
  pair.steady_ns = now_ns(CLOCK_MONOTONIC);
  pair.realtime_ns = now_ns(CLOCK_REALTIME);
  return pair;
}

// ---- ops

OpenedOp Source::push() noexcept try {
  if (is_lost()) return {};
  if (options_.others_record && options_.others_record()) {
    give_way();
    return {};
  }
  std::vector<std::uint64_t>& open = open_ids();
  const OpenedOp op{last_id.fetch_add(1, std::memory_order_relaxed) + 1, open.empty() ? 0 : open.back()};
  open.push_back(op.id);
  if (library_.push(kOurExternalKind, op.id) == kSuccess) return op;
  open.pop_back();
  return {};
} catch (...) {
  return {};
}

// CUPTI goes on filling the buffers that it has from us, and its new client would never see these records. A
// flush makes it ask that client for buffers from now on; what is in ours is lost.
void Source::give_way() noexcept {
  if (!lost_.exchange(true)) static_cast<void>(library_.flush_all(0));
}

void Source::leave_present() noexcept {
  std::shared_ptr<Source> there;
  {
    const std::lock_guard lock(present().mutex);
    there = present().source.lock();
  }
  if (there != nullptr && there->process_ == getpid()) there->leave();
}

void Source::leave() noexcept {
  const std::lock_guard lock(flushing_);
  if (!lost_.exchange(true)) disable_kinds();
}

// A forced flush returns all buffers, unfinished work in them.
void Source::disable_kinds() noexcept {
  for (const std::uint32_t kind : enabled_) static_cast<void>(library_.disable(kind));
  static_cast<void>(library_.flush_all(kForced));
}

void Source::pop(const OpenedOp& op) noexcept {
  if (op.id == 0) return;
  std::vector<std::uint64_t>& open = open_ids();
  // An op can end on another thread than it began on: it is not open here then.
  const auto at = std::find(open.rbegin(), open.rend(), op.id);
  if (at == open.rend()) return;
  const auto inner = static_cast<std::size_t>(at - open.rbegin());
  open.resize(open.size() - inner - 1);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i <= inner; ++i) static_cast<void>(library_.pop(kOurExternalKind, &last));
}

// ---- records

void Source::read_buffers() {
  while (const std::optional<BufferPool::Filled> filled = pool_->next()) {
    std::vector<Record> fresh;
    {
      const std::lock_guard lock(mutex_);
      read_buffer(filled->buffer, filled->valid, library_, names_, fresh, losses_);
    }
    keep(fresh);
    pool_->give_back(filled->buffer);
  }
}

void Source::keep(std::vector<Record>& fresh) {
  std::erase_if(fresh, is_idle_call);
  const std::lock_guard lock(mutex_);
  const std::size_t room = options_.most_records - std::min(options_.most_records, records_.size());
  const std::size_t kept = std::min(room, fresh.size());
  losses_.beyond_limit += fresh.size() - kept;
  records_.insert(records_.end(), fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(kept));
}

// How many records there are then.
std::size_t Source::flush(std::uint32_t flag) {
  static_cast<void>(library_.flush_all(flag));
  pool_->wait_until_read(options_.patience);
  const std::lock_guard lock(mutex_);
  return records_.size();
}

// Flushes until each launch has a record of its work, or until flushes bring nothing more: what was captured
// into a graph has none.
void Source::fetch_records() {
  const std::lock_guard lock(flushing_);
  const auto deadline = std::chrono::steady_clock::now() + options_.patience;
  std::size_t known = flush(0);
  for (int in_vain = 0; in_vain < kVainFlushes && std::chrono::steady_clock::now() < deadline; ++in_vain) {
    {
      const std::lock_guard records(mutex_);
      if (missing_work(records_) == 0) break;
    }
    std::this_thread::sleep_for(kBetweenFlushes * (1 << in_vain));
    if (const std::size_t now = flush(0); std::exchange(known, now) != now) in_vain = 0;
  }
  std::size_t dropped = 0;
  static_cast<void>(library_.get_dropped(nullptr, 0, &dropped));
  const std::lock_guard records(mutex_);
  losses_.dropped += dropped;
}

Source::Collected Source::collect() {
  is_lost() ? pool_->wait_until_read(options_.patience) : fetch_records();
  const ClockPair now = read_clocks();
  const std::lock_guard lock(mutex_);
  Collected collected{records_, names_.names(), losses_, ClockMap(begin_, now)};
  collected.losses.refused_buffers = pool_->refused();
  collected.losses.missing_work = missing_work(records_);
  if (is_lost()) collected.losses.lost_buffers = pool_->away();
  return collected;
}

// ---- end

// Where CUPTI is lost, the kinds are the other client's, and any call of ours could harm what it records.
void Source::stop() noexcept try {
  if (!is_lost() && !enabled_.empty()) {
    const std::lock_guard lock(flushing_);
    disable_kinds();
    if (detaches()) static_cast<void>(library_.finalize());
  }
  serve_no_buffers(pool_);
  pool_->close();
  if (reader_.joinable()) reader_.join();
} catch (...) {
  if (reader_.joinable()) reader_.detach();
}

// A clock that is not CUPTI's own is a sign of another client, which may still hold a subscription.
bool Source::detaches() const {
  return library_.finalize != nullptr && !ClockMap(begin_, begin_).is_foreign() &&
         (!options_.may_detach || options_.may_detach());
}

}  // namespace stowage::tracer::cupti
