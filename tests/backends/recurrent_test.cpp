// LSTM and GRU on the CPU and on a GPU against the reference: without a GPU by kernels that the host runs thread by thread, on one
// as they are (ctest -L cuda).
#include <array>

#include "tests/backends/compare.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

struct Form {
  std::string direction = "forward";
  bool bias = true, lengths = false, states = false, peephole = false;
  Attributes more = {};
  DType dtype = DType::kF32;
  int64_t hidden = 19;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {{},
                                        {"reverse"},
                                        {"bidirectional"},
                                        {"forward", false},
                                        {"bidirectional", true, true, true},
                                        {"reverse", true, true, false},
                                        {"forward", false, true, true, true},
                                        {"bidirectional", true, false, true, true, {{"clip", 0.4F}}}};
  return all;
}

Build layer(const std::string& op, const Form& form, int64_t batch) {
  return [=](GraphBuilder& b) -> std::vector<ValueId> {
    const int64_t time = 6, input = 5, hidden = form.hidden;
    const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
    const int64_t directions = form.direction == "bidirectional" ? 2 : 1;
    const bool batch_first = form.more.integer("layout", 0) != 0;
    const Shape x = batch_first ? Shape{batch, time, input} : Shape{time, batch, input};
    const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
    const auto weights = [&](const Shape& shape, uint32_t seed) {
      return typed_constant(b, form.dtype, shape, seed);
    };
    std::vector<ValueId> in{input_of(b, "x", form.dtype, x), weights({directions, gates * hidden, input}, 1),
                            weights({directions, gates * hidden, hidden}, 2),
                            form.bias ? weights({directions, 2 * gates * hidden}, 3) : kNoValue};
    in.push_back(form.lengths ? input_of(b, "lengths", DType::kI32, {batch}) : kNoValue);
    in.push_back(form.states ? input_of(b, "h", form.dtype, state) : kNoValue);
    if (op == "LSTM") {
      in.push_back(form.states ? input_of(b, "c", form.dtype, state) : kNoValue);
      if (form.peephole) in.push_back(weights({directions, 3 * hidden}, 4));
    }
    Attributes attributes = form.more;
    attributes.set("direction", form.direction).set("hidden_size", hidden);
    if (op == "RNN" && !attributes.has("activations"))
      attributes.set("activations", Strings(static_cast<std::size_t>(directions), "Tanh"));
    if (op == "GRU" && form.peephole) attributes.set("linear_before_reset", int64_t{1});
    return b.add_many(op, in, op == "LSTM" ? 3 : 2, attributes);
  };
}

TEST(Recurrent, EveryFormAgrees) {
  CompareOptions options;  // of lengths: some sequences are empty, some whole
  options.int_low = 0;
  options.int_high = 6;
  for (const char* op : {"LSTM", "GRU"}) {
    for (const Form& form : forms()) {
      for (const int64_t batch : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << op << " " << form.direction << " " << (&form - forms().data()) << " " << batch);
        compare_all_kernels(layer(op, form, batch), options);
      }
    }
  }
}

class RecurrentOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  // Lengths: some sequences are empty, some whole.
  CompareOptions options() const {
    CompareOptions options;
    options.provider = provider_;
    options.int_low = 0;
    options.int_high = 6;
    return options;
  }
  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, RecurrentOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, RecurrentOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RecurrentOnGpu);

TEST_P(RecurrentOnGpu, EveryFormAgrees) {
  std::vector<Form> all = forms();
  // As many sequences as a warp takes and more, rows that are read by vectors, batches first, and half types.
  all.push_back({"bidirectional", true, true, true, false, {{"layout", int64_t{1}}}});
  all.push_back({"forward", true, false, true, true, {}, DType::kF16, 48});
  all.push_back({"reverse", true, true, true, true, {}, DType::kBF16, 20});
  for (const std::string op : {"LSTM", "GRU", "RNN"}) {
    for (std::size_t i = op == "RNN" ? 4 : 0; i < all.size(); ++i) {
      Form form = all[i];
      if (i + 2 == all.size() && op == "LSTM") form.more.set("input_forget", int64_t{1});
      SCOPED_TRACE(testing::Message() << op << " " << form.direction << " " << i);
      compare_all_kernels(layer(op, form, std::array<int64_t, 4>{1, 3, 8, 11}[i % 4]), options());
    }
  }
}

// Every function that ONNX names, with parameters and without, other ones in either direction.
TEST_P(RecurrentOnGpu, EveryFunctionAgrees) {
  const Strings names = {"Relu",   "Affine",   "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid",
                         "Elu",    "Softsign", "Softplus",  "sigmoid",         "TANH",       "HardSigmoid",
                         "Affine", "Relu",     "Tanh"};
  std::size_t next = 0;
  for (const std::string op : {"RNN", "RNN", "GRU", "GRU", "LSTM", "LSTM", "LSTM"}) {
    for (const char* const direction : {"forward", "bidirectional"}) {
      Form form{direction};
      const std::size_t of_direction = op == "LSTM" ? 3 : op == "GRU" ? 2 : 1;
      Strings functions;
      for (std::size_t i = 0; i < of_direction * (std::string(direction) == "forward" ? 1 : 2); ++i)
        functions.push_back(names[next++ % names.size()]);
      SCOPED_TRACE(fmt::format("{} {}", op, fmt::join(functions, ", ")));
      form.more.set("activations", functions).set("clip", 1.5F);
      if (next % 2 == 0)
        form.more.set("activation_alpha", Floats{0.3F, 0.6F}).set("activation_beta", Floats{0.2F});
      form.peephole = op == "GRU" && next % 3 == 0;  // resets behind the product
      CompareOptions wanted = options();
      wanted.tolerance = 1e-4;  // functions without bounds magnify how states are rounded
      compare_all_kernels(layer(op, form, 3), wanted);
    }
  }
}

// Of a layer whose whole sequence nobody reads, the last states alone; of weights that are computed.
TEST_P(RecurrentOnGpu, LastStatesAloneAndComputedWeightsAgree) {
  for (const char* op : {"LSTM", "GRU"}) {
    compare_all_kernels(
        [&](GraphBuilder& b) -> std::vector<ValueId> { return {layer(op, {"bidirectional"}, 3)(b).at(1)}; },
        options());
  }
  compare_all_kernels(
      [&](GraphBuilder& b) -> std::vector<ValueId> {
        const ValueId w = b.add("Neg", {f32_input(b, "w", {1, 64, 12})});
        const ValueId r = b.add("Neg", {f32_input(b, "r", {1, 64, 16})});
        return b.add_many("LSTM", {f32_input(b, "x", {4, 2, 12}), w, r}, 3, {{"hidden_size", int64_t{16}}});
      },
      options());
}

TEST_P(RecurrentOnGpu, ALengthOutOfRangeIsAnErrorOfTheRun) {
  Form form;
  form.lengths = true;
  const graph::Graph graph = make_graph(layer("GRU", form, 2));
  auto plan = runtime::Plan::compile(graph, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  for (const auto& [length, right] : {std::pair{6, true}, {7, false}, {-1, false}, {0, true}}) {
    Tensor lengths(DType::kI32, {2});
    lengths.as<int32_t>()[0] = 3;
    lengths.as<int32_t>()[1] = length;
    const auto ran = (*plan)->run(std::vector{random_floats({6, 2, 5}, 1), lengths});
    EXPECT_EQ(ran.ok(), right) << length;
  }
}

}  // namespace
}  // namespace hone::backends
