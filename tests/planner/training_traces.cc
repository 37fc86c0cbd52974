#include "tests/planner/training_traces.h"

#include <algorithm>
#include <random>

#include "tests/planner/trace_builder.h"

namespace stowage::planner {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

/// Runs a job and writes down what it allocates.
class Run {
 public:
  explicit Run(const Job& job) : job_(job), weight_grads_(job.layers.size(), kNone) {}

  Trace record(int iterations) {
    std::vector<Tick> begins;
    for (int i = 0; i < iterations; ++i) {
      begins.push_back(builder_.now());
      iteration();
    }
    const auto n = static_cast<std::size_t>(iterations);
    return builder_.take(begins[n - 2], begins[n - 1], builder_.now());
  }

 private:
  void iteration() {
    const std::uint32_t batch = builder_.alloc(job_.batch, job_.streams - 1);
    if (job_.streams > 1) builder_.use_on_other_stream(batch);
    if (batch_ != kNone) builder_.free(batch_);
    batch_ = batch;
    if (job_.zero_grad == ZeroGrad::kBeforeForward) zero_grad();
    for (int step = 0; step < job_.micro_batches; ++step) {
      eighths_ = job_.varied ? 4 + (static_cast<std::uint32_t>(step) * 2654435761u >> 7) % 5 : 8;
      forward();
      const std::uint32_t loss = builder_.alloc(4);
      if (loss_ != kNone) builder_.free(loss_);
      loss_ = loss;
      if (job_.zero_grad == ZeroGrad::kBeforeBackward && step == 0) zero_grad();
      backward();
    }
    optimizer();
    if (job_.zero_grad == ZeroGrad::kAfterStep) zero_grad();
    builder_.mark();
  }

  void forward() {
    const std::size_t n = job_.layers.size();
    outputs_.assign(n, kNone);
    saved_.assign(n, kNone);
    for (std::size_t i = 0; i < n; ++i) {
      const Layer& layer = job_.layers[i];
      outputs_[i] = activation(layer.output);
      if (layer.saved != 0) saved_[i] = activation(layer.saved);
      with_workspace(layer.workspace * eighths_ / 8);
      if (i > 0 && !job_.layers[i - 1].saves_output && job_.layers[i - 1].skip_to < 0)
        release(outputs_[i - 1]);
    }
  }

  void backward() {
    const std::size_t n = job_.layers.size();
    std::vector<std::uint32_t> skip_grads(n, kNone);
    std::uint32_t grad = activation(job_.layers[n - 1].output);
    for (std::size_t i = n; i-- > 0;) {
      const Layer& layer = job_.layers[i];
      if (skip_grads[i] != kNone) {  // the gradients of both readers are added out of place
        const std::uint32_t sum = activation(layer.output);
        release(skip_grads[i]);
        release(grad);
        grad = sum;
      }
      const std::uint32_t below = i > 0 ? activation(job_.layers[i - 1].output) : kNone;
      with_workspace(layer.workspace * eighths_ / 8);
      if (weight_grads_[i] != kNone) {
        with_workspace(layer.weight);  // added to what is there
      } else if (layer.weight != 0) {
        weight_grads_[i] = builder_.alloc(layer.weight);
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (job_.layers[j].skip_to == static_cast<int>(i)) skip_grads[j] = activation(job_.layers[j].output);
      }
      release(grad);
      release(saved_[i]);
      release(outputs_[i]);
      grad = below;
    }
  }

  void optimizer() {
    for (int list = 0; list < job_.optimizer_temporaries; ++list) {
      std::vector<std::uint32_t> temporaries;
      for (const Layer& layer : job_.layers) {
        if (layer.weight != 0) temporaries.push_back(builder_.alloc(layer.weight));
      }
      previous_list_.swap(temporaries);
      for (std::uint32_t t : temporaries) builder_.free(t);
    }
    for (std::uint32_t t : previous_list_) builder_.free(t);
    previous_list_.clear();
  }

  void zero_grad() {
    for (std::uint32_t& grad : weight_grads_) release(grad);
  }
  std::uint32_t activation(std::uint64_t bytes) { return builder_.alloc(bytes * eighths_ / 8); }
  void with_workspace(std::uint64_t bytes) {
    if (bytes != 0) builder_.free(builder_.alloc(bytes));
  }
  void release(std::uint32_t& buffer) {
    if (buffer != kNone) builder_.free(buffer);
    buffer = kNone;
  }

