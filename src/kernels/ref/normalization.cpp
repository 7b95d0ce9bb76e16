// Normalizations: over the batch, instances, groups, layers, and by norms. Mean and variance in double.
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/core.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

constexpr int64_t kElementsOfAThread = 1 << 15;  // what is worth one

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population: divided by the count
};

Moments moments(std::span<const double> values) {
  Moments m;
  const auto count = static_cast<double>(values.size());
  for (double value : values) m.mean += value;
  m.mean /= count;
  for (double value : values) m.variance += (value - m.mean) * (value - m.mean);
  m.variance /= count;
  return m;
}

Status expect_channels(const RefCall& call, std::size_t first, std::size_t last) {
  const Tensor& x = call.inputs[0];
  if (x.rank() < 1) return invalid("a scalar has no channels");
  const int64_t channels = x.rank() > 1 ? x.shape()[1] : 1;
  for (std::size_t i = first; i < last; ++i) {
    HONE_CHECK(expect_shape(call.inputs[i], {channels}, fmt::format("input {}", i)));
  }
  return {};
}

// Batch statistics of one channel of [batch, channels, plane].
Moments channel_moments(const Wide& x, int64_t batch, int64_t channels, int64_t plane, int64_t channel) {
  Wide values;
  for (int64_t n = 0; n < batch; ++n) {
    const auto first = x.begin() + (n * channels + channel) * plane;
    values.insert(values.end(), first, first + plane);
  }
  return moments(values);
}

Result<std::vector<Tensor>> batch_normalization(const RefCall& call) {
  HONE_CHECK(expect_channels(call, 1, 5));
  const Tensor& tensor = call.inputs[0];
  const bool relu = call.op == "hone.BatchNormalizationRelu";
  const bool training = relu || call.attributes.integer("training_mode", 0) != 0;
  const double epsilon = call.attributes.real("epsilon", 1e-5F);
  const double momentum = call.attributes.real("momentum", 0.9F);
  const int64_t batch = tensor.shape()[0];
  const int64_t channels = tensor.rank() > 1 ? tensor.shape()[1] : 1;
  const int64_t plane = tensor.rank() > 1 ? extent_product(tensor.shape(), 2, tensor.shape().size()) : 1;
  Wide x = widen(tensor);
  const Wide scale = widen(call.inputs[1]), bias = widen(call.inputs[2]);
  Wide mean = widen(call.inputs[3]), variance = widen(call.inputs[4]);
  const auto normalise = [&](int64_t c) {
    const auto i = static_cast<std::size_t>(c);
    Moments used{mean[i], variance[i]};
    if (training) {
      used = channel_moments(x, batch, channels, plane, c);
      mean[i] = mean[i] * momentum + used.mean * (1 - momentum);
      variance[i] = variance[i] * momentum + used.variance * (1 - momentum);
    }
    const double factor = scale[i] / std::sqrt(used.variance + epsilon);
    for (int64_t n = 0; n < batch; ++n) {
      double* row = x.data() + (n * channels + c) * plane;
      for (int64_t k = 0; k < plane; ++k) {
        row[k] = (row[k] - used.mean) * factor + bias[i];
        if (relu && row[k] < 0) row[k] = 0;
      }
    }
  };
  parallel_for(channels, kElementsOfAThread / std::max<int64_t>(1, batch * plane) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t c = begin; c < end; ++c) normalise(c);
               });
  std::vector<Tensor> outputs{rounded(tensor.dtype(), tensor.shape(), std::move(x))};
  if (call.output_count > 1) outputs.push_back(rounded(call.inputs[3].dtype(), {channels}, mean));
  if (call.output_count > 2) outputs.push_back(rounded(call.inputs[4].dtype(), {channels}, variance));
  return outputs;
}

