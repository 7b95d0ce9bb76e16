// What only training steps hold, on a GPU against the reference: updates, batch statistics, gradients, losses, scatters that
// add, random numbers. Without a GPU the generated kernels run on the host, thread by thread; results are poisoned before.
#include <cstring>

#include "tests/backends/compare.h"
#include "tests/backends/convolution_cases.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;
using ::testing::HasSubstr;
using Values = std::vector<ValueId>;

class TrainingOnGpu : public ::testing::TestWithParam<const char*> {
 protected:
  CompareOptions options(double tolerance = 4e-6) const {
    CompareOptions options;
    options.provider = provider_;
    options.tolerance = tolerance;
    return options;
  }
  void compare(const Build& build, double tolerance = 4e-6) {
    compare_all_kernels(build, options(tolerance));
  }

  const std::shared_ptr<const runtime::Provider> provider_ = runtime::testing::provider_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, TrainingOnGpu, ::testing::Values(runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, TrainingOnGpu, ::testing::ValuesIn(runtime::testing::gpu_providers()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TrainingOnGpu);

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
double tolerance_of(DType dtype) { return dtype == DType::kF32 ? 4e-6 : 2.5e-3; }

// Buffers that kernels may overwrite, in a layout.
ValueId overwritable(GraphBuilder& b, const std::string& name, DType dtype, const Shape& shape,
                     bool channels_last = false) {
  const ValueId value = b.add("Neg", {input_of(b, name, dtype, shape)});
  return channels_last ? reorder(b, value, "channels_last") : value;
}
Values plain_outputs(GraphBuilder& b, Values outputs, bool channels_last) {
  if (channels_last) outputs[0] = reorder(b, outputs[0], "plain");
  return outputs;
}

// --- updates ---

// More tensors than one launch takes, around a load's and a block's size, and empty ones.
std::vector<Shape> tensors_of_an_update() {
  std::vector<Shape> shapes = {{3}, {1, 16}, {0, 4}, {31, 65}, {1}, {2048}, {2049}, {5, 1024}};
  for (int64_t i = 0; i < 50; ++i) shapes.push_back({i % 7 + 1});
  return shapes;
}

// `mixed`: some gradients are f32 all the same.
Values groups_of(GraphBuilder& b, Values inputs, int groups, DType gradient, DType parameter = DType::kF32,
                 bool mixed = false) {
  const std::vector<Shape> shapes = tensors_of_an_update();
  for (int group = 0; group < groups; ++group)
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool narrow = group == 1 && !(mixed && i % 3 == 0);
      const DType type = group == 0 ? parameter : narrow ? gradient : DType::kF32;
      inputs.push_back(input_of(b, fmt::format("x{}_{}", group, i), type, shapes[i]));
    }
  return inputs;
}

TEST_P(TrainingOnGpu, UpdatesByAdamWAgree) {
  CompareOptions positive = options();
  positive.low = 0;  // second moments are sums of squares
  for (const int64_t updates : {int64_t{0}, int64_t{1}, int64_t{100000}}) {
    const DType gradient = kFloats[updates % 3];
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const Values scalars = {scalar(b, 0.1F), b.constant("updates", Tensor::scalar_i64(updates)),
                                  updates == 1 ? kNoValue : scalar(b, 0.5F)};
          return b.add_many("hone.AdamW", groups_of(b, scalars, 4, gradient),
                            tensors_of_an_update().size() * 3, {{"epsilon", 1e-4F}});
        },
        positive);
  }
}

// Rounded stochastically: the kernel draws the reference's bits. An element in tens of thousands goes the other way.
TEST_P(TrainingOnGpu, UpdatesOfWeightsOfBf16Agree) {
  CompareOptions positive = options(2e-4);
  positive.low = 0;
  Ints numbers;
  for (std::size_t i = 0; i < tensors_of_an_update().size(); ++i)
    numbers.push_back(static_cast<int64_t>(7 * i % 101));
  const Attributes rounding = {
      {"seed", int64_t{-5'000'000'000}}, {"numbers", numbers}, {"weight_decay", 0.1F}};
  for (const int64_t updates : {int64_t{0}, int64_t{77}, int64_t{1} << 33}) {
    const DType gradient = kFloats[updates % 3];
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const Values scalars = {scalar(b, 0.01F), b.constant("updates", Tensor::scalar_i64(updates)),
                                  updates == 0 ? kNoValue : scalar(b, 0.5F)};
          return b.add_many("hone.AdamW", groups_of(b, scalars, 4, gradient, DType::kBF16),
                            tensors_of_an_update().size() * 3, rounding);
        },
        positive);
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const Values scalars = {scalar(b, 0.01F), updates == 0 ? kNoValue : scalar(b, 0.5F),
                                  b.constant("updates", Tensor::scalar_i64(updates))};
          return b.add_many("hone.Sgd", groups_of(b, scalars, 2, gradient, DType::kBF16),
                            tensors_of_an_update().size(), rounding);
        },
        positive);
  }
}

