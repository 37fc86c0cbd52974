// Which requests last, as far as the adaptor can tell, and where upstream serves them.
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "plugin/cuda/adaptor/cuda_adaptor.h"
#include "plugin/cuda/upstream/lasting_requests.h"
#include "tracer/observers/factory_ops.h"
#include "tracer/observers/op_observer.h"

namespace stowage::plugin {
namespace {

constexpr std::size_t kLargestSmall = std::size_t{1}
                                      << 20;  // upstream's small pool serves requests up to this

// Module.to() makes parameters without gradients, but batches are made with them. Small requests share pages
// of 2 MiB, of which few are gained: buffers and whatever else lasts would keep one of their own.
bool is_parameter(const session::Session& session, std::size_t bytes) {
  return bytes > kLargestSmall && !c10::GradMode::is_enabled() && !c10::InferenceMode::is_enabled() &&
         !session.has_budget() && session.expects_parameters();
}

// Foreach ops return scratch in a step: gradients with weight decay, denominators. Under a budget they are
// known only while ops are recorded, and the cache is emptied around the step as well.
bool is_optimizer_state(const session::Session& session, bool limited) {
  return session.expects_lasting() && (limited ? !tracer::in_foreach_op() : tracer::in_factory_op());
}

bool lasts(const session::Session& session, std::size_t bytes, bool limited, const void* caller) {
  if (LastingRequests::present()) return true;
  const session::SessionState state = session.state();
  if (state != session::SessionState::kRecording && state != session::SessionState::kPlanning) return false;
  return is_optimizer_state(session, limited) || is_blas_workspace(bytes, caller) ||
         is_parameter(session, bytes);
}

}  // namespace

// Optimizer state and cuBLAS workspaces are allocated among activations and gradients, and outlive them. In
// upstream's pool of the default stream they would lie between those and pin a page with holes each. Upstream
// keeps a pool per stream handle, and the default stream has two handles: null and cudaStreamLegacy. Both
// name one stream, so blocks of either pool may be used, reused and unmapped in its order. Parameters come
// from there, too: what lasts then has one last page that is partly used, not two.
void* CudaAdaptor::allocate_lasting(CudaDevice& device, std::size_t bytes, StreamId id, const void* caller) {
  if (id != StreamId{0}) return nullptr;
  const bool limited = device.port.ledger()->limited();
  if (!lasts(device.session, bytes, limited, caller)) return nullptr;
  if (!limited) return upstream_.raw_alloc_with_stream(bytes, cudaStreamLegacy);
  const NotTheEnd quiet;
  try {
    return upstream_.raw_alloc_with_stream(bytes, cudaStreamLegacy);
  } catch (const c10::OutOfMemoryError&) {  // there may be room in the other pool
    device.port.limit().note_mended();
    return nullptr;
  }
}

}  // namespace stowage::plugin