  const Job& job_;
  TraceBuilder builder_;
  std::vector<std::uint32_t> outputs_, saved_, weight_grads_, previous_list_;
  std::uint32_t batch_ = kNone;
  std::uint32_t loss_ = kNone;
  std::uint64_t eighths_ = 8;  ///< length of this micro-batch
};

constexpr std::uint64_t kFloat = 4;

/// Convolution, batch norm and in-place ReLU at `side` x `side` with `in` to `out` channels.
void conv_block(Job& job, std::uint64_t images, std::uint64_t side, std::uint64_t in, std::uint64_t out,
                std::uint64_t kernel) {
  const std::uint64_t bytes = images * side * side * out * kFloat;
  job.layers.push_back({bytes, 0, bytes / 3 + 777 * side, in * out * kernel * kernel * kFloat});
  job.layers.push_back({bytes, 2 * out * kFloat, 0, out * kFloat});
}

/// Attention and MLP, `hidden` wide, with masks for dropout if `dropout`.
void transformer_block(Job& job, std::uint64_t tokens, std::uint64_t hidden, std::uint64_t heads,
                       std::uint64_t length, std::uint64_t mlp, bool dropout) {
  const std::uint64_t wide = tokens * hidden * kFloat;
  const std::uint64_t scores = tokens * heads * length * kFloat;
  job.layers.push_back({wide, 2 * tokens * kFloat, 0, hidden * kFloat});              // norm
  job.layers.push_back({3 * wide, 0, 0, 3 * hidden * hidden * kFloat});               // qkv
  job.layers.push_back({scores, 0, wide, 0});                                         // q k^T
  job.layers.push_back({scores, dropout ? scores / 4 : 0, 0, 0, -1, !dropout});       // softmax
  job.layers.push_back({wide, 0, wide, 0});                                           // a v
  job.layers.push_back({wide, dropout ? wide / 4 : 0, 0, hidden * hidden * kFloat});  // projection
  job.layers.push_back({wide, 0, 0, 0, -1, false});                                   // residual
  job.layers.push_back({wide, 2 * tokens * kFloat, 0, hidden * kFloat});              // norm
  job.layers.push_back({mlp * tokens * kFloat, 0, 0, hidden * mlp * kFloat});         // up
  job.layers.push_back({mlp * tokens * kFloat, 0, mlp * tokens * kFloat, 0});         // activation
  job.layers.push_back({wide, dropout ? wide / 4 : 0, 0, hidden * mlp * kFloat});     // down
  job.layers.push_back({wide, 0, 0, 0, -1, false});                                   // residual
}

Job transformer(const char* name, std::uint64_t tokens, std::uint64_t hidden, int blocks,
                std::uint64_t vocabulary, std::uint64_t mlp, bool dropout) {
  Job job{name, {}};
  job.batch = tokens * 8;
  job.layers.push_back({tokens * hidden * kFloat, 0, 0, vocabulary * hidden * kFloat});
  for (int i = 0; i < blocks; ++i) transformer_block(job, tokens, hidden, hidden / 64, 256, mlp, dropout);
  job.layers.push_back({tokens * vocabulary * kFloat, 0, 0, vocabulary * hidden * kFloat});
  job.layers.push_back({tokens * vocabulary * kFloat, 0, 0, 0});
  return job;
}

void add_head(Job& job, std::uint64_t images, std::uint64_t features) {
  job.layers.push_back({images * features * kFloat, 0, 0, 0});
  job.layers.push_back({images * 1000 * kFloat, 0, 0, 1000 * features * kFloat});
  job.layers.push_back({images * 1000 * kFloat, 0, 0, 0});
}

}  // namespace

Trace training_trace(const Job& job, int iterations) { return Run(job).record(iterations); }

