// What a kernel's name tells of its arguments.
#include "simulator/device/kernels/arguments.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace stowage::simulator {
namespace {

constexpr const char* kList = "at::native::(anonymous namespace)::TensorListMetadata<2>";

TEST(Arguments, PointersArraysAndViewsAreFoundByTheirPlace) {
  // copy(float*, float const*, int)
  const KnownArguments copy = known_arguments("_Z4copyPfPKfi");
  ASSERT_EQ(copy.runs.size(), 2U);
  EXPECT_EQ(copy.runs[1].argument, 1U);
  EXPECT_TRUE(copy.lists.empty());
  EXPECT_TRUE(known_arguments("_Z5emptyid").empty());
  EXPECT_TRUE(known_arguments("not a mangled name").empty());
}

TEST(Arguments, AListOfTypesIsSplitOutsideOfBracketsOnly) {
  const auto types = split_types("int, a<b, c>::f(d, e)::{lambda(g, h)#1}, float* const");
  ASSERT_EQ(types.size(), 3U);
  EXPECT_EQ(types[1], "a<b, c>::f(d, e)::{lambda(g, h)#1}");
  EXPECT_EQ(types[2], "float*");
}

TEST(Arguments, AFunctionObjectHoldsAPointerForEachTensor) {
  const auto object = [](const std::string& function) {
    return runs_in_structure("at::native::gpu_kernel_impl_nocast<" + function +
                             ">(at::TensorIteratorBase&, " + function + " const&)::{lambda(int)#1}");
  };
  const auto two = object("at::native::f(x, y)::{lambda()#3}::operator()() const::{lambda(float, bool)#1}");
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].pointers, 3U);
  EXPECT_EQ(two[0].offset, 608U);  // behind the offsets of three tensors, rounded up to 8
  EXPECT_EQ(object("at::native::BUnaryFunctor<float, float, float, x>").at(0).offset, 504U);
  EXPECT_TRUE(object("at::native::NobodyKnows<float>").empty());
}

TEST(Arguments, AReductionsPointersLieBehindWhatItMakes) {
  const auto reduction = [](const std::string& operation, const std::string& index = "unsigned int") {
    return runs_in_structure("at::native::ReduceOp<float, " + operation + ", " + index + ", float, 4, 4>");
  };
  const auto sum = [](const std::string& type) {
    return "at::native::func_wrapper_t<x, at::native::sum<x>::operator()(y&)::{lambda(" + type + ", " + type +
           ")#1}>";
  };
  ASSERT_EQ(reduction(sum("float")).size(), 2U);
  EXPECT_EQ(reduction(sum("float"))[0].offset, 984U);
  EXPECT_EQ(reduction(sum("double"))[0].offset, 992U);
  EXPECT_EQ(reduction(sum("c10::BFloat16"))[0].offset, 976U);
  EXPECT_EQ(reduction(sum("float"))[1].offset, 984U + 24);  // the second result may not be there
  EXPECT_TRUE(reduction(sum("float"), "unsigned long").empty());
  EXPECT_TRUE(reduction("at::native::WelfordOps<double, double, int, p>").empty());
}

TEST(TensorLists, OfAListOnlyWhatItsBlocksUseIsRead) {
  const auto layout = tensor_lists(kList);
  ASSERT_TRUE(layout.has_value());
  ASSERT_EQ(layout->lists, 2U);
  std::vector<char> memory(layout->block_to_tensor + layout->blocks * layout->index_bytes, '\x5a');
  const auto address = [](std::uintptr_t value) { return reinterpret_cast<const void*>(value); };
  for (std::size_t list = 0; list < 2; ++list) {
    for (std::size_t tensor = 0; tensor < 2; ++tensor) {
      const void* const pointer = address(0x1000 * (list + 1) + tensor);
      std::memcpy(memory.data() + (list * layout->tensors + tensor) * sizeof pointer, &pointer,
                  sizeof pointer);
    }
  }
  for (const std::uint16_t block : {0, 1, 2}) {  // two blocks of the first tensor, one of the second
    const std::uint16_t tensor = block == 2 ? 1 : 0;
    std::memcpy(memory.data() + layout->block_to_tensor + block * layout->index_bytes, &tensor,
                layout->index_bytes);
  }
  const std::vector<const void*> all{address(0x1000), address(0x1001), address(0x2000), address(0x2001)};
  EXPECT_EQ(addresses_in(*layout, memory.data(), 3), all);
  EXPECT_EQ(addresses_in(*layout, memory.data(), 2), (std::vector<const void*>{all[0], all[2]}));
  EXPECT_TRUE(addresses_in(*layout, memory.data(), 0).empty());
}

TEST(TensorLists, KindsDiffer) {
  const std::string space = "at::native::(anonymous namespace)::";
  const auto fused = tensor_lists(space + "FusedOptimizerTensorListMetadata<4>");
  ASSERT_TRUE(fused.has_value());
  EXPECT_GT(fused->steps, 0U);
  const auto scalars = tensor_lists(space + "TensorListScalarListMetadata<float, 1>");
  const auto doubles = tensor_lists(space + "TensorListScalarListMetadata<double, 1>");
  ASSERT_TRUE(scalars.has_value() && doubles.has_value());
  EXPECT_EQ(doubles->block_to_tensor, scalars->block_to_tensor + 4 * scalars->tensors);
  EXPECT_FALSE(tensor_lists(space + "TensorListMetadata<6>").has_value());
  EXPECT_FALSE(tensor_lists(space + "TensorListScalarListMetadata<x, 1>").has_value());
  EXPECT_FALSE(tensor_lists("float*").has_value());
}

}  // namespace
}  // namespace stowage::simulator