// InstanceNormalization is GroupNormalization with one channel a group.
Result<std::vector<Tensor>> group_normalization(const RefCall& call) {
  const Tensor& tensor = call.inputs[0];
  if (tensor.rank() < 2)
    return invalid(fmt::format("an input of shape {} has no channels", shape_text(tensor.shape())));
  HONE_CHECK(expect_channels(call, 1, 3));
  const int64_t channels = tensor.shape()[1];
  const int64_t groups =
      call.op == "InstanceNormalization" ? channels : call.attributes.integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0) {
    return invalid(fmt::format("{} channels do not divide into {} groups", channels, groups));
  }
  const double epsilon = call.attributes.real("epsilon", 1e-5F);
  const int64_t plane = extent_product(tensor.shape(), 2, tensor.shape().size());
  const int64_t size = channels / groups * plane;
  Wide x = widen(tensor);
  const Wide scale = widen(call.inputs[1]), bias = widen(call.inputs[2]);
  for (int64_t first = 0; first < tensor.size(); first += size) {
    const std::span<double> group(x.data() + first, static_cast<std::size_t>(size));
    const Moments m = moments(group);
    for (int64_t k = 0; k < size; ++k) {
      const auto channel = static_cast<std::size_t>((first + k) / plane % channels);
      double& value = group[static_cast<std::size_t>(k)];
      value = (value - m.mean) / std::sqrt(m.variance + epsilon) * scale[channel] + bias[channel];
    }
  }
  return one(rounded(tensor.dtype(), tensor.shape(), std::move(x)));
}

// `parameter` broadcast to `shape`, as doubles; ones where it is absent are the caller's business.
Result<Wide> broadcast_parameter(const Tensor& parameter, const Shape& shape, std::string_view name) {
  const auto target = broadcast_shapes(parameter.shape(), shape);
  if (!target.ok() || *target != shape) {
    return invalid(fmt::format("{} of shape {} does not broadcast to {}", name, shape_text(parameter.shape()),
                               shape_text(shape)));
  }
  const Wide values = widen(parameter);
  Wide out;
  for (int64_t offset : broadcast_offsets(parameter.shape(), shape)) {
    out.push_back(values[static_cast<std::size_t>(offset)]);
  }
  return out;
}

Result<std::vector<Tensor>> layer_normalization(const RefCall& call) {
  const Tensor& tensor = call.inputs[0];
  const bool rms = call.op == "RMSNormalization";
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -1, tensor.rank()));
  const double epsilon = call.attributes.real("epsilon", 1e-5F);
  const Shape& shape = tensor.shape();
  const int64_t size = extent_product(shape, static_cast<std::size_t>(axis), shape.size());
  const int64_t rows = extent_product(shape, 0, static_cast<std::size_t>(axis));
  HONE_ASSIGN(const Wide scale, broadcast_parameter(call.inputs[1], shape, "the scale"));
  Wide bias;
  if (call.has(2)) {
    HONE_ASSIGN(bias, broadcast_parameter(call.inputs[2], shape, "the bias"));
  }
  Wide x = widen(tensor);
  Wide means(static_cast<std::size_t>(rows)), inverse_deviations(means.size());
  const auto normalise = [&](int64_t row) {
    const std::span<double> values(x.data() + row * size, static_cast<std::size_t>(size));
    Moments m = moments(values);
    if (rms) m = {0, m.variance + m.mean * m.mean};  // the mean square
    const double inverse = 1 / std::sqrt(m.variance + epsilon);
    means[static_cast<std::size_t>(row)] = m.mean;
    inverse_deviations[static_cast<std::size_t>(row)] = inverse;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::size_t at = static_cast<std::size_t>(row * size) + k;
      values[k] = (values[k] - m.mean) * inverse * scale[at] + (bias.empty() ? 0 : bias[at]);
    }
  };
  parallel_for(rows, kElementsOfAThread / std::max<int64_t>(1, size) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t row = begin; row < end; ++row) normalise(row);
               });
  std::vector<Tensor> outputs{rounded(rms ? call.inputs[1].dtype() : tensor.dtype(), shape, std::move(x))};
  Shape statistics = shape;
  for (std::size_t i = static_cast<std::size_t>(axis); i < statistics.size(); ++i) statistics[i] = 1;
  HONE_ASSIGN(const DType stash, dtype_attribute(call, "stash_type", DType::kF32));
  if (call.output_count > 1) outputs.push_back(rounded(stash, statistics, means));
  if (call.output_count > 2) outputs.push_back(rounded(stash, statistics, inverse_deviations));
  return outputs;
}