Job resnet50() {
  Job job{"resnet50", {}};
  job.batch = 64 * 224 * 224 * 3 * kFloat;
  conv_block(job, 64, 112, 3, 64, 7);
  std::uint64_t in = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (std::uint64_t stage = 0; stage < 4; ++stage) {
    const std::uint64_t side = 56u >> stage;
    const std::uint64_t mid = 64u << stage;
    for (int b = 0; b < blocks[stage]; ++b) {
      const auto join = static_cast<int>(job.layers.size()) + 6;
      if (!job.layers.empty()) job.layers.back().skip_to = join;
      conv_block(job, 64, side, in, mid, 1);
      conv_block(job, 64, side, mid, mid, 3);
      conv_block(job, 64, side, mid, 4 * mid, 1);
      job.layers.push_back({64 * side * side * 4 * mid * kFloat, 0, 0, 0});
      in = 4 * mid;
    }
  }
  add_head(job, 64, 2048);
  return job;
}

Job googlenet() {
  Job job{"googlenet", {}};
  job.batch = 128 * 224 * 224 * 3 * kFloat;
  job.zero_grad = ZeroGrad::kBeforeBackward;
  conv_block(job, 128, 112, 3, 64, 7);
  conv_block(job, 128, 56, 64, 192, 3);
  for (std::uint64_t stage = 0; stage < 3; ++stage) {
    const std::uint64_t side = 28u >> stage;
    for (std::uint64_t b = 0; b < (stage == 1 ? 5u : 2u); ++b) {
      const std::uint64_t c = 96 + 32 * b + 64 * stage;
      const auto first = job.layers.size();
      for (std::uint64_t branch = 0; branch < 4; ++branch) {
        conv_block(job, 128, side, 4 * c, c / (branch + 1), 1);
        if (branch == 1 || branch == 2) conv_block(job, 128, side, c / (branch + 1), c, 3);
      }
      job.layers[first + 1].skip_to = static_cast<int>(job.layers.size());
      job.layers.push_back({128 * side * side * 4 * c * kFloat, 0, 0, 0});
    }
  }
  add_head(job, 128, 1024);
  return job;
}

Job unet() {
  Job job{"unet", {}};
  job.batch = 8 * 256 * 256 * 3 * kFloat;
  const int depth = 5;
  std::vector<std::size_t> ends;
  for (int d = 0; d < depth; ++d) {
    const std::uint64_t channels = 64u << d;
    conv_block(job, 8, 256u >> d, d == 0 ? 3 : channels / 2, channels, 3);
    conv_block(job, 8, 256u >> d, channels, channels, 3);
    ends.push_back(job.layers.size() - 1);
  }
  for (int d = depth - 2; d >= 0; --d) {
    const std::uint64_t channels = 64u << d;
    const std::uint64_t side = 256u >> d;
    job.layers.push_back({8 * side * side * channels * kFloat, 0, 0, 8 * channels * channels * kFloat});
    job.layers[ends[static_cast<std::size_t>(d)]].skip_to = static_cast<int>(job.layers.size());
    job.layers.push_back({8 * side * side * 2 * channels * kFloat, 0, 0, 0});
    conv_block(job, 8, side, 2 * channels, channels, 3);
    conv_block(job, 8, side, channels, channels, 3);
  }
  return job;
}

Job vgg16() {
  Job job{"vgg16", {}};
  job.batch = 64 * 224 * 224 * 3 * kFloat;
  job.zero_grad = ZeroGrad::kAfterStep;
  const int convolutions[] = {2, 2, 3, 3, 3};
  std::uint64_t in = 3;
  for (std::uint64_t stage = 0; stage < 5; ++stage) {
    const std::uint64_t out = std::min<std::uint64_t>(512, 64u << stage);
    for (int c = 0; c < convolutions[stage]; ++c) {
      conv_block(job, 64, 224u >> stage, in, out, 3);
      in = out;
    }
    const std::uint64_t side = 112u >> stage;
    job.layers.push_back({64 * side * side * out * kFloat, 64 * side * side * out * 8, 0, 0});
  }
  job.layers.push_back({64 * 4096 * kFloat, 64 * 4096, 0, 25088 * 4096 * kFloat});
  job.layers.push_back({64 * 4096 * kFloat, 64 * 4096, 0, 4096 * 4096 * kFloat});
  add_head(job, 64, 4096);
  return job;
}

