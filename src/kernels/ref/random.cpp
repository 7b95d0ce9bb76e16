// Random numbers and Dropout. Element i of an output is made from number offset + i of the Philox stream
// (core/philox.h) of a seed. hone's own operators have both as inputs; of ONNX's the offset is 0, and the
// seed is the bit pattern of the `seed` attribute as a 64-bit float. Without the attribute there are no
// numbers: who runs the graph draws a seed and says which (graph/random_seeds.h).
#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/core.h>

#include "core/philox.h"
#include "kernels/ref/elements.h"

namespace hone::kernels::ref {
namespace {

using Outputs = Result<std::vector<Tensor>>;

// The numbers of a node.
class RandomNumbers {
 public:
  RandomNumbers(uint64_t seed, uint64_t offset) : philox_(seed), offset_(offset) {}
  double uniform(uint64_t i) const { return philox_.uniform(offset_ + i); }
  double normal(uint64_t i) const { return philox_.normal(offset_ + i); }

 private:
  Philox philox_;
  uint64_t offset_;
};

constexpr int kFromAttribute = -1;

// `stream`: the input that is the seed, with the offset behind it; or kFromAttribute.
Result<RandomNumbers> numbers_of(const RefCall& call, int stream) {
  if (stream != kFromAttribute) {
    const auto seed = static_cast<std::size_t>(stream);
    for (const std::size_t i : {seed, seed + 1})
      if (!call.has(i) || call.inputs[i].size() != 1)
        return bad_call(call, "seed and offset must be scalars");
    return RandomNumbers(static_cast<uint64_t>(call.inputs[seed].int_at(0)),
                         static_cast<uint64_t>(call.inputs[seed + 1].int_at(0)));
  }
  const Attribute* seed = call.attributes.find("seed");
  const auto of_number = [](double number) { return RandomNumbers(std::bit_cast<uint64_t>(number), 0); };
  if (seed != nullptr) {
    if (const auto* real = std::get_if<float>(seed)) return of_number(double{*real});
    if (const auto* whole = std::get_if<int64_t>(seed)) return of_number(static_cast<double>(*whole));
  }
  return bad_call(call, "has no seed; give it one, or let who runs the model draw one");
}

template <typename Draw>
Outputs fill(const RefCall& call, DType dtype, Shape shape, Draw draw) {
  if (!is_float(dtype)) return unsupported(fmt::format("{} of {}", call.op, dtype_name(dtype)));
  HONE_CHECK(make_tensor(call, dtype, shape));  // the shape is sane and fits
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = draw(i);
  return one(narrow(dtype, std::move(shape), values));
}

Outputs normal(const RefCall& call, DType dtype, Shape shape, int stream) {
  const double mean = call.attributes.real("mean", 0.0F);
  const double scale = call.attributes.real("scale", 1.0F);
  HONE_ASSIGN(const RandomNumbers random, numbers_of(call, stream));
  return fill(call, dtype, std::move(shape), [&](uint64_t i) { return mean + scale * random.normal(i); });
}

Outputs uniform(const RefCall& call, DType dtype, Shape shape, int stream) {
  const double low = call.attributes.real("low", 0.0F);
  const double high = call.attributes.real("high", 1.0F);
  HONE_ASSIGN(const RandomNumbers random, numbers_of(call, stream));
  return fill(call, dtype, std::move(shape),
              [&](uint64_t i) { return low + (high - low) * random.uniform(i); });
}

template <auto distribution>
Outputs of_shape(const RefCall& call) {
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "dtype", DType::kF32));
  return distribution(call, dtype, call.attributes.ints("shape"), kFromAttribute);
}

template <auto distribution>
Outputs like_input(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "dtype", call.inputs[0].dtype()));
  return distribution(call, dtype, call.inputs[0].shape(), kFromAttribute);
}

// Seed, offset and, where no attribute gives the shape, a tensor of that shape.
template <auto distribution>
Outputs of_stream(const RefCall& call) {
  const bool like = call.has(2);
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "dtype", like ? call.inputs[2].dtype() : DType::kF32));
  return distribution(call, dtype, like ? call.inputs[2].shape() : call.attributes.ints("shape"), 0);
}