Result<std::vector<Tensor>> lp_normalization(const RefCall& call) {
  const Tensor& tensor = call.inputs[0];
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -1, tensor.rank()));
  const int64_t p = call.attributes.integer("p", 2);
  if (p != 1 && p != 2) return invalid(fmt::format("p is {}; only the norms 1 and 2 exist", p));
  const AxisView view = around_axis(tensor.shape(), axis);
  Wide x = widen(tensor);
  for (int64_t outer = 0; outer < view.outer; ++outer) {
    for (int64_t inner = 0; inner < view.inner; ++inner) {
      double* line = x.data() + outer * view.extent * view.inner + inner;
      double norm = 0;
      for (int64_t i = 0; i < view.extent; ++i) {
        const double value = line[i * view.inner];
        norm += p == 1 ? std::abs(value) : value * value;
      }
      if (p == 2) norm = std::sqrt(norm);
      for (int64_t i = 0; i < view.extent; ++i)
        line[i * view.inner] = norm == 0 ? 0 : line[i * view.inner] / norm;
    }
  }
  return one(rounded(tensor.dtype(), tensor.shape(), std::move(x)));
}

// (x - mean) / (deviation + 1e-9) over `axes`; the constant is ONNX's.
Result<std::vector<Tensor>> mean_variance_normalization(const RefCall& call) {
  const Tensor& tensor = call.inputs[0];
  std::vector<bool> reduced(tensor.shape().size(), false);
  for (int64_t named : call.attributes.ints("axes", {0, 2, 3})) {
    HONE_ASSIGN(const int64_t axis, normalize_axis(named, tensor.rank()));
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  Shape kept = tensor.shape();
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = reduced[i] ? 1 : kept[i];
  // Which statistics each element has.
  const std::vector<int64_t> group = broadcast_offsets(kept, tensor.shape());
  std::vector<Wide> members(static_cast<std::size_t>(element_count(kept)));
  Wide x = widen(tensor);
  for (std::size_t i = 0; i < x.size(); ++i) members[static_cast<std::size_t>(group[i])].push_back(x[i]);
  std::vector<Moments> statistics;
  for (const Wide& values : members) statistics.push_back(moments(values));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Moments& m = statistics[static_cast<std::size_t>(group[i])];
    x[i] = (x[i] - m.mean) / (std::sqrt(m.variance) + 1e-9);
  }
  return one(rounded(tensor.dtype(), tensor.shape(), std::move(x)));
}

// dx, dscale and dbias of one set of elements that were normalized together. `scale` and the sums are of each element.
void normalized_gradient(const Wide& g, const Wide& x, const std::vector<std::size_t>& elements,
                         double epsilon, const std::function<std::size_t(std::size_t)>& parameter,
                         const Wide& scale, Wide& dx, Wide& dscale, Wide& dbias) {
  Wide values;
  for (const std::size_t i : elements) values.push_back(x[i]);
  const Moments m = moments(values);
  const double inverse = 1 / std::sqrt(m.variance + epsilon);
  const auto count = static_cast<double>(elements.size());
  double mean_h = 0, mean_hx = 0;
  for (const std::size_t i : elements) {
    const double normal = (x[i] - m.mean) * inverse, h = g[i] * scale[parameter(i)];
    mean_h += h / count;
    mean_hx += h * normal / count;
    dscale[parameter(i)] += g[i] * normal;
    dbias[parameter(i)] += g[i];
  }
  for (const std::size_t i : elements)
    dx[i] = inverse * (g[i] * scale[parameter(i)] - mean_h - (x[i] - m.mean) * inverse * mean_hx);
}