Job mobilenet_v2() {
  Job job{"mobilenet_v2", {}};
  job.batch = 96 * 224 * 224 * 3 * kFloat;
  conv_block(job, 96, 112, 3, 32, 3);
  const std::uint64_t channels[] = {16, 24, 32, 64, 96, 160, 320};
  const int repeats[] = {1, 2, 3, 4, 3, 3, 1};
  const std::uint64_t sides[] = {112, 56, 28, 14, 14, 7, 7};
  std::uint64_t in = 32;
  for (std::size_t stage = 0; stage < 7; ++stage) {
    for (int r = 0; r < repeats[stage]; ++r) {
      if (r > 0) job.layers.back().skip_to = static_cast<int>(job.layers.size()) + 6;
      conv_block(job, 96, sides[stage], in, 6 * in, 1);
      conv_block(job, 96, sides[stage], 1, 6 * in, 3);
      conv_block(job, 96, sides[stage], 6 * in, channels[stage], 1);
      in = channels[stage];
      if (r > 0) job.layers.push_back({96 * sides[stage] * sides[stage] * in * kFloat, 0, 0, 0});
    }
  }
  add_head(job, 96, 1280);
  return job;
}

Job vit_b() { return transformer("vit_b", 32 * 197, 768, 12, 1000, 3072, true); }
Job gpt2() { return transformer("gpt2", 8 * 1024, 768, 12, 50257, 3072, true); }
Job llama() {
  Job job = transformer("llama", 4 * 1024, 1024, 16, 32000, 2816, false);
  job.zero_grad = ZeroGrad::kBeforeBackward;
  job.optimizer_temporaries = 4;
  return job;
}
Job bert() {
  Job job = transformer("bert", 16 * 384, 768, 12, 30522, 3072, true);
  job.streams = 2;
  return job;
}

Job lstm() {
  Job job{"lstm", {}};
  job.batch = 64 * 128 * 8;
  job.zero_grad = ZeroGrad::kAfterStep;
  job.layers.push_back({64 * 128 * 512 * kFloat, 0, 0, 10000 * 512 * kFloat});
  for (int step = 0; step < 256; ++step) {
    job.layers.push_back({64 * 4 * 512 * kFloat, 64 * 512 * kFloat, 64 * 4 * 512 * kFloat,
                          step % 128 == 0 ? 4u * 512 * 1024 * kFloat : 0u});
    job.layers.push_back({64 * 512 * kFloat, 64 * 512 * kFloat, 0, 0});
  }
  job.layers.push_back({64 * 128 * 10000 * kFloat, 0, 0, 10000 * 512 * kFloat});
  return job;
}

std::vector<Job> zoo() {
  return {resnet50(), googlenet(), unet(), vgg16(), mobilenet_v2(), vit_b(), gpt2(), llama(), bert(), lstm()};
}

Job gpt_in_micro_batches(std::size_t buffers, int blocks, bool varied) {
  Job job = transformer("gpt_in_micro_batches", 2 * 1024, 1600, blocks, 50257, 6400, true);
  job.varied = varied;
  job.micro_batches = 2;
  const std::size_t two = training_trace(job).buffers.size();
  job.micro_batches = 3;
  const std::size_t one = (training_trace(job).buffers.size() - two) / 3;
  job.micro_batches = static_cast<int>(std::max(buffers / one, std::size_t{1}));
  return job;
}

Job random_job(std::size_t buffers, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto size = [&] { return std::uint64_t{512} << (random() % 16); };
  Job job{"random", {}};
  job.batch = size();
  std::size_t count = 3;
  while (count < buffers) {
    Layer layer{size() + 512 * (random() % 64), random() % 3 == 0 ? size() / 8 + 1 : 0,
                random() % 2 == 0 ? size() : 0, random() % 2 == 0 ? size() : 0};
    layer.saves_output = random() % 4 != 0;
    count += 2 + (layer.saved != 0) + 2 * (layer.workspace != 0) + 3 * (layer.weight != 0);
    if (job.layers.size() > 4 && random() % 6 == 0) {
      job.layers[job.layers.size() - 1 - random() % 4].skip_to = static_cast<int>(job.layers.size());
    }
    job.layers.push_back(layer);
  }
  return job;
}

}  // namespace stowage::planner