// As of GPT-2 in bf16, whose gradients are narrow but for one: nobody converts them before.
TEST_P(TrainingOnGpu, UpdatesByGradientsOfTwoTypesAgree) {
  CompareOptions positive = options();
  positive.low = 0;
  for (const DType gradient : {DType::kF16, DType::kBF16}) {
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const Values scalars = {scalar(b, 0.1F), b.constant("updates", Tensor::scalar_i64(3)),
                                  scalar(b, 0.5F)};
          return b.add_many("hone.AdamW", groups_of(b, scalars, 4, gradient, DType::kF32, true),
                            tensors_of_an_update().size() * 3, {{"epsilon", 1e-4F}});
        },
        positive);
  }
  compare([&](GraphBuilder& b) {
    return b.add_many("hone.Sgd",
                      groups_of(b, {scalar(b, 0.1F), kNoValue}, 2, DType::kBF16, DType::kF32, true),
                      tensors_of_an_update().size(), {{"weight_decay", 0.01F}});
  });
}

// More tensors than one launch takes, one of several blocks, empty ones; of nothing but those, and of one.
TEST_P(TrainingOnGpu, SumsOfSquaresAgree) {
  for (const DType dtype : kFloats) {
    compare(
        [&](GraphBuilder& b) -> Values {
          Values inputs;
          for (const Shape& shape : {Shape{0, 4}, Shape{30011}, Shape{8192}, Shape{3, 5}})
            inputs.push_back(input_of(b, shape_text(shape), dtype, shape));
          for (int64_t i = 0; i < 200; ++i)
            inputs.push_back(
                input_of(b, fmt::format("x{}", i), i % 5 == 0 ? kFloats[i % 3] : dtype, {i % 7 + 1}));
          return {b.add("hone.SquareSum", inputs), b.add("hone.SquareSum", {inputs[0]}),
                  b.add("hone.SquareSum", {inputs[3]})};
        },
        tolerance_of(dtype));
  }
}

TEST_P(TrainingOnGpu, UpdatesByGradientDescentAgree) {
  for (const int form : {0, 1, 2, 3}) {
    const float momentum = form == 0 ? 0.0F : 0.9F;
    compare([&](GraphBuilder& b) {
      const Values scalars = {scalar(b, 0.1F), form % 2 == 0 ? kNoValue : scalar(b, 0.5F)};
      return b.add_many("hone.Sgd", groups_of(b, scalars, form == 0 ? 2 : 3, DType::kF32),
                        tensors_of_an_update().size() * (form == 0 ? 1 : 2),
                        {{"momentum", momentum},
                         {"nesterov", int64_t{form == 3 ? 1 : 0}},
                         {"weight_decay", form == 2 ? 0.0F : 0.01F}});
    });
  }
}

// --- normalisations ---

const std::vector<Shape> kBatches = {{5, 6},          {2, 6, 33},    {3, 6, 5, 8},
                                     {1, 6, 1, 4000}, {2, 70, 4, 3}, {40, 3, 20, 20},
                                     {3, 64, 5, 7},   {2, 24, 9, 4}, {2, 520, 3, 2}};

