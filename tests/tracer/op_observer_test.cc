// Real torch ops on the CPU against what must be written down of them.
#include "tracer/observers/op_observer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "tests/tracer/feeding_allocator.h"

namespace stowage::tracer::testing {
namespace {

const c10::Device kCpu(c10::kCPU);

class OpObserver : public ::testing::Test {
 protected:
  void SetUp() override { start_observing_ops(kCpu, {recorder, nullptr, nullptr}); }
  void TearDown() override { stop_observing_ops(kCpu); }

  /// Stops and returns what was recorded, which must be valid.
  Trace finish() {
    stop_observing_ops(kCpu);
    Trace trace = recorder->snapshot();
    const Status status = trace.validate();
    EXPECT_TRUE(status.ok()) << status.error().message;
    return trace;
  }

  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>(TraceInfo{});
  FeedingAllocator allocator{recorder.get()};
};

std::string name_of(const Trace& trace, const Op& op) { return trace.names[op.name]; }

const Op& find(const Trace& trace, const std::string& name, std::size_t nth = 0) {
  for (const Op& op : trace.ops) {
    if (name_of(trace, op) == name && nth-- == 0) return op;
  }
  ADD_FAILURE() << "no op " << name;
  static const Op none;
  return none;
}

Value input(const Trace& trace, const Op& op, std::size_t i) { return trace.values.at(op.first_value + i); }
Value output(const Trace& trace, const Op& op, std::size_t i) {
  return trace.values.at(op.first_value + op.input_count + i);
}

TEST_F(OpObserver, records_names_inputs_outputs_and_time) {
  const auto a = torch::ones({16, 16});
  const auto b = torch::mm(a, a);
  const Trace trace = finish();
  const Op& mm = find(trace, "aten::mm");
  ASSERT_EQ(mm.input_count, 2u);
  ASSERT_EQ(mm.output_count, 1u);
  EXPECT_EQ(input(trace, mm, 0), input(trace, mm, 1));
  EXPECT_NE(output(trace, mm, 0).buffer, input(trace, mm, 0).buffer);
  EXPECT_EQ(trace.buffers[output(trace, mm, 0).buffer.value()].bytes, Bytes(16 * 16 * 4));
  EXPECT_EQ(trace.ops[trace.buffers[output(trace, mm, 0).buffer.value()].op.value()].begin, mm.begin);
  EXPECT_EQ(mm.flags & ~std::uint32_t{kOpComposite},
            0u);  // its kernel asks for conjugation, by ops of their own
  EXPECT_GT(mm.duration_ns, 0u);
}

TEST_F(OpObserver, composites_are_parents) {
  torch::linear(torch::ones({4, 8}), torch::ones({2, 8}), torch::ones({2}));
  const Trace trace = finish();
  const Op& linear = find(trace, "aten::linear");
  const Op& addmm = find(trace, "aten::addmm");
  EXPECT_TRUE(linear.flags & kOpComposite);
  EXPECT_FALSE(find(trace, "aten::fill_.Scalar").flags & kOpComposite);
  EXPECT_EQ(&trace.ops[addmm.parent.value()], &linear);
}

TEST_F(OpObserver, in_place_ops_make_the_next_version) {
  auto x = torch::ones({8});
  x.relu_();
  x.add_(1);
  const Trace trace = finish();
  const Op& relu = find(trace, "aten::relu_");
  const Op& add = find(trace, "aten::add_.Tensor");
  EXPECT_TRUE(relu.flags & kOpInPlace);
  EXPECT_FALSE(relu.flags & kOpView);
  const Value before = input(trace, relu, 0);
  EXPECT_EQ(output(trace, relu, 0), (Value{before.buffer, before.version + 1}));
  EXPECT_EQ(input(trace, add, 0), output(trace, relu, 0));
}

TEST_F(OpObserver, views_share_the_storage) {
  const auto x = torch::ones({4, 4});
  const auto viewed = x.view({16});
  const auto transposed = x.t();
  const auto copied = x.t().contiguous();
  const Trace trace = finish();
  for (const char* name : {"aten::view", "aten::t"}) {
    const Op& op = find(trace, name);
    EXPECT_TRUE(op.flags & kOpView) << name;
    EXPECT_EQ(input(trace, op, 0), output(trace, op, 0)) << name;
  }
  EXPECT_FALSE(find(trace, "aten::contiguous").flags & kOpView);
  EXPECT_FALSE(find(trace, "aten::ones").flags & kOpView);
}

TEST_F(OpObserver, dropout_draws_random_numbers) {
  torch::dropout(torch::ones({64}), 0.5, true);
  const Trace trace = finish();
  bool leaf_is_random = false;
  for (const Op& op : trace.ops) {
    leaf_is_random |= (op.flags & kOpRandom) != 0 && (op.flags & kOpComposite) == 0;
  }
  EXPECT_TRUE(leaf_is_random);
  EXPECT_FALSE(find(trace, "aten::ones").flags & kOpRandom);
}

TEST_F(OpObserver, the_backward_pass_is_marked_and_reads_what_forward_made) {
  const auto w = torch::ones({8, 8}, torch::requires_grad());
  torch::mm(w, w).sum().backward();
  const Trace trace = finish();
  EXPECT_FALSE(find(trace, "aten::mm", 0).flags & kOpBackward);
  EXPECT_TRUE(find(trace, "aten::mm", 1).flags & kOpBackward);
  EXPECT_TRUE(find(trace, "aten::mm", 2).flags & kOpBackward);
  for (const Op& op : trace.ops) EXPECT_EQ(name_of(trace, op).find("autograd::"), std::string::npos);
  const Value made = output(trace, find(trace, "aten::mm", 0), 0);
  EXPECT_EQ(input(trace, find(trace, "aten::sum"), 0), made);
  const Value weight = input(trace, find(trace, "aten::mm", 0), 0);
  for (std::size_t nth : {1u, 2u}) {
    const Op& mm = find(trace, "aten::mm", nth);
    EXPECT_TRUE(input(trace, mm, 0) == weight || input(trace, mm, 1) == weight);
  }
}

TEST_F(OpObserver, workspace_is_what_an_op_allocates_for_itself) {
  const auto slow = at::slow_conv3d(torch::ones({1, 1, 4, 4, 4}), torch::ones({1, 1, 2, 2, 2}), {2, 2, 2}, {},
                                    {1, 1, 1}, {0, 0, 0});
  const auto sorted = std::get<0>(torch::ones({1000}).sort());
  const Trace trace = finish();
  Bytes total{0};
  for (const Op& op : trace.ops) {
    if (op.parent == kNoOp) total += op.workspace;
  }
  // Every buffer that died inside a top-level op is in that op's workspace, and nothing else is.
  Bytes died_inside{0};
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.op == kNoOp || buffer.death == kNever) continue;
    OpId top = buffer.op;
    while (trace.ops[top.value()].parent != kNoOp) top = trace.ops[top.value()].parent;
    if (buffer.death < trace.ops[top.value()].end) died_inside += buffer.rounded;
  }
  EXPECT_GT(died_inside, Bytes(0));
  EXPECT_GT(total, Bytes(0));
  EXPECT_LE(total, died_inside);
}

