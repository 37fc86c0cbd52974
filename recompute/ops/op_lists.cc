#include "recompute/ops/op_lists.h"

#include <algorithm>
#include <array>

#include "recompute/ops/schema_names.h"

namespace stowage::recompute {
namespace {

constexpr std::array kFactories = {
    Name("empty"),
    Name("empty_like"),
    Name("empty_strided"),
    Name("empty_permuted"),
    Name("new_empty"),
    Name("zeros"),
    Name("new_empty_strided"),
    Name("zeros_like"),
    Name("new_zeros"),
    Name("ones"),
    Name("ones_like"),
    Name("new_ones"),
    Name("full"),
    Name("full_like"),
    Name("new_full"),
    Name("scalar_tensor"),
    Name("from_file"),
    Name("_empty_affine_quantized"),
    Name("empty_quantized"),
    Name("eye"),
    Name("arange"),
    Name("tril_indices"),
    Name("triu_indices"),
};

constexpr std::array kElementwiseBackward = {
    Name("threshold_backward"),  Name("hardtanh_backward"),   Name("gelu_backward"),
    Name("silu_backward"),       Name("sigmoid_backward"),    Name("tanh_backward"),
    Name("leaky_relu_backward"), Name("elu_backward"),        Name("softplus_backward"),
    Name("softshrink_backward"), Name("hardshrink_backward"), Name("hardsigmoid_backward"),
};

constexpr std::array kOverwriting = {
    Name("fill_"),        Name("zero_"),      Name("uniform_"), Name("normal_"),
    Name("bernoulli_"),   Name("random_"),    Name("cauchy_"),  Name("log_normal_"),
    Name("exponential_"), Name("geometric_"), Name("copy_"),
};

constexpr std::array kResizing = {
    Name("resize_"),
    Name("resize_as_"),
    Name("set_"),
    Name("_resize_output_"),
    Name("resize"),
    Name("set_data"),
    Name("resize_as_sparse_"),
    Name("set"),
    Name("swap"),
    Name("record_stream"),
    Name("_pin_memory"),
    Name("pin_memory"),
    Name("data"),
    Name("_copy_from"),
    Name("_copy_from_and_resize"),
};

constexpr std::array kNeverRepeating = {
    Name("_local_scalar_dense"),
    Name("_assert_async"),
    Name("_print"),
    Name("_cudnn_init_dropout_state"),
    Name("_thnn_fused_lstm_cell"),
    Name("_cudnn_rnn"),
    Name("_cudnn_rnn_flatten_weight"),
    Name("miopen_rnn"),
    Name("_sync"),
    Name("fused_moving_avg_obs_fake_quant"),
    Name("_fused_moving_avg_obs_fq_helper"),
    Name("_scaled_dot_product_cudnn_attention"),
    Name("_mkldnn_rnn"),
};

constexpr std::array kRepeatingIfDeterministic = {
    Name("index_put_"),
    Name("index_put"),
    Name("_index_put_impl_"),
    Name("scatter_add"),
    Name("scatter_add_"),
    Name("scatter_reduce"),
    Name("scatter_reduce_"),
    Name("index_add"),
    Name("index_add_"),
    Name("index_copy_"),
    Name("index_reduce_"),
    Name("put_"),
    Name("put"),
    Name("histc"),
    Name("bincount"),
    Name("kthvalue"),
    Name("median"),
    Name("nanmedian"),
    Name("cumsum"),
    Name("_ctc_loss"),
    Name("_ctc_loss_backward"),
    Name("_embedding_bag_backward"),
    Name("_embedding_bag_dense_backward"),
    Name("_embedding_bag"),
    Name("embedding_dense_backward"),
    Name("grid_sampler_2d_backward"),
    Name("grid_sampler_3d_backward"),
    Name("_adaptive_avg_pool2d_backward"),
    Name("_adaptive_avg_pool3d_backward"),
    Name("adaptive_max_pool2d_backward"),
    Name("adaptive_max_pool3d_backward"),
    Name("avg_pool3d_backward"),
    Name("max_pool2d_with_indices_backward"),
    Name("max_pool3d_with_indices_backward"),
    Name("fractional_max_pool2d_backward"),
    Name("fractional_max_pool3d_backward"),
    Name("max_unpool2d"),
    Name("max_unpool3d"),
    Name("reflection_pad1d_backward"),
    Name("reflection_pad2d_backward"),
    Name("reflection_pad3d_backward"),
    Name("replication_pad1d_backward"),
    Name("replication_pad2d_backward"),
    Name("replication_pad3d_backward"),
    Name("upsample_linear1d_backward"),
    Name("upsample_bilinear2d_backward"),
    Name("upsample_bicubic2d_backward"),
    Name("upsample_trilinear3d_backward"),
    Name("nll_loss2d_forward"),
    Name("nll_loss2d_backward"),
    Name("roll"),
    Name("unfold_backward"),
};

constexpr std::array kRouting = {
    Name("topk"),
    Name("sort"),
    Name("argsort"),
    Name("argmax"),
    Name("argmin"),
    Name("multinomial"),
    Name("nonzero"),
    Name("masked_select"),
    Name("unique"),
    Name("_unique2"),
    Name("unique_consecutive"),
    Name("searchsorted"),
    Name("bucketize"),
};

constexpr std::array kReadingNoMemory = {
    Name("_batch_norm_impl_index"),
    Name("adaptive_avg_pool1d"),
    Name("adaptive_avg_pool2d"),
    Name("adaptive_avg_pool3d"),
    Name("adaptive_max_pool1d"),
    Name("avg_pool1d"),
    Name("batch_norm"),
    Name("chunk"),
    Name("concat"),
    Name("concatenate"),
    Name("contiguous"),
    Name("conv1d"),
    Name("conv2d"),
    Name("conv3d"),
    Name("conv_transpose1d"),
    Name("conv_transpose2d"),
    Name("conv_transpose3d"),
    Name("cosine_similarity"),
    Name("cross_entropy_loss"),
    Name("dropout"),
    Name("dropout_"),
    Name("einsum"),
    Name("expand_as"),
    Name("feature_dropout"),
    Name("flatten"),
    Name("group_norm"),
    Name("hstack"),
    Name("instance_norm"),
    Name("item"),
    Name("l1_loss"),
    Name("layer_norm"),
    Name("linear"),
    Name("log_softmax"),
    Name("matmul"),
    Name("matmul_backward"),
    Name("max_pool1d"),
    Name("max_pool2d"),
    Name("max_pool3d"),
    Name("moveaxis"),
    Name("movedim"),
    Name("mse_loss"),
    Name("multiply"),
    Name("multiply_"),
    Name("narrow"),
    Name("nll_loss"),
    Name("nll_loss2d"),
    Name("nll_loss_nd"),
    Name("numpy_T"),
    Name("pad"),
    Name("relu6"),
    Name("reshape"),
    Name("reshape_as"),
    Name("rms_norm"),
    Name("scaled_dot_product_attention"),
    Name("silu_backward"),
    Name("softmax"),
    Name("square"),
    Name("square_"),
    Name("stack"),
    Name("subtract"),
    Name("swapaxes"),
    Name("swapdims"),
    Name("to"),
    Name("true_divide"),
    Name("type_as"),
    Name("unflatten"),
    Name("view_as"),
    Name("vstack"),
    Name("where"),
};

constexpr std::array kRecurrent = {Name("rnn"), Name("lstm"), Name("gru")};
constexpr std::array kMatrix = {
    Name("mm"),    Name("mv"),         Name("dot"),      Name("addr"),   Name("matmul"), Name("linear"),
    Name("cdist"), Name("linalg"),     Name("cholesky"), Name("solve"),  Name("svd"),    Name("qr"),
    Name("lu_"),   Name("triangular"), Name("inverse"),  Name("einsum"),
};
constexpr std::array kAttention = {Name("attention"), Name("transformer")};

template <std::size_t kCount>
bool has_one_of(Name name, const std::array<Name, kCount>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](Name part) { return name.find(part) != Name::npos; });
}

}  // namespace