TEST_P(TrainingOnGpu, BatchStatisticsAgree) {
  int turn = 0;
  for (const Shape& shape : kBatches) {
    for (const bool last : {false, true}) {
      if (last && shape.size() != 4) continue;
      const DType dtype = kFloats[turn++ % 3];
      SCOPED_TRACE(fmt::format("{} {} {}", shape_text(shape), last, dtype_name(dtype)));
      const Shape channels{shape[1]};
      compare(
          [&](GraphBuilder& b) {
            const Values inputs = {overwritable(b, "x", dtype, shape, last), f32_constant(b, channels),
                                   f32_constant(b, channels, 2), f32_input(b, "m", channels),
                                   f32_input(b, "v", channels)};
            if (turn % 2 == 0)
              return plain_outputs(
                  b, b.add_many("hone.BatchNormalizationRelu", inputs, 3, {{"momentum", 0.7F}}), last);
            return plain_outputs(b,
                                 b.add_many("BatchNormalization", inputs, 3,
                                            {{"training_mode", int64_t{1}}, {"momentum", 0.7F}}),
                                 last);
          },
          tolerance_of(dtype));
    }
  }
}

// The mean of an image is a hundred times its deviation: what is summed must not lose that.
TEST_P(TrainingOnGpu, BatchStatisticsKeepTheirDigitsWhereTheMeanIsLarge) {
  CompareOptions far = options(3e-5);
  far.low = 99;
  far.high = 101;
  for (const bool last : {false, true})
    compare_all_kernels(
        [&](GraphBuilder& b) {
          const ValueId x = f32_input(b, "x", {4, 6, 30, 20});
          const ValueId image = last ? reorder(b, x, "channels_last") : x;
          const Values inputs = {image, f32_constant(b, {6}), f32_constant(b, {6}, 2),
                                 f32_constant(b, {6}, 3), f32_constant(b, {6}, 4)};
          return plain_outputs(
              b, b.add_many("BatchNormalization", inputs, 3, {{"training_mode", int64_t{1}}}), last);
        },
        far);
}

TEST_P(TrainingOnGpu, GradientsOfBatchNormalizationAgree) {
  int turn = 0;
  for (const Shape& shape : kBatches) {
    for (const int form : {0, 1, 2, 3}) {
      const bool last = form % 2 != 0, relu = form > 1;
      if (last && shape.size() != 4) continue;
      const DType dtype = kFloats[turn++ % 3];
      SCOPED_TRACE(fmt::format("{} {} {}", shape_text(shape), form, dtype_name(dtype)));
      compare(
          [&](GraphBuilder& b) {
            Values inputs = {overwritable(b, "g", dtype, shape, last),
                             overwritable(b, "x", dtype, shape, last), f32_constant(b, {shape[1]})};
            if (relu) inputs.push_back(overwritable(b, "y", dtype, shape, last));
            return plain_outputs(
                b, b.add_many("hone.BatchNormalizationGradient", inputs, 3, {{"epsilon", 0.1F}}), last);
          },
          2 * tolerance_of(dtype));
    }
  }
}

TEST_P(TrainingOnGpu, GradientsOfLayerNormalizationAgree) {
  int turn = 0;
  for (const Shape& shape :
       {Shape{5, 6}, Shape{2, 7, 33}, Shape{300, 5, 2, 3}, Shape{9, 768}, Shape{3, 4096}}) {
    const DType dtype = kFloats[turn++ % 3];
    SCOPED_TRACE(shape_text(shape));
    const bool deep = shape.size() == 4;
    compare(
        [&](GraphBuilder& b) {
          const Values inputs = {overwritable(b, "g", dtype, shape), overwritable(b, "x", dtype, shape),
                                 typed_constant(b, turn % 2 == 0 ? dtype : DType::kF32,
                                                deep ? Shape{2, 3} : Shape{shape.back()})};
          return b.add_many("hone.LayerNormalizationGradient", inputs, 3,
                            {{"axis", int64_t{deep ? -2 : -1}}, {"epsilon", 0.1F}});
        },
        2 * tolerance_of(dtype));
  }
}

// Sums that stay f32, over everything but a matrix's columns and an image's channels.
TEST_P(TrainingOnGpu, SumsOfNarrowNumbersStayWide) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    compare([&](GraphBuilder& b) -> Values {
      return {b.add("hone.ReduceSum", {input_of(b, "x", dtype, {300, 40}), ints(b, {0})},
                    {{"keepdims", int64_t{0}}}),
              b.add("hone.ReduceSum", {input_of(b, "y", dtype, {7, 129}), ints(b, {1})})};
    });
  }
  for (const DType dtype : kFloats)
    for (const int64_t channels : {24, 5})
      compare([&](GraphBuilder& b) -> Values {
        const ValueId x = overwritable(b, "x", dtype, {3, channels, 9, 7}, true);
        const char* op = dtype == DType::kF32 ? "ReduceSum" : "hone.ReduceSum";
        return {b.add(op, {x, ints(b, {0, 2, 3})}, {{"keepdims", int64_t{0}}})};
      });
}

