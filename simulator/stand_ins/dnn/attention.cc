// Attention through cuDNN is the one training path that has no legacy interface: it needs the graph
// interface, which is not simulated. PyTorch asks sdp::can_use_cudnn_attention before it takes that path;
// answered here with "no" (this library comes first in symbol order), it takes its own flash or
// memory-efficient kernels, as on GPUs before sm_90.
#include "simulator/stand_ins/api.h"

// The mangled name of bool sdp::can_use_cudnn_attention(const sdp::sdp_params&, bool). Where a torch has
// another, the answer is not asked for here, and scripts set torch.backends.cuda.enable_cudnn_sdp(False).
SIM_API bool _ZN3sdp23can_use_cudnn_attentionERKNS_10sdp_paramsEb(const void*, bool) { return false; }