Result<std::vector<Tensor>> batch_normalization_gradient(const RefCall& call) {
  const Tensor& tensor = call.inputs[1];
  if (tensor.rank() < 1 || tensor.size() == 0) return invalid("no elements to take statistics of");
  const int64_t channels = tensor.rank() > 1 ? tensor.shape()[1] : 1;
  const int64_t plane = tensor.rank() > 1 ? extent_product(tensor.shape(), 2, tensor.shape().size()) : 1;
  HONE_CHECK(expect_shape(call.inputs[0], tensor.shape(), "g"));
  HONE_CHECK(expect_shape(call.inputs[2], {channels}, "the scale"));
  Wide g = widen(call.inputs[0]);
  if (call.has(3)) {
    HONE_CHECK(expect_shape(call.inputs[3], tensor.shape(), "y"));
    const Wide y = widen(call.inputs[3]);
    for (std::size_t i = 0; i < g.size(); ++i) g[i] = y[i] > 0 ? g[i] : 0;
  }
  const Wide x = widen(tensor), scale = widen(call.inputs[2]);
  Wide dx(x.size()), dscale(scale.size()), dbias(scale.size());
  const auto channel_of = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<int64_t>(i) / plane % channels);
  };
  std::vector<std::vector<std::size_t>> members(scale.size());
  for (std::size_t i = 0; i < x.size(); ++i) members[channel_of(i)].push_back(i);
  for (const auto& elements : members)
    normalized_gradient(g, x, elements, call.attributes.real("epsilon", 1e-5F), channel_of, scale, dx, dscale,
                        dbias);
  const DType parameters = call.inputs[2].dtype();
  return std::vector<Tensor>{rounded(tensor.dtype(), tensor.shape(), dx),
                             rounded(parameters, {channels}, dscale), rounded(parameters, {channels}, dbias)};
}

Result<std::vector<Tensor>> layer_normalization_gradient(const RefCall& call) {
  const Tensor& tensor = call.inputs[1];
  HONE_ASSIGN(const int64_t axis, axis_attribute(call, "axis", -1, tensor.rank()));
  const Shape& shape = tensor.shape();
  const Shape own(shape.begin() + axis, shape.end());
  HONE_CHECK(expect_shape(call.inputs[0], shape, "g"));
  HONE_CHECK(expect_shape(call.inputs[2], own, "the scale"));
  const auto length = static_cast<std::size_t>(element_count(own));
  const Wide g = widen(call.inputs[0]), x = widen(tensor), scale = widen(call.inputs[2]);
  Wide dx(x.size()), dscale(scale.size()), dbias(scale.size());
  for (std::size_t first = 0; first < x.size(); first += length) {
    std::vector<std::size_t> row(length);
    std::iota(row.begin(), row.end(), first);
    normalized_gradient(
        g, x, row, call.attributes.real("epsilon", 1e-5F), [&](std::size_t i) { return i - first; }, scale,
        dx, dscale, dbias);
  }
  const DType parameters = call.inputs[2].dtype();
  return std::vector<Tensor>{rounded(tensor.dtype(), shape, dx), rounded(parameters, own, dscale),
                             rounded(parameters, own, dbias)};
}

}  // namespace

void add_normalization_kernels(RefTable& table) {
  table.add("BatchNormalization", batch_normalization);
  table.add("hone.BatchNormalizationRelu", batch_normalization);
  table.add("InstanceNormalization", group_normalization);
  table.add("GroupNormalization", group_normalization);
  table.add("LayerNormalization", layer_normalization);
  table.add("hone.BatchNormalizationGradient", batch_normalization_gradient);
  table.add("hone.LayerNormalizationGradient", layer_normalization_gradient);
  table.add("RMSNormalization", layer_normalization);
  table.add("LpNormalization", lp_normalization);
  table.add("MeanVarianceNormalization", mean_variance_normalization);
}

}  // namespace hone::kernels::ref