Products products_of(Name name) {
  if (name.find("conv") != Name::npos) return Products::kConvolution;
  if (has_one_of(name, kRecurrent)) return Products::kRecurrent;
  if (has_one_of(name, kAttention)) return Products::kAttention;
  return has_one_of(name, kMatrix) ? Products::kMatrix : Products::kNone;
}

bool is_factory(Name name) { return among(kFactories, name); }

std::string_view overload_over_gradient(Name name) {
  if (name == "_log_softmax_backward_data" || name == "_softmax_backward_data") return "out";
  return among(kElementwiseBackward, name) ? "grad_input" : "";
}

Encodable encodable_of(Name name) {
  if (name == "relu" || name == "relu_") return Encodable::kRectified;
  if (name == "max_pool2d_with_indices") return Encodable::kPooled;
  if (name == "max_pool3d_with_indices") return Encodable::kPooledBodies;
  if (name == "native_dropout") return Encodable::kDropped;
  const bool is_served = name == "hardtanh" || name == "hardtanh_" || name == "leaky_relu";
  return is_served ? Encodable::kServed : Encodable::kNothing;
}

bool is_served_backward(Name name) { return name == "hardtanh_backward" || name == "leaky_relu_backward"; }

bool is_pooling_backward(Name name) {
  return name == "max_pool2d_with_indices_backward" || name == "max_pool3d_with_indices_backward";
}

int encoded_argument_of(Name name) {
  if (name == "native_dropout_backward" || is_served_backward(name)) return 1;
  return is_pooling_backward(name) ? 7 : -1;
}

bool overwrites_self(Name name) { return among(kOverwriting, name); }
bool resizes(Name name) { return among(kResizing, name); }
bool never_repeats(Name name) { return among(kNeverRepeating, name); }
bool repeats_only_if_deterministic(Name name) { return among(kRepeatingIfDeterministic, name); }
bool routes_data(Name name) { return among(kRouting, name); }
bool reads_no_memory(Name name) { return among(kReadingNoMemory, name); }

std::optional<StatisticsArguments> undeclared_statistics(Name name) {
  if (name == "native_batch_norm" || name == "cudnn_batch_norm" || name == "miopen_batch_norm")
    return StatisticsArguments{3, 5};
  if (name == "_native_batch_norm_legit") return StatisticsArguments{3, 5};
  if (name == "_batch_norm_with_update") return StatisticsArguments{3, -1};
  if (name == "batch_norm_update_stats") return StatisticsArguments{1, -1};
  if (name == "batch_norm_gather_stats" || name == "batch_norm_gather_stats_with_counts")
    return StatisticsArguments{3, -1};
  return std::nullopt;
}

}  // namespace stowage::recompute