// --- pooling ---

TEST_P(TrainingOnGpu, GradientsOfPoolingAgree) {
  struct Pool {
    Shape in, out;
    Attributes attributes;
  };
  const std::vector<Pool> pools = {
      {{2, 5, 12, 12}, {2, 5, 6, 6}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {{1, 3, 15, 14},
       {1, 3, 8, 7},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{2, 4, 9, 7}, {2, 4, 7, 3}, {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{1, 2}}}},
      {{1, 2, 11, 11}, {1, 2, 4, 4}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{3, 3}}}},
      {{2, 8, 13, 14},
       {2, 8, 7, 7},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 16, 9, 6}, {1, 16, 9, 6}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 2, 8, 8}, {1, 2, 4, 4}, {{"kernel_shape", Ints{5, 5}}}}};
  for (const Pool& pool : pools) {
    for (const bool last : {false, true}) {
      const DType dtype = kFloats[pool.in[1] % 3];
      SCOPED_TRACE(fmt::format("{} {}", shape_text(pool.in), last));
      const auto result = [&](GraphBuilder& b, ValueId dx) -> Values {
        return {last ? reorder(b, dx, "plain") : dx};
      };
      // Equal elements, as behind a Relu: the first gets all.
      compare(
          [&](GraphBuilder& b) {
            const ValueId x = b.add("Relu", {input_of(b, "x", dtype, pool.in)});
            const ValueId image = last ? reorder(b, x, "channels_last") : x;
            return result(b, b.add("hone.MaxPoolGradient",
                                   {overwritable(b, "g", dtype, pool.out, last), image}, pool.attributes));
          },
          tolerance_of(dtype));
      // The logarithm of what is negative is no number, and the largest; the first of them gets all.
      compare([&](GraphBuilder& b) {
        const ValueId x = b.add("Log", {f32_input(b, "x", pool.in)});
        const ValueId image = last ? reorder(b, x, "channels_last") : x;
        const ValueId g = overwritable(b, "g", DType::kF32, pool.out, last);
        return result(b, b.add("hone.MaxPoolGradient", {g, image}, pool.attributes));
      });
      for (const int64_t counts : {0, 1}) {
        Attributes attributes = pool.attributes;
        attributes.set("count_include_pad", counts);
        compare(
            [&](GraphBuilder& b) -> Values {
              const ValueId g = b.add("Neg", {input_of(b, "g", dtype, pool.out)});
              return {b.add("hone.AveragePoolGradient", {g, ints(b, pool.in)}, attributes)};
            },
            tolerance_of(dtype));
      }
    }
  }
}

// --- convolutions ---

Shape result_of(const ConvCase& c) {
  GraphBuilder b("shape");
  return b.type(conv(b, c, f32_input(b, "x", c.input))).shape();
}

TEST_P(TrainingOnGpu, GradientsOfWeightsAgree) {
  int turn = 0;
  for (const ConvCase& c : convolution_cases()) {
    if (c.op != "Conv") continue;
    for (const bool last : {false, true}) {
      if (last && (c.input.size() != 4 || turn % 2 != 0)) continue;  // each shape's copy is compiled
      if (last && c.input[1] != c.weights[1]) continue;              // groups, which are refused
      const DType dtype = kFloats[turn++ % 3];
      SCOPED_TRACE(fmt::format("{} {} {}", text(c), last, dtype_name(dtype)));
      compare(
          [&](GraphBuilder& b) -> Values {
            Attributes attributes = c.attributes;
            attributes.set("kernel_shape", Ints(c.weights.begin() + 2, c.weights.end()));
            attributes.set("group", c.input[1] / c.weights[1]);
            return {b.add(
                "hone.ConvWeightGradient",
                {overwritable(b, "x", dtype, c.input, last), overwritable(b, "g", dtype, result_of(c), last)},
                attributes)};
          },
          tolerance_of(dtype));
    }
  }
}

