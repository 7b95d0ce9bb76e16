// Gradients of pooling against the reference kernel, with odd windows and poisoned results.
#include "kernels/cpu/pooling/pooling_gradient.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "kernels/ref/ref.h"

namespace hone::kernels {
namespace {

Tensor drawn(const Shape& shape, uint32_t seed) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> draw(-4, 4);  // few values: there are equal ones in most windows
  for (float& value : tensor.as<float>()) value = static_cast<float>(draw(random));
  return tensor;
}

void check(const Shape& x, Attributes attributes, bool maximum) {
  SCOPED_TRACE(shape_text(x));
  auto spec = read_windows(attributes, {});
  ASSERT_TRUE(spec.ok());
  const Shape input(x.begin() + 2, x.end());
  const auto output = place_windows(*spec, input);
  ASSERT_TRUE(output.ok());
  Shape pooled{x[0], x[1]};
  pooled.insert(pooled.end(), output->begin(), output->end());
  const Tensor g = drawn(pooled, 3), from = drawn(x, 4);
  const Tensor second = maximum ? from : Tensor::i64({static_cast<int64_t>(x.size())}, x);
  const std::vector<Tensor> inputs{g, second};
  const char* op = maximum ? "hone.MaxPoolGradient" : "hone.AveragePoolGradient";
  const auto wanted = ref::ref_table().find(op)({.op = op, .attributes = attributes, .inputs = inputs});
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  const auto made = PoolingGradient::create({.maximum = maximum,
                                             .counts_pads = attributes.integer("count_include_pad", 0) != 0,
                                             .planes = x[0] * x[1],
                                             .axes = spec->axes,
                                             .input = input,
                                             .output = *output});
  ASSERT_TRUE(made.ok()) << made.error().message;
  Tensor got(DType::kF32, x);
  for (float& value : got.as<float>()) value = std::numeric_limits<float>::quiet_NaN();
  made->execute(g.as<float>().data(), from.as<float>().data(), got.as<float>().data());
  for (int64_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got.at(i), (*wanted)[0].at(i), 1e-5) << i;
}

TEST(PoolingGradient, IsTheReferencesInEveryForm) {
  for (const bool maximum : {true, false})
    for (const int64_t counts : {0, 1})
      for (const int64_t ceil : {0, 1}) {
        const auto with = [&](Attributes attributes) {
          if (!maximum) attributes.set("count_include_pad", counts);
          return attributes.set("ceil_mode", ceil);
        };
        check({2, 3, 9}, with({{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}), maximum);
        check({1, 70, 7, 6},
              with({{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}),
              maximum);
        check({1, 2, 8, 9},
              with({{"kernel_shape", Ints{2, 3}}, {"dilations", Ints{3, 2}}, {"pads", Ints{1, 0, 0, 2}}}),
              maximum);
        check({2, 1, 4, 5, 6}, with({{"kernel_shape", Ints{2, 2, 3}}, {"strides", Ints{1, 2, 3}}}), maximum);
      }
}

}  // namespace
}  // namespace hone::kernels
