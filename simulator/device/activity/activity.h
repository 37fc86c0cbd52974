// What a profiler may want to know: API calls, work on the device, waits, memory operations, as they happen.
//
// The machine tells a sink, if one is set (stand_ins/cupti/), and nothing is written down without one. Each
// API call gets a correlation id; the work that it causes carries that id.
// Thread safety: set_activity_sink() from any thread; the sink is called from any thread, possibly with the
// machine's lock held, so it calls nothing of the machine and nobody else's code, but at a
// call's begin and end.
#pragma once

#include <atomic>
#include <cstdint>

#include "simulator/device/time/timeline.h"

namespace stowage::simulator {

/// As CUPTI numbers the two APIs.
enum class ApiDomain : std::uint8_t { kDriver = 1, kRuntime = 2 };

struct ApiCall {
  ApiDomain domain = ApiDomain::kRuntime;
  std::uint32_t id = 0;   ///< CUPTI's callback id
  const char* name = "";  ///< static text, such as "cudaLaunchKernel_v7000"
  std::uint32_t correlation = 0;
};

enum class WorkKind : std::uint8_t { kKernel, kCopy, kPeerCopy, kFill };

struct Work {
  WorkKind kind = WorkKind::kKernel;
  const char* name = "";  ///< static text
  VirtualNs begin = 0;
  VirtualNs end = 0;
  int device = 0;
  std::uint64_t stream = 0;
  std::uint32_t correlation = 0;  ///< of the call that caused it
  std::uint64_t bytes = 0;
  std::uint8_t copy_kind = 0;  ///< cudaMemcpyKind
  std::uint64_t graph = 0;     ///< of which graph it is a node; 0: none
  std::uint64_t node = 0;
};

struct Wait {
  VirtualNs begin = 0;
  VirtualNs end = 0;
  std::uint64_t stream = 0;
  ApiCall cause;
};

struct MemoryOperation {
  bool allocates = true;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int device = 0;
  VirtualNs at = 0;
  std::uint32_t correlation = 0;
};

class ActivitySink {
 public:
  virtual ~ActivitySink() = default;
  /// A call begins on the calling thread; gives it its correlation id. Like its end never told with the
  /// machine's lock held.
  virtual void begin_call(ApiCall& call) = 0;
  /// It ended: `call` took from `begin` to `end`.
  virtual void end_call(const ApiCall& call, VirtualNs begin, VirtualNs end) = 0;
  virtual void add(const Work& work) = 0;
  virtual void add(const Wait& wait) = 0;
  virtual void add(const MemoryOperation& operation) = 0;
};

/// Null: nobody wants to know. The sink is never destroyed.
void set_activity_sink(ActivitySink* sink);
ActivitySink* activity_sink();

/// The call that the calling thread is in; one without a name if it is in none.
ApiCall& current_call();

}  // namespace stowage::simulator
