#include "kernels/ref/test_call.h"

namespace hone::kernels::ref {
namespace {

// Layers with one hidden element, whose steps can be done by hand.
Tensor constant(Shape shape, float value) {
  Tensor t(DType::kF32, std::move(shape));
  for (float& v : t.as<float>()) v = value;
  return t;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(RefRnn, RunsBothDirectionsAndStopsAtEachLength) {
  const Attributes attributes{{"direction", std::string("bidirectional")},
                              {"activations", Strings{"Affine", "Affine"}},
                              {"hidden_size", int64_t{1}}};
  const Tensor x = floats({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  const Tensor lengths = Tensor::of<int32_t>(DType::kI32, {2}, std::vector<int32_t>{3, 2});
  const auto y = run("RNN", {x, constant({2, 1, 1}, 1), constant({2, 1, 1}, 1), {}, lengths}, attributes, 2);
  // Sums of what was seen so far; [time, direction, batch, 1].
  expect_values(y, 0, {3, 2, 2, 1}, {1, 10, 6, 30, 3, 30, 5, 20, 6, 0, 3, 0});
  expect_values(y, 1, {2, 2, 1}, {6, 30, 6, 30});
}

TEST(RefRnn, BatchFirstTransposesEverything) {
  const Attributes attributes{{"layout", int64_t{1}}, {"activations", Strings{"Affine"}}};
  const auto y =
      run("RNN", {floats({2, 2, 1}, {1, 2, 10, 20}), constant({1, 1, 1}, 1), constant({1, 1, 1}, 1)},
          attributes, 2);
  expect_values(y, 0, {2, 2, 1, 1}, {1, 3, 10, 30});
  expect_values(y, 1, {2, 1, 1}, {3, 30});
}

TEST(RefLstm, OneStepFollowsTheEquations) {
  const Tensor x = floats({1, 1, 1}, {1});
  const Tensor w = floats({1, 4, 1}, {0.1F, 0.2F, 0.3F, 0.4F}),
               r = floats({1, 4, 1}, {0.5F, 0.6F, 0.7F, 0.8F});
  const Tensor b = constant({1, 8}, 0.05F), h0 = constant({1, 1, 1}, 0.25F), c0 = constant({1, 1, 1}, -0.5F);
  const Tensor p = floats({1, 3}, {0.1F, 0.2F, 0.3F});
  const auto y = run("LSTM", {x, w, r, b, {}, h0, c0, p}, {}, 3);
  const double i = sigmoid(0.1 + 0.5 * 0.25 + 0.1 + 0.1 * -0.5),
               f = sigmoid(0.3 + 0.7 * 0.25 + 0.1 + 0.3 * -0.5);
  const double c = f * -0.5 + i * std::tanh(0.4 + 0.8 * 0.25 + 0.1);
  const double o = sigmoid(0.2 + 0.6 * 0.25 + 0.1 + 0.2 * c);
  expect_values(y, 0, {1, 1, 1, 1}, {o * std::tanh(c)});
  expect_values(y, 1, {1, 1, 1}, {o * std::tanh(c)});
  expect_values(y, 2, {1, 1, 1}, {c});
}

TEST(RefGru, LinearBeforeResetMovesTheReset) {
  const Tensor x = floats({1, 1, 1}, {1}), h0 = constant({1, 1, 1}, 0.5F);
  const Tensor w = floats({1, 3, 1}, {0.1F, 0.2F, 0.3F}), r = floats({1, 3, 1}, {0.4F, 0.5F, 0.6F});
  const Tensor b = constant({1, 6}, 0.1F);
  const double z = sigmoid(0.1 + 0.4 * 0.5 + 0.2), reset = sigmoid(0.2 + 0.5 * 0.5 + 0.2);
  const double before = std::tanh(0.3 + 0.6 * reset * 0.5 + 0.2);
  const double after = std::tanh(0.3 + reset * (0.6 * 0.5 + 0.1) + 0.1);
  expect_values(run("GRU", {x, w, r, b, {}, h0}), 0, {1, 1, 1, 1}, {(1 - z) * before + z * 0.5});
  expect_values(run("GRU", {x, w, r, b, {}, h0}, {{"linear_before_reset", int64_t{1}}}), 0, {1, 1, 1, 1},
                {(1 - z) * after + z * 0.5});
}

TEST(RefRecurrent, ClipBoundsWhatActivationsSee) {
  const Attributes attributes{{"clip", 0.5F}, {"activations", Strings{"Affine"}}};
  expect_values(
      run("RNN", {floats({1, 1, 1}, {9}), constant({1, 1, 1}, 1), constant({1, 1, 1}, 1)}, attributes), 0,
      {1, 1, 1, 1}, {0.5});
}

TEST(RefRecurrent, MisfitsAreErrors) {
  const Tensor x = floats({1, 1, 1}, {1}), one = constant({1, 1, 1}, 1);
  EXPECT_FALSE(run("RNN", {x, constant({1, 2, 1}, 1), one}).ok());
  EXPECT_FALSE(run("RNN", {x, one, one}, {{"direction", std::string("up")}}).ok());
  EXPECT_FALSE(run("RNN", {x, one, one}, {{"activations", Strings{"Sine"}}}).ok());
  const Tensor lengths = Tensor::of<int32_t>(DType::kI32, {1}, std::vector<int32_t>{2});
  EXPECT_FALSE(run("RNN", {x, one, one, {}, lengths}).ok());
}

}  // namespace
}  // namespace hone::kernels::ref