TEST_F(OpObserver, writes_that_are_not_returned_are_outputs_too) {
  std::vector<at::Tensor> list{torch::ones({8}), torch::zeros({8})};
  at::_foreach_add_(list, 1);
  const Trace trace = finish();
  const Op& add = find(trace, "aten::_foreach_add_.Scalar");
  ASSERT_EQ(add.input_count, 2u);
  ASSERT_EQ(add.output_count, 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(output(trace, add, i).buffer, input(trace, add, i).buffer);
    EXPECT_GT(output(trace, add, i).version, input(trace, add, i).version);
  }
}

TEST_F(OpObserver, inference_tensors_and_empty_ones_do_no_harm) {
  const c10::InferenceMode guard;
  const auto x = torch::ones({4});
  x.add_(1);
  torch::empty({0}).add(1);
  EXPECT_GE(finish().ops.size(), 4u);
}

TEST_F(OpObserver, an_op_that_throws_ends) {
  EXPECT_THROW(torch::mm(torch::ones({2, 3}), torch::ones({2, 3})), c10::Error);
  torch::ones({2});
  const Trace trace = finish();
  EXPECT_NE(find(trace, "aten::mm").end, kNever);
  EXPECT_EQ(find(trace, "aten::ones", 2).parent, kNoOp);
}

TEST_F(OpObserver, changes_neither_results_nor_the_generator) {
  const auto run = [] {
    torch::manual_seed(5);
    auto w = torch::randn({16, 16}, torch::requires_grad());
    auto loss = torch::dropout(torch::relu(torch::mm(w, w)), 0.3, true).sum();
    loss.backward();
    return std::vector<at::Tensor>{loss.detach(), w.grad(), torch::rand({4})};
  };
  const auto observed = run();
  stop_observing_ops(kCpu);
  const auto plain = run();
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(torch::equal(observed[i], plain[i])) << i;
}

TEST_F(OpObserver, hears_nothing_after_stop_and_all_again_after_start) {
  stop_observing_ops(kCpu);
  torch::ones({2});
  EXPECT_TRUE(recorder->snapshot().ops.empty());
  start_observing_ops(kCpu, {recorder, nullptr, nullptr});
  torch::ones({2});
  EXPECT_FALSE(recorder->snapshot().ops.empty());
}

TEST_F(OpObserver, ops_of_other_devices_are_not_recorded) {
  torch::ones({2}, torch::device(torch::kMeta));
  EXPECT_TRUE(finish().ops.empty());
}

TEST_F(OpObserver, a_training_loop_is_steady_and_its_windows_have_equal_ops) {
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Linear(8, 16), torch::nn::ReLU(), torch::nn::Linear(16, 1));
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  const auto x = torch::randn({4, 8});
  for (int i = 0; i < 4; ++i) {
    sgd.zero_grad();
    net->forward(x).sum().backward();
    sgd.step();
    recorder->on_mark(MarkSource::kUser);
  }
  EXPECT_TRUE(recorder->steady());
  const Trace trace = finish();
  ASSERT_TRUE(trace.steady.has_value());
  std::map<bool, std::vector<std::string>> names;
  for (const Op& op : trace.ops) names[op.begin >= trace.steady->begin].push_back(name_of(trace, op));
  EXPECT_EQ(names[false], names[true]);
  EXPECT_GT(names[true].size(), 20u);
}

}  // namespace
}  // namespace stowage::tracer::testing
