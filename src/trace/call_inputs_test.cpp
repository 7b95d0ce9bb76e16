#include "trace/call_inputs.h"

#include <gtest/gtest.h>

namespace hone::trace {
namespace {

CallInput tensor(DType dtype, std::vector<int64_t> dims, std::vector<int64_t> strides = {}) {
  CallInput input;
  input.kind = CallInput::Kind::kTensor;
  input.dtype = dtype;
  input.dims = std::move(dims);
  input.strides = std::move(strides);
  return input;
}

CallInput value(std::string text) {
  CallInput input;
  input.kind = CallInput::Kind::kValue;
  input.value = std::move(text);
  return input;
}

TEST(CallInputs, ReadBackAsTheyWereWritten) {
  CallInput list;
  list.kind = CallInput::Kind::kList;
  list.items = {tensor(DType::kF32, {768}), CallInput{}, tensor(DType::kF32, {768, 3})};
  const std::vector<CallInput> inputs = {tensor(DType::kBF16, {8, 64, 256, 256}, {4194304, 1, 16384, 64}),
                                         tensor(DType::kF32, {}),
                                         tensor(DType::kUndefined, {0}),
                                         list,
                                         CallInput{},
                                         value("[1,1]"),
                                         value("")};
  const std::string text = call_inputs_text(inputs);
  EXPECT_EQ(text,
            "bf16[8,64,256,256]{4194304,1,16384,64} f32[] undefined[0] (f32[768] - f32[768,3]) - =[1,1] =");
  const auto back = parse_call_inputs(text);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, inputs);
  EXPECT_TRUE(parse_call_inputs("")->empty());
}

TEST(CallInputs, ValuesCannotBreakTheText) {
  const auto back = parse_call_inputs(call_inputs_text({value("(a b) c"), value("x")}));
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].value, "(abc");
}

TEST(CallInputs, CountElementsAndBytes) {
  CallInput list;
  list.kind = CallInput::Kind::kList;
  list.items = {tensor(DType::kF32, {768}), tensor(DType::kBF16, {2, 2})};
  EXPECT_EQ(list.elements(), 772);
  EXPECT_EQ(list.bytes(), 768 * 4 + 4 * 2);
  EXPECT_EQ(tensor(DType::kF64, {}).bytes(), 8);
  EXPECT_EQ(value("[3]").bytes(), 0);
}

TEST(CallInputs, TakeMemoryOnceThatExpandedDimensionsRepeat) {
  CallInput rows = tensor(DType::kF32, {6, 10});
  EXPECT_EQ(rows.stored_bytes(), 240) << "packed";
  rows.strides = {1, 0};
  EXPECT_EQ(rows.bytes(), 240);
  EXPECT_EQ(rows.stored_bytes(), 24);
  rows.dims = {0, 10};
  EXPECT_EQ(rows.stored_bytes(), 0);
}

TEST(CallInputs, CountNoMoreElementsThanFitIntoANumber) {
  EXPECT_EQ(tensor(DType::kF32, {4'000'000'000, 4'000'000'000}).elements(), int64_t{1} << 62);
  EXPECT_GT(tensor(DType::kF32, {4'000'000'000, 4'000'000'000}).bytes(), 6e19);
}

TEST(CallInputs, RejectOtherTexts) {
  for (const char* text : {"f32", "f32[", "f32[1", "f32[a]", "g32[1]", "(f32[1]", "f32[1]f32[2]", "f32[1,]",
                           "f32[1]{", "f32[2,3]{1}", "f32[2]{2,1}", "x", " ", "f32[99999999999999999999]"})
    EXPECT_FALSE(parse_call_inputs(text).ok()) << text;
}

TEST(CallInputs, KnowWhichElementsAreStored) {
  const auto inputs = parse_call_inputs("f32[4,8]{0,1} f32[4,8]{8,0} f32[4,8] f32[1,8]{0,1} f32[] =1");
  ASSERT_TRUE(inputs.ok());
  const double stored[] = {8, 4, 32, 8, 1, 0};
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    EXPECT_EQ((*inputs)[i].stored_elements(), stored[i]) << i;
    EXPECT_EQ((*inputs)[i].repeats(), i < 2) << i;
  }
}

}  // namespace
}  // namespace hone::trace
