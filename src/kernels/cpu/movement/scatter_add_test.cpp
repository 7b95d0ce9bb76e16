// Scatters that add against the reference kernel, with places that several updates go to.
#include "kernels/cpu/movement/scatter_add.h"

#include <random>

#include <gtest/gtest.h>

#include "kernels/ref/ref.h"

namespace hone::kernels {
namespace {

Tensor numbers(const Shape& shape, uint32_t seed) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  for (float& value : tensor.as<float>()) value = draw(random);
  return tensor;
}

// Any place of axes of `extents`, half of them counted from the end.
Tensor places(const Shape& shape, const Shape& extents, uint32_t seed) {
  Tensor tensor(DType::kI64, shape);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < static_cast<std::size_t>(tensor.size()); ++i) {
    const auto extent = extents[i % extents.size()];
    tensor.as<int64_t>()[i] = static_cast<int64_t>(random() % static_cast<unsigned>(2 * extent)) - extent;
  }
  return tensor;
}

void check(const char* op, const Tensor& data, const Tensor& indices, const Tensor& updates, int64_t axis,
           const Result<ScatterAdd>& made) {
  ASSERT_TRUE(made.ok()) << made.error().message;
  Attributes attributes{{"reduction", "add"}};
  if (std::string_view(op) == "ScatterElements") attributes.set("axis", axis);
  const std::vector<Tensor> inputs{data, indices, updates};
  const auto wanted = ref::ref_table().find(op)({.op = op, .attributes = attributes, .inputs = inputs});
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  Tensor got = data.clone();
  ASSERT_TRUE(
      made->execute(updates.as<float>().data(), indices.as<int64_t>().data(), got.as<float>().data()));
  for (int64_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got.at(i), (*wanted)[0].at(i), 1e-5) << i;
}

TEST(ScatterAdd, AddsSlicesWhereTuplesSay) {
  for (const int64_t width : {1, 2, 3}) {
    const Shape shape{5, 4, 37};
    Shape updates{60};
    updates.insert(updates.end(), shape.begin() + width, shape.end());
    const Shape extents(shape.begin(), shape.begin() + width);
    check("ScatterND", numbers(shape, 1), places({60, width}, extents, 2), numbers(updates, 3), 0,
          ScatterAdd::slices(shape, 60, width));
  }
}

TEST(ScatterAdd, AddsElementsAlongAnAxis) {
  const Shape shape{3, 7, 5};
  for (const int64_t axis : {0, 1, 2}) {
    Shape picked = shape;
    picked[static_cast<std::size_t>(axis)] = 11;
    // ONNX lets an index along the axis be longer than the axis.
    check("ScatterElements", numbers(shape, 1), places(picked, {shape[static_cast<std::size_t>(axis)]}, 2),
          numbers(picked, 3), axis, ScatterAdd::elements(shape, picked, axis));
  }
}

TEST(ScatterAdd, TellsOfIndicesOutside) {
  const auto slices = ScatterAdd::slices({3, 2}, 1, 1);
  const auto elements = ScatterAdd::elements({3, 2}, {1, 2}, 0);
  float out[6] = {};
  const float updates[2] = {1, 1};
  for (const int64_t bad : {3, -4}) {
    const int64_t indices[2] = {bad, 0};
    EXPECT_FALSE(slices->execute(updates, indices, out));
    EXPECT_FALSE(elements->execute(updates, indices, out));
  }
}

}  // namespace
}  // namespace hone::kernels
