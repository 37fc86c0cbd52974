#include "simulator/device/time/timeline.h"

namespace stowage::simulator {

Timeline::Timeline(int devices) : devices_(static_cast<std::size_t>(devices)) {
  for (int device = 0; device < devices; ++device) {
    Lane& lane = devices_[static_cast<std::size_t>(device)];
    lane.legacy = create_stream(device, true, 0);
    lane.per_thread = create_stream(device, true, 0);
  }
}

Stream* Timeline::create_stream(int device, bool blocking, int priority) {
  auto made = std::make_unique<Stream>(Stream{device, blocking, priority, ++last_stream_id_});
  Stream* const stream = made.get();
  streams_.emplace(stream, std::move(made));
  devices_[static_cast<std::size_t>(device)].streams.push_back(stream);
  return stream;
}

bool Timeline::destroy_stream(Stream* stream) {
  if (!is_stream(stream)) return false;
  Lane& lane = devices_[static_cast<std::size_t>(stream->device)];
  lane.retired_ns = std::max(lane.retired_ns, stream->done_ns);
  std::erase(lane.streams, stream);
  streams_.erase(stream);
  return true;
}

Event* Timeline::create_event(int device, bool timed) {
  auto made = std::make_unique<Event>(Event{device, timed});
  Event* const event = made.get();
  events_.emplace(event, std::move(made));
  return event;
}

VirtualNs Timeline::done_ns(const Stream* stream) const {
  const Lane& lane = devices_[static_cast<std::size_t>(stream->device)];
  VirtualNs done = stream->done_ns;
  if (stream == lane.legacy) {
    for (const Stream* other : lane.streams) {
      if (other->blocking) done = std::max(done, other->done_ns);
    }
  } else if (stream->blocking) {
    done = std::max(done, lane.legacy->done_ns);
  }
  return done;
}

VirtualNs Timeline::enqueue(Stream* stream, VirtualNs cost_ns) {
  stream->done_ns = std::max(done_ns(stream), host_ns_) + cost_ns;
  return stream->done_ns;
}

void Timeline::record(Event* event, Stream* stream) {
  event->captured = nullptr;
  event->recorded = true;
  event->at_ns = enqueue(stream, 0);
}

void Timeline::hold(Stream* stream, const Event* event) {
  if (event->recorded) stream->done_ns = std::max(stream->done_ns, event->at_ns);
}

VirtualNs Timeline::device_done_ns(int device) const {
  const Lane& lane = devices_[static_cast<std::size_t>(device)];
  VirtualNs done = lane.retired_ns;
  for (const Stream* stream : lane.streams) done = std::max(done, stream->done_ns);
  return done;
}

}  // namespace stowage::simulator