template <int stream>
Outputs bernoulli(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "dtype", x.dtype()));
  HONE_CHECK(expect_real(call, dtype));
  HONE_ASSIGN(const RandomNumbers random, numbers_of(call, stream));
  const auto probabilities = widen<double>(x);
  std::vector<double> values(probabilities.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i) < probabilities[i] ? 1 : 0;
  return one(narrow(dtype, x.shape(), values));
}

// The class whose interval of the cumulative probabilities holds `point` (in [0, 1)).
int64_t draw_class(std::span<const double> log_weights, double point) {
  const double largest = *std::max_element(log_weights.begin(), log_weights.end());
  double total = 0;
  for (double w : log_weights) total += std::exp(w - largest);
  double remaining = point * total;
  for (std::size_t i = 0; i < log_weights.size(); ++i) {
    remaining -= std::exp(log_weights[i] - largest);
    if (remaining < 0) return static_cast<int64_t>(i);
  }
  return static_cast<int64_t>(log_weights.size()) - 1;
}

template <int stream>
Outputs multinomial(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "dtype", DType::kI32));
  if (dtype != DType::kI32 && dtype != DType::kI64) return bad_call(call, "dtype must be i32 or i64");
  if (x.rank() != 2 || x.shape()[1] == 0) return bad_call(call, "the input must be [batch, classes]");
  const int64_t samples = call.attributes.integer("sample_size", 1);
  Shape shape = {x.shape()[0], samples};
  HONE_CHECK(make_tensor(call, dtype, shape));
  HONE_ASSIGN(const RandomNumbers random, numbers_of(call, stream));
  const auto weights = widen<double>(x);
  const auto classes = static_cast<std::size_t>(x.shape()[1]);
  std::vector<int64_t> drawn;
  for (int64_t row = 0; row < shape[0]; ++row) {
    const std::span<const double> row_weights(&weights[static_cast<std::size_t>(row) * classes], classes);
    for (int64_t s = 0; s < samples; ++s) {
      drawn.push_back(draw_class(row_weights, random.uniform(static_cast<uint64_t>(row * samples + s))));
    }
  }
  return one(narrow(dtype, std::move(shape), drawn));
}

// ONNX's trains only where its third input says so; hone's own is there for training.
template <int stream>
Outputs dropout(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 1));
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_real(call, x.dtype()));
  constexpr bool kOwn = stream != kFromAttribute;
  constexpr std::size_t kRatio = kOwn ? stream + 2 : 1;
  const bool given_ratio = call.has(kRatio) && call.inputs[kRatio].size() == 1;
  const double ratio = given_ratio ? call.inputs[kRatio].at(0) : 0.5;
  const bool told = call.has(kRatio + 1) && call.inputs[kRatio + 1].size() == 1;
  const bool training = told ? call.inputs[kRatio + 1].int_at(0) != 0 : kOwn;
  if (!(ratio >= 0 && ratio <= 1)) return bad_call(call, fmt::format("ratio {} is outside [0, 1]", ratio));
  auto values = widen<double>(x);
  std::vector<uint64_t> mask(values.size(), 1);
  std::vector<Tensor> outputs;
  if (training && ratio > 0) {
    HONE_ASSIGN(const RandomNumbers random, numbers_of(call, stream));
    for (std::size_t i = 0; i < values.size(); ++i) {
      mask[i] = random.uniform(i) >= ratio ? 1 : 0;
      values[i] = mask[i] != 0 ? values[i] / (1 - ratio) : 0;
    }
    outputs.push_back(narrow(x.dtype(), x.shape(), values));
  } else {
    outputs.push_back(x);
  }
  if (call.output_count > 1) outputs.push_back(narrow(DType::kBool, x.shape(), mask));
  return outputs;
}

}  // namespace

void add_random_kernels(RefTable& table) {
  table.add("RandomNormal", of_shape<normal>);
  table.add("RandomUniform", of_shape<uniform>);
  table.add("RandomNormalLike", like_input<normal>);
  table.add("RandomUniformLike", like_input<uniform>);
  table.add("Bernoulli", bernoulli<kFromAttribute>);
  table.add("Multinomial", multinomial<kFromAttribute>);
  table.add("Dropout", dropout<kFromAttribute>);
  table.add("hone.RandomNormal", of_stream<normal>);
  table.add("hone.RandomUniform", of_stream<uniform>);
  table.add("hone.Bernoulli", bernoulli<1>);
  table.add("hone.Multinomial", multinomial<1>);
  table.add("hone.Dropout", dropout<1>);
}

}  // namespace hone::kernels::ref
