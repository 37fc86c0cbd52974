// The part of Model that copies to stores and back.
#include "planner/schedule/model/model.h"

namespace stowage::planner::schedule {

bool Model::may_offload(std::uint32_t buffer) const {
  const OpGraph::BufferNode& node = graph_.buffers[buffer];
  return node.copy_ns > 0 && is_resident(buffer) && locks_[buffer] == 0 && node.bytes > 0 &&
         has_store_room(buffer);
}

bool Model::offload(std::uint32_t buffer) {
  if (is_offloaded(buffer)) return true;
  if (!store(buffer)) return false;
  queue_.wait_for(due_[buffer]);
  release(buffer);
  where_[buffer] = kStoredBytes;
  return true;
}

bool Model::store(std::uint32_t buffer) {
  if (!may_offload(buffer)) return false;
  if (stored_[buffer] == 0) note_copy(buffer, false);
  stored_[buffer] = 1;
  take_store_room(buffer);
  return true;
}

void Model::take_store_room(std::uint32_t buffer) {
  if (in_store_[buffer] != 0) return;
  in_store_[buffer] = 1;
  store_room_.put(graph_.buffers[buffer].bytes, graph_.buffers[buffer].lasts_alike());
}

void Model::drop_copy(std::uint32_t buffer) {
  if (in_store_[buffer] == 0 || graph_.buffers[buffer].lasts_alike()) return;
  in_store_[buffer] = 0;
  store_room_.give_back(graph_.buffers[buffer].bytes);
}

void Model::prefetch(std::uint32_t buffer) {
  if (!is_offloaded(buffer) || arriving_[buffer] != 0) return;
  note_copy(buffer, true);
  arriving_[buffer] = 1;
  hold(buffer, open_span(graph_.buffers[buffer].bytes));
  note_peak(held_);
}

void Model::note_copy(std::uint32_t buffer, bool back) {
  if (copied_ != nullptr) copied_->push_back({op_, buffer, back});
  ++copies_;
  copy_ns_ += graph_.buffers[buffer].copy_ns;
  due_[buffer] = queue_.begin(graph_.buffers[buffer].copy_ns, back);
}

void Model::fetch(std::uint32_t buffer) {
  if (arriving_[buffer] == 0) {
    note_copy(buffer, true);
    hold(buffer, open_span(graph_.buffers[buffer].bytes));
  }
  queue_.wait_for(due_[buffer]);
  arriving_[buffer] = 0;
  where_[buffer] = kBytesHere;
}

}  // namespace stowage::planner::schedule
