// Captured graphs: what streams were given while they captured, to be done as a whole at each launch.
//
// Why: a graph reads and writes by address whenever it is launched. So it keeps every address that the
// simulator looked at while it was captured, and looks again at each launch: memory that was freed or evicted
// since is found. And the calls that break a capture (waiting for the device, asking for an event) break it
// here, too. Model: a stream captures from begin to end, or from when it waits for an event of a stream that
// does; that all streams come together again before the end is not checked. Thread safety: none; the
// Machine's lock guards it.
#pragma once

#include <cuda.h>
#include <driver_types.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "simulator/device/time/timeline.h"

namespace stowage::simulator {

/// A pointer, and by whose doing it is read or written (text that stays).
struct Use {
  const void* pointer = nullptr;
  const char* user = "";
};

/// What one node does when the graph is launched.
struct GraphNode {
  const char* name = "";  ///< static text
  bool copies = false;    ///< or fills; else it is a kernel
  std::uint64_t bytes = 0;
  VirtualNs cost_ns = 0;
};

struct Graph {
  std::uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;          ///< that began it
  const Stream* origin = nullptr;  ///< that it began on
  bool broken = false;             ///< by a call that no capture survives
  std::vector<GraphNode> nodes;
  std::vector<Use> uses;
};

/// How the calling thread takes calls that may break other threads' captures.
cudaStreamCaptureMode& capture_mode();

class Captures {
 public:
  /// Null if the stream captures already.
  std::shared_ptr<Graph> begin(Stream* stream, cudaStreamCaptureMode mode);
  /// Ends what the stream captures, on all of `streams`; null if it captures nothing.
  std::shared_ptr<Graph> end(const Stream* stream, const std::vector<Stream*>& streams);
  bool empty() const { return underway_.empty(); }
  bool underway(const std::shared_ptr<Graph>& graph) const;

  /// A call that no capture survives which reaches the calling thread: breaks these and returns true if there
  /// are any.
  bool break_reachable();

 private:
  std::vector<std::shared_ptr<Graph>> underway_;
  std::uint64_t last_id_ = 0;
};

/// What the calling thread's next launch was found to be given; kept only while something is captured.
std::vector<Use>& given();

/// Adds a launch with what it was given().
void add_node(Graph& graph, const GraphNode& node);

}  // namespace stowage::simulator
