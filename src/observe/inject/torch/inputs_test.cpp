#include "observe/inject/torch/inputs.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "observe/inject/torch/testing/fake_torch.h"
#include "trace/call_inputs.h"
#include "trace/import/kineto/inputs.h"

namespace hone::observe::torch {
namespace {

using Torch = FakeTorch<Version211>;
using Value = Torch::Value;

// What is read of a call.
struct Read {
  std::string text;
  uint64_t hash = 0;
};

const Inputs* reader = nullptr;
Read* read = nullptr;

Read read_call(Torch& torch, std::vector<Value> inputs) {
  const Layout layout = torch.layout();
  const Inputs inputs_of_layout(layout);
  Read result;
  reader = &inputs_of_layout;
  read = &result;
  Callback callback = make_callback(
      layout.callback,
      [](const RecordFunction* record) {
        read->text = reader->text(record);
        read->hash = reader->hash(record);
        return std::unique_ptr<Context>();
      },
      [](const RecordFunction*, Context*) {});
  set_flag(callback, layout.callback, layout.callback.function);
  set_flag(callback, layout.callback, layout.callback.needs_inputs);
  const uint64_t handle = torch.symbols().add_callback(callback);
  torch.call("aten::any", std::move(inputs));
  torch.symbols().remove_callback(handle);
  return result;
}

// What the importer makes of what torch.profiler writes of the same call.
std::string imported(std::string_view members) {
  return trace::kineto::InputsParser().canonical(members).value_or("not as PyTorch writes it");
}

TEST(Inputs, AreWrittenAsTheyAreImportedFromTorchProfiler) {
  Torch torch;
  const auto* image = torch.tensor("bf16", {8, 64, 256, 256}, {4194304, 1, 16384, 64});
  const Read call =
      read_call(torch, {torch.value(image), torch.value(torch.tensor("f32", {})), torch.value(int64_t{-7}),
                        torch.value(0.5), torch.value(true), Value{},
                        torch.list_of_numbers({torch.value(int64_t{1}), torch.value(int64_t{2})}),
                        torch.list_of_numbers({})});
  EXPECT_EQ(call.text, "bf16[8,64,256,256]{4194304,1,16384,64} f32[] =-7 =0.5 =True - =[1,2] =[]");
  EXPECT_EQ(
      call.text,
      imported(
          R"("Concrete Inputs": ["", "", "-7", "0.5", "True", "", "[1, 2]", "[]"], )"
          R"("Input type": ["c10::BFloat16", "float", "Scalar", "Scalar", "Scalar", "", "ScalarList", "ScalarList"], )"
          R"("Input Strides": [[4194304, 1, 16384, 64], [], [], [], [], [], [], []], )"
          R"("Input Dims": [[8, 64, 256, 256], [], [], [], [], [], [], []])"));
}

TEST(Inputs, KeepTheTypesOfTensorsInLists) {
  Torch torch;
  const Read call = read_call(torch, {torch.list_of_tensors({torch.value(torch.tensor("f32", {2, 3})),
                                                             torch.value(torch.tensor("i64", {4}, {2}))}),
                                      torch.value(int64_t{0})});
  EXPECT_EQ(call.text, "(f32[2,3] i64[4]{2}) =0");
  const auto parsed = trace::parse_call_inputs(call.text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(trace::call_inputs_text(*parsed), call.text);
}

TEST(Inputs, ShowNothingOfListsThatMayHoldNoneAsTorchProfilerDoes) {
  Torch torch;
  const Value index = torch.value(torch.tensor("i64", {5}));
  EXPECT_EQ(read_call(torch, {torch.value(torch.tensor("f32", {9})), torch.list_of_optional({index})}).text,
            "f32[9] -");
  EXPECT_EQ(read_call(torch, {torch.list_of_optional({Value{}, index})}).text, "-");
}

TEST(Inputs, ShowNothingOfLongListsOfNumbers) {
  Torch torch;
  EXPECT_EQ(read_call(torch, {torch.list_of_numbers(std::vector<Value>(31, torch.value(int64_t{4})))}).text,
            "-");
}

TEST(Inputs, HaveEveryDimensionOfTensorsWithMany) {
  Torch torch;
  EXPECT_EQ(read_call(torch, {torch.value(torch.tensor("f16", {2, 3, 4, 5, 6, 7, 8}))}).text,
            "f16[2,3,4,5,6,7,8]");
  EXPECT_EQ(
      read_call(torch, {torch.value(torch.tensor("f16", {2, 2, 2, 2, 2, 2}, {1, 2, 4, 8, 16, 32}))}).text,
      "f16[2,2,2,2,2,2]{1,2,4,8,16,32}");
}

TEST(Inputs, WriteNumbersAsPyTorchPrintsThem) {
  Torch torch;
  const auto text = [&](double number) { return read_call(torch, {torch.value(number)}).text; };
  EXPECT_EQ(text(2), "=2.");
  EXPECT_EQ(text(-0.0), "=-0.");
  EXPECT_EQ(text(0.1), "=0.10000000000000001");
  EXPECT_EQ(text(1e-5), "=1.0000000000000001e-05");
  EXPECT_EQ(text(1e10), "=10000000000");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "=inf");
}

TEST(Inputs, OfCallsThatDifferInAnythingWrittenHaveDifferentHashes) {
  Torch torch;
  const auto hash = [&](std::vector<Value> inputs) { return read_call(torch, std::move(inputs)).hash; };
  const auto* tensor = torch.tensor("f32", {2, 3});
  const uint64_t of_tensor = hash({torch.value(tensor)});
  EXPECT_EQ(of_tensor, hash({torch.value(torch.tensor("f32", {2, 3}))}));
  EXPECT_NE(of_tensor, hash({torch.value(torch.tensor("f32", {3, 2}))}));
  EXPECT_NE(of_tensor, hash({torch.value(torch.tensor("f32", {2, 3}, {1, 2}))}));
  EXPECT_NE(of_tensor, hash({torch.value(torch.tensor("f16", {2, 3}))}));
  EXPECT_NE(of_tensor, hash({torch.list_of_tensors({torch.value(tensor)})}));
  EXPECT_NE(of_tensor, hash({torch.value(tensor), Value{}}));
  EXPECT_NE(hash({torch.value(true)}), hash({torch.value(false)}));
  EXPECT_NE(hash({torch.value(int64_t{1})}), hash({torch.value(int64_t{2})}));
  EXPECT_NE(hash({torch.list_of_numbers({torch.value(int64_t{1})})}), hash({torch.value(int64_t{1})}));
}

}  // namespace
}  // namespace hone::observe::torch