// Weights of a step are computed: they are brought into the layout of the images in each run.
TEST_P(TrainingOnGpu, ConvolutionsByComputedWeightsAgree) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    for (const bool last : {false, true}) {
      compare([&](GraphBuilder& b) -> Values {
        const ValueId x = overwritable(b, "x", DType::kF32, {2, 6, 9, 8}, last);
        const ValueId y = b.add(op, {x, f32_input(b, "w", {6, 6, 3, 2})},
                                {{"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 0}}});
        return plain_outputs(b, {y}, last);
      });
    }
  }
}

// --- losses ---

TEST_P(TrainingOnGpu, LossesOfClassificationAgree) {
  int turn = 0;
  for (const Shape& shape : {Shape{7, 10}, Shape{3, 1000}, Shape{5, 1003}, Shape{2, 20000}, Shape{2, 5, 9, 7},
                             Shape{5, 259}, Shape{3, 40, 300}}) {
    Shape targets = shape;
    targets.erase(targets.begin() + 1);
    for (const char* reduction : {"mean", "sum", "none"}) {
      for (const int form : {0, 1, 2}) {  // plain; some ignored and a result more; weighted likelihood
        CompareOptions wanted = options(1e-5);
        wanted.int_low = form == 1 ? -1 : 0;
        wanted.int_high = shape[1] - 1;
        const DType dtype = form == 2 ? DType::kF32 : kFloats[turn++ % 3];
        if (dtype != DType::kF32) wanted.tolerance = tolerance_of(dtype);
        SCOPED_TRACE(fmt::format("{} {} {} {}", shape_text(shape), reduction, form, dtype_name(dtype)));
        compare_all_kernels(
            [&](GraphBuilder& b) -> Values {
              Attributes attributes{{"reduction", std::string(reduction)}};
              if (form == 1) attributes.set("ignore_index", int64_t{-1});
              Values inputs = {input_of(b, "x", dtype, shape), input_of(b, "t", DType::kI64, targets)};
              if (form == 2) inputs.push_back(f32_constant(b, {shape[1]}));
              const char* op = form == 2       ? "NegativeLogLikelihoodLoss"
                               : turn % 2 == 0 ? "hone.SoftmaxCrossEntropyLoss"  // whose results are f32
                                               : "SoftmaxCrossEntropyLoss";
              if (form == 1) return b.add_many(op, inputs, 2, attributes);
              return {b.add(op, inputs, attributes)};
            },
            wanted);
      }
    }
  }
}

TEST_P(TrainingOnGpu, GradientsOfLossesAgree) {
  int turn = 0;
  for (const Shape& shape :
       {Shape{7, 10}, Shape{3, 1000}, Shape{5, 1003}, Shape{2, 20000}, Shape{2, 5, 9, 7}, Shape{5, 259}}) {
    Shape one_each = shape;
    one_each[1] = 1;
    CompareOptions wanted = options(1e-5);
    wanted.int_low = 0;
    wanted.int_high = shape[1] - 1;
    const DType dtype = kFloats[turn++ % 3];
    if (dtype != DType::kF32) wanted.tolerance = tolerance_of(dtype);
    SCOPED_TRACE(fmt::format("{} {}", shape_text(shape), dtype_name(dtype)));
    compare_all_kernels(
        [&](GraphBuilder& b) -> Values {
          return {b.add("hone.CrossEntropyGradient",
                        {overwritable(b, "x", dtype, shape), input_of(b, "t", DType::kI64, one_each),
                         input_of(b, "f", turn % 2 == 0 ? dtype : DType::kF32, one_each)})};
        },
        wanted);
  }
}

TEST_P(TrainingOnGpu, SaysThatATargetIsNoClass) {
  const graph::Graph graph = make_graph([](GraphBuilder& b) -> Values {
    return {
        b.add("SoftmaxCrossEntropyLoss", {f32_input(b, "x", {6, 10}), input_of(b, "t", DType::kI64, {6})})};
  });
  auto plan = runtime::Plan::compile(graph, *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::vector<Tensor> inputs = {random_floats({6, 10}, 1),
                                Tensor::i64({6}, std::vector<int64_t>{0, 9, 3, 3, 1, 2})};
  EXPECT_TRUE((*plan)->run(inputs).ok());
  inputs[1].as<int64_t>()[4] = 10;
  const auto failed = (*plan)->run(inputs);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("a target is not one of 10 classes"));
}

// --- scatters ---

// The gradient of a gather adds to zeros, and in place; other scatters: scatter_on_gpu_test.cpp.
TEST_P(TrainingOnGpu, ScattersThatAddAgree) {
  for (const DType dtype : kFloats) {
    for (const bool zeros : {false, true}) {
      CompareOptions wanted = options(dtype == DType::kF32 ? 4e-6 : 2 * tolerance_of(dtype));
      wanted.int_low = 0;
      wanted.int_high = 49;
      SCOPED_TRACE(fmt::format("{} {}", dtype_name(dtype), zeros));
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            const ValueId data = zeros ? b.constant("zeros", Tensor::zeros(dtype, {50, 33}))
                                       : overwritable(b, "d", dtype, {50, 33});
            return {
                b.add("ScatterND",
                      {data, input_of(b, "i", DType::kI64, {7, 11, 1}), input_of(b, "u", dtype, {7, 11, 33})},
                      {{"reduction", "add"}})};
          },
          wanted);
    }
  }
}

