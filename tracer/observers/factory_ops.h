// Whether the calling thread is inside an op that makes a tensor of its own: filled with a number, or a copy.
//
// What an optimizer's step allocates there is its state, which is never freed; what arithmetic allocates,
// foreach ops too, is scratch. Heard by at::RecordFunction, and only while somebody watches: in a job's first
// steps.
//
// Thread safety: any thread.
#pragma once

namespace stowage::tracer {

/// From now on in_factory_op() knows, or does not any more. Ops under way are not known.
void watch_factory_ops(bool wanted);

/// False while nobody watches.
[[nodiscard]] bool in_factory_op() noexcept;

}  // namespace stowage::tracer
