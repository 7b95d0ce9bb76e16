#include "passes/unpack_weights.h"

#include "passes/check_rewrite.h"
#include "passes/fold_constants.h"

namespace hone::passes {
namespace {

constexpr const char* kQuantised = R"((%x: f32[1,2]) {
    %q: i8[2,2] = constant dense(1, -2, 3, 4)
    %s: f32[] = constant dense(0.5)
    %w: f32[*] = DequantizeLinear(%q, %s)
    %y: f32[*] = MatMul(%x, %w)
    return %y
  })";

// Decodes i8 constants by the one scale of these tests.
PassContext decoding() {
  PassContext context = willing_target();
  context.evaluate = [](const graph::Node&, std::span<const Tensor> inputs) -> Result<std::vector<Tensor>> {
    Tensor decoded(DType::kF32, inputs[0].shape());
    for (int64_t i = 0; i < decoded.size(); ++i)
      decoded.as<float>()[static_cast<std::size_t>(i)] =
          static_cast<float>(inputs[0].at(i) * inputs[1].at(0));
    return std::vector{decoded};
  };
  return context;
}

TEST(UnpackWeights, DecodesConstantsOnce) {
  check_rewrite(unpack_weights, kQuantised, R"((%x: f32[1,2]) {
    %w: f32[2,2] = constant dense(0.5, -1.0, 1.5, 2.0)
    %y: f32[*] = MatMul(%x, %w)
    return %y
  })",
                decoding());
}

TEST(UnpackWeights, LeavesWhatTheTargetMultiplies) {
  PassContext context = decoding();
  context.target.takes.products.add(DType::kI8);
  check_left_alone(unpack_weights, kQuantised, "multiplies i8", context);
}

TEST(UnpackWeights, LeavesWhatIsComputed) {
  check_left_alone(unpack_weights, R"((%q: i8[2,2]) {
    %s: f32[] = constant dense(0.5)
    %y: f32[*] = DequantizeLinear(%q, %s)
    return %y
  })",
                   "", decoding());
}

TEST(UnpackWeights, FoldingConstantsDoesNotDecideIt) {
  check_left_alone(fold_constants, kQuantised, "", decoding());
}

}  // namespace
}  // namespace hone::passes
