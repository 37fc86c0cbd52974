// Virtual time: one clock for the host, one per stream; events are instants on a stream's clock.
//
// Why: `record_stream`, event order and asynchronous copies only matter when the device lags behind the host.
// Kernels do nothing here, so their time is kept by rule instead of by watch: it is the same on every machine
// and every run. Model: an API call costs the host a fixed time. Work begins when both the host has issued it
// and the stream's earlier work is done, and takes its cost. An event is complete once the host's clock has
// reached it. The legacy default stream and the blocking streams of a device wait for each other, as in the
// CUDA programming guide. Thread safety: none; the Machine's lock guards it. Invariant: no clock ever goes
// back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace stowage::simulator {

/// Virtual nanoseconds since the first call.
using VirtualNs = std::int64_t;

struct Graph;

struct Stream {
  int device = 0;
  bool blocking = true;  // with respect to the legacy default stream
  int priority = 0;
  std::uint64_t id = 0;
  VirtualNs done_ns = 0;                     // when all that was put on it is done
  std::shared_ptr<Graph> capture = nullptr;  // that takes what is put on it; null: none
};

struct Event {
  int device = 0;
  bool timed = true;
  bool recorded = false;
  VirtualNs at_ns = 0;
  std::shared_ptr<Graph> captured = nullptr;  // in which it was recorded last; null: in none
};

class Timeline {
 public:
  explicit Timeline(int devices);

  Stream* create_stream(int device, bool blocking, int priority);
  /// Returns false when `stream` is not a live one. Its work still counts for device_done_ns().
  bool destroy_stream(Stream* stream);
  bool is_stream(const Stream* stream) const { return streams_.count(stream) != 0; }
  Stream* legacy_stream(int device) { return devices_[static_cast<std::size_t>(device)].legacy; }
  const std::vector<Stream*>& streams(int device) const {
    return devices_[static_cast<std::size_t>(device)].streams;
  }
  Stream* per_thread_stream(int device) { return devices_[static_cast<std::size_t>(device)].per_thread; }

  Event* create_event(int device, bool timed);
  bool destroy_event(Event* event) { return events_.erase(event) != 0; }
  bool is_event(const Event* event) const { return events_.count(event) != 0; }

  VirtualNs host_ns() const { return host_ns_; }
  void pass_host_time(VirtualNs ns) { host_ns_ += ns; }
  void wait_until(VirtualNs instant) { host_ns_ = std::max(host_ns_, instant); }

  /// Puts work of `cost_ns` on the stream; returns when it will be done.
  VirtualNs enqueue(Stream* stream, VirtualNs cost_ns);
  void record(Event* event, Stream* stream);
  /// Later work of the stream waits for the event; a never recorded event is no obstacle.
  void hold(Stream* stream, const Event* event);

  bool is_complete(const Event* event) const { return !event->recorded || event->at_ns <= host_ns_; }
  /// When all that the stream must wait for, were it used now, is done.
  VirtualNs done_ns(const Stream* stream) const;
  VirtualNs device_done_ns(int device) const;

 private:
  struct Lane {
    Stream* legacy = nullptr;
    Stream* per_thread = nullptr;
    std::vector<Stream*> streams;  // all live ones, legacy among them
    VirtualNs retired_ns = 0;      // end of the work of destroyed streams
  };

  std::vector<Lane> devices_;
  std::unordered_map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<const Event*, std::unique_ptr<Event>> events_;
  VirtualNs host_ns_ = 0;
  std::uint64_t last_stream_id_ = 0;
};

}  // namespace stowage::simulator