// --- random numbers ---

TEST_P(TrainingOnGpu, RandomNumbersAreThoseOfTheStream) {
  for (const DType dtype : kFloats) {
    for (const int form : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("{} {}", dtype_name(dtype), form));
      CompareOptions wanted = options(tolerance_of(dtype));
      wanted.int_low = wanted.int_high = 123456789012345;
      wanted.low = 0;
      compare_all_kernels(
          [&](GraphBuilder& b) -> Values {
            const ValueId x = overwritable(b, "x", dtype, {3, 517});
            const ValueId seed = input_of(b, "seed", DType::kI64, {}),
                          place = b.constant("place", Tensor::scalar_i64(77));
            const int64_t dtype_number = dtype == DType::kF32 ? 1 : dtype == DType::kF16 ? 10 : 16;
            if (form == 0) return b.add_many("hone.Dropout", {x, seed, place, scalar(b, 0.3F)}, 2);
            if (form == 1) return {b.add("hone.Bernoulli", {b.add("Neg", {x}), seed, place})};
            return {
                b.add("hone.RandomUniform", {seed, place},
                      {{"shape", Ints{5, 111}}, {"low", -2.0F}, {"high", 3.0F}, {"dtype", dtype_number}})};
          },
          wanted);
    }
  }
}

TEST_P(TrainingOnGpu, NormalNumbersAreThoseOfTheStream) {
  for (const DType dtype : kFloats) {
    SCOPED_TRACE(dtype_name(dtype));
    CompareOptions wanted = options(tolerance_of(dtype));
    wanted.int_low = wanted.int_high = 123456789012345;
    compare_all_kernels(
        [&](GraphBuilder& b) -> Values {
          const ValueId seed = input_of(b, "seed", DType::kI64, {}),
                        place = b.constant("place", Tensor::scalar_i64(77));
          const int64_t dtype_number = dtype == DType::kF32 ? 1 : dtype == DType::kF16 ? 10 : 16;
          return {
              b.add("hone.RandomNormal", {seed, place},
                    {{"shape", Ints{5, 1111}}, {"mean", -2.0F}, {"scale", 3.0F}, {"dtype", dtype_number}})};
        },
        wanted);
  }
}

// More classes than threads and fewer; weights of nothing but negative infinity are the last class.
TEST_P(TrainingOnGpu, ClassesAreDrawnByTheNumbersOfTheStream) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    for (const auto& [classes, samples] : {std::pair{3, 700}, {1, 5}, {1000, 40}, {256, 3}}) {
      SCOPED_TRACE(fmt::format("{} of {} {}", samples, classes, dtype_name(dtype)));
      CompareOptions wanted = options(0);
      wanted.inputs = {random_floats_of(dtype, {4, classes}, 5, -4, 4)};
      if (dtype == DType::kF32)
        for (int i = 0; i < classes; ++i)
          wanted.inputs[0].as<float>()[static_cast<std::size_t>(i)] = -INFINITY;
      wanted.int_low = wanted.int_high = 987654321;
      compare_all_kernels(
          [&, classes = classes, samples = samples](GraphBuilder& b) -> Values {
            return {
                b.add("hone.Multinomial",
                      {input_of(b, "x", dtype, {4, classes}), input_of(b, "seed", DType::kI64, {}),
                       b.constant("place", Tensor::scalar_i64(5))},
                      {{"sample_size", int64_t{samples}}, {"dtype", int64_t{dtype == DType::kF16 ? 7 : 6}}})};
          },
          wanted);
    }
  }
}

}  // namespace
}  // namespace hone::backends
