// Pooling over windows and whole planes, its inverse MaxUnpool, MaxRoiPool, and LRN.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "core/window.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

struct PoolShape {
  WindowSpec windows;
  Shape kernel, in, out;  // spatial extents
  Shape output;
  int64_t planes = 0;  // batch times channels
};

Result<PoolShape> plan_pool(const RefCall& call, const Shape& x) {
  if (x.size() < 3) return invalid(fmt::format("an input of shape {} has no spatial axes", shape_text(x)));
  PoolShape plan;
  HONE_ASSIGN(plan.windows, read_windows(call.attributes, {}));
  plan.in.assign(x.begin() + 2, x.end());
  HONE_ASSIGN(plan.out, place_windows(plan.windows, plan.in));
  for (const Window& window : plan.windows.axes) plan.kernel.push_back(window.kernel);
  plan.output = {x[0], x[1]};
  plan.output.insert(plan.output.end(), plan.out.begin(), plan.out.end());
  HONE_CHECK(checked_element_count(plan.output));
  plan.planes = x[0] * x[1];
  return plan;
}

// What lies under the window at output position `place`: offsets into the input plane, in row-major order of
// the taps, and how many taps lie inside the input or its declared padding.
struct Taps {
  std::vector<int64_t> offsets;
  int64_t in_padded = 0;
};

void collect_taps(const PoolShape& plan, const std::vector<int64_t>& place, Taps& taps) {
  taps.offsets.clear();
  taps.in_padded = 0;
  std::vector<int64_t> tap(plan.kernel.size(), 0);
  do {
    int64_t offset = 0;
    bool inside = true;
    bool padded = true;
    for (std::size_t axis = 0; axis < tap.size(); ++axis) {
      const Window& window = plan.windows.axes[axis];
      const int64_t at = place[axis] * window.stride + tap[axis] * window.dilation - window.pad_begin;
      inside = inside && at >= 0 && at < plan.in[axis];
      padded = padded && at < plan.in[axis] + window.pad_end;
      offset = offset * plan.in[axis] + at;
    }
    if (inside) taps.offsets.push_back(offset);
    if (padded) ++taps.in_padded;
  } while (next_index(tap, plan.kernel));
}

// Calls `reduce(plane, taps, index of the output element)` for every output element, plane by plane.
template <typename Reduce>
void for_each_window(const PoolShape& plan, Reduce reduce) {
  const int64_t outputs = element_count(plan.out);
  if (outputs == 0) return;
  Taps taps;
  std::vector<int64_t> place(plan.out.size(), 0);
  int64_t at = 0;
  do {
    collect_taps(plan, place, taps);
    for (int64_t plane = 0; plane < plan.planes; ++plane) reduce(plane, taps, plane * outputs + at);
    ++at;
  } while (next_index(place, plan.out));
}

// The offset of a spatial position counted with the first axis fastest (storage_order 1).
int64_t column_major(int64_t offset, const Shape& shape) {
  int64_t result = 0;
  std::vector<int64_t> position(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; offset /= shape[axis])
    position[axis] = offset % shape[axis];
  for (std::size_t axis = shape.size(); axis-- > 0;) result = result * shape[axis] + position[axis];
  return result;
}

// For a maximum, NaN is larger than every number.
bool is_larger(double value, double best) { return value > best || (std::isnan(value) && !std::isnan(best)); }

Result<std::vector<Tensor>> max_pool(const RefCall& call) {
  HONE_ASSIGN(const PoolShape plan, plan_pool(call, call.inputs[0].shape()));
  const Tensor& x = call.inputs[0];
  const bool by_column = call.attributes.integer("storage_order", 0) != 0;
  const Wide in = widen(x);
  const int64_t size = element_count(plan.in);
  Wide y(static_cast<std::size_t>(element_count(plan.output)));
  std::vector<int64_t> indices(y.size());
  for_each_window(plan, [&](int64_t plane, const Taps& taps, int64_t at) {
    const double* from = in.data() + plane * size;
    double best = -std::numeric_limits<double>::infinity();
    int64_t best_at = -1;
    for (int64_t offset : taps.offsets) {
      if (best_at < 0 || is_larger(from[offset], best)) {
        best = from[offset];
        best_at = offset;
      }
    }
    y[static_cast<std::size_t>(at)] = best;
    if (best_at >= 0 && by_column) best_at = column_major(best_at, plan.in);
    indices[static_cast<std::size_t>(at)] = best_at < 0 ? -1 : plane * size + best_at;
  });
  std::vector<Tensor> outputs{rounded(x.dtype(), plan.output, y)};
  if (call.output_count > 1) outputs.push_back(Tensor::i64(plan.output, indices));
  return outputs;
}

Result<std::vector<Tensor>> average_pool(const RefCall& call) {
  HONE_ASSIGN(const PoolShape plan, plan_pool(call, call.inputs[0].shape()));
  const bool count_padding = call.attributes.integer("count_include_pad", 0) != 0;
  const Wide in = widen(call.inputs[0]);
  const int64_t size = element_count(plan.in);
  Wide y(static_cast<std::size_t>(element_count(plan.output)));
  for_each_window(plan, [&](int64_t plane, const Taps& taps, int64_t at) {
    double sum = 0;
    for (int64_t offset : taps.offsets) sum += in[static_cast<std::size_t>(plane * size + offset)];
    const auto count = count_padding ? taps.in_padded : static_cast<int64_t>(taps.offsets.size());
    y[static_cast<std::size_t>(at)] = count == 0 ? 0 : sum / static_cast<double>(count);
  });
  return one(rounded(call.inputs[0].dtype(), plan.output, std::move(y)));
}

// What flows into each output goes to the element that was taken: the first of equals, as max_pool has it.
Result<std::vector<Tensor>> max_pool_gradient(const RefCall& call) {
  const Tensor& x = call.inputs[1];
  HONE_ASSIGN(const PoolShape plan, plan_pool(call, x.shape()));
  HONE_CHECK(expect_shape(call.inputs[0], plan.output, "the gradient"));
  const Wide in = widen(x), g = widen(call.inputs[0]);
  const int64_t size = element_count(plan.in);
  Wide dx(in.size(), 0);
  for_each_window(plan, [&](int64_t plane, const Taps& taps, int64_t at) {
    const double* from = in.data() + plane * size;
    int64_t best_at = -1;
    for (int64_t offset : taps.offsets)
      if (best_at < 0 || is_larger(from[offset], from[best_at])) best_at = offset;
    if (best_at >= 0) dx[static_cast<std::size_t>(plane * size + best_at)] += g[static_cast<std::size_t>(at)];
  });
  return one(rounded(call.inputs[0].dtype(), x.shape(), std::move(dx)));
}

// Each element of a window gets an equal share.
Result<std::vector<Tensor>> average_pool_gradient(const RefCall& call) {
  const Shape x = call.inputs[1].to_ints();
  HONE_CHECK(make_tensor(call, call.inputs[0].dtype(), x));
  HONE_ASSIGN(const PoolShape plan, plan_pool(call, x));
  HONE_CHECK(expect_shape(call.inputs[0], plan.output, "the gradient"));
  const bool count_padding = call.attributes.integer("count_include_pad", 0) != 0;
  const Wide g = widen(call.inputs[0]);
  const int64_t size = element_count(plan.in);
  Wide dx(static_cast<std::size_t>(element_count(x)), 0);
  for_each_window(plan, [&](int64_t plane, const Taps& taps, int64_t at) {
    const auto count = count_padding ? taps.in_padded : static_cast<int64_t>(taps.offsets.size());
    if (count == 0) return;
    const double share = g[static_cast<std::size_t>(at)] / static_cast<double>(count);
    for (int64_t offset : taps.offsets) dx[static_cast<std::size_t>(plane * size + offset)] += share;
  });
  return one(rounded(call.inputs[0].dtype(), x, std::move(dx)));
}

double power_sum_root(double sum, double p) {
  return p == 1 ? sum : p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

Result<std::vector<Tensor>> lp_pool(const RefCall& call) {
  HONE_ASSIGN(const PoolShape plan, plan_pool(call, call.inputs[0].shape()));
  const auto p = static_cast<double>(call.attributes.integer("p", 2));
  Wide in = widen(call.inputs[0]);
  for (double& value : in) value = std::pow(std::abs(value), p);
  const int64_t size = element_count(plan.in);
  Wide y(static_cast<std::size_t>(element_count(plan.output)));
  for_each_window(plan, [&](int64_t plane, const Taps& taps, int64_t at) {
    double sum = 0;
    for (int64_t offset : taps.offsets) sum += in[static_cast<std::size_t>(plane * size + offset)];
    y[static_cast<std::size_t>(at)] = power_sum_root(sum, p);
  });
  return one(rounded(call.inputs[0].dtype(), plan.output, std::move(y)));
}

Result<std::vector<Tensor>> global_pool(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  if (x.rank() < 2)
    return invalid(fmt::format("an input of shape {} has no channels", shape_text(x.shape())));
  Shape output(x.shape().size(), 1);
  output[0] = x.shape()[0];
  output[1] = x.shape()[1];
  const int64_t planes = output[0] * output[1];
  const int64_t size = extent_product(x.shape(), 2, x.shape().size());
  if (size == 0 && call.op == "GlobalMaxPool") return invalid("the maximum over no elements does not exist");
  const auto p = static_cast<double>(call.attributes.integer("p", 2));
  const Wide in = widen(x);
  Wide y(static_cast<std::size_t>(planes));
  for (int64_t plane = 0; plane < planes; ++plane) {
    const std::span<const double> values(in.data() + plane * size, static_cast<std::size_t>(size));
    double& out = y[static_cast<std::size_t>(plane)];
    if (call.op == "GlobalMaxPool") {
      out =
          *std::max_element(values.begin(), values.end(), [](double a, double b) { return is_larger(b, a); });
    } else if (call.op == "GlobalAveragePool") {
      for (double value : values) out += value;
      out /= static_cast<double>(size);
    } else {
      for (double value : values) out += std::pow(std::abs(value), p);
      out = power_sum_root(out, p);
    }
  }
  return one(rounded(x.dtype(), output, std::move(y)));
}

// Indices count through a tensor of the inferred shape; a larger output_shape extends that at its ends.
Result<std::vector<Tensor>> max_unpool(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  HONE_CHECK(expect_shape(call.inputs[1], x.shape(), "I"));
  if (x.rank() < 3)
    return invalid(fmt::format("an input of shape {} has no spatial axes", shape_text(x.shape())));
  HONE_ASSIGN(WindowSpec windows, read_windows(call.attributes, {}));
  HONE_ASSIGN(const Shape spatial, place_transposed_windows(windows, {}, std::span(x.shape()).subspan(2)));
  Shape inferred{x.shape()[0], x.shape()[1]};
  inferred.insert(inferred.end(), spatial.begin(), spatial.end());
  const Shape output = call.has(2) ? call.inputs[2].to_ints() : inferred;
  if (output.size() != inferred.size()) {
    return invalid(fmt::format("output_shape {} does not have the input's rank", shape_text(output)));
  }
  HONE_ASSIGN(const int64_t total, checked_element_count(output));
  HONE_ASSIGN(const int64_t inferred_total, checked_element_count(inferred));
  std::vector<int64_t> source(static_cast<std::size_t>(total), -1);
  const std::vector<int64_t> indices = call.inputs[1].to_ints();
  const std::vector<int64_t> strides = row_major_strides(output);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    int64_t index = indices[i];
    if (index < 0 || index >= inferred_total)
      return invalid(fmt::format("index {} lies outside the output", index));
    int64_t at = 0;
    bool inside = true;
    for (std::size_t axis = inferred.size(); axis-- > 0; index /= inferred[axis]) {
      inside = inside && index % inferred[axis] < output[axis];
      at += index % inferred[axis] * strides[axis];
    }
    if (inside) source[static_cast<std::size_t>(at)] = static_cast<int64_t>(i);
  }
  return one(gather_elements(x, output, source));
}

// Max pooling of regions of interest with Fast R-CNN's rounding (arXiv:1504.08083).
Result<std::vector<Tensor>> max_roi_pool(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& rois = call.inputs[1];
  HONE_CHECK(expect_rank(x, 4, "X"));
  HONE_CHECK(expect_rank(rois, 2, "rois"));
  HONE_CHECK(expect_shape(rois, {rois.shape()[0], 5}, "rois"));
  const Ints pooled = call.attributes.ints("pooled_shape");
  if (pooled.size() != 2 || pooled[0] < 1 || pooled[1] < 1)
    return invalid("pooled_shape needs two positive numbers");
  const double scale = call.attributes.real("spatial_scale", 1);
  const int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  const Shape output{rois.shape()[0], channels, pooled[0], pooled[1]};
  HONE_ASSIGN(const int64_t total, checked_element_count(output));
  const Wide in = widen(x), boxes = widen(rois);
  Wide y(static_cast<std::size_t>(total), 0);
  // The range of pixels of bin `bin` of `bins` over [start, start + size), clipped to [0, limit).
  const auto range = [](int64_t bin, int64_t bins, double start, double size, int64_t limit) {
    const double step = size / static_cast<double>(bins);
    const double low = std::floor(static_cast<double>(bin) * step) + start;
    const double high = std::ceil(static_cast<double>(bin + 1) * step) + start;
    const auto clip = [limit](double v) {
      return static_cast<int64_t>(std::clamp(v, 0.0, static_cast<double>(limit)));
    };
    return std::pair{clip(low), clip(high)};
  };
  for (int64_t r = 0; r < output[0]; ++r) {
    const double* box = boxes.data() + r * 5;
    if (!(box[0] >= 0 && box[0] < static_cast<double>(x.shape()[0]))) {
      return invalid(fmt::format("region {} is in image {}, which does not exist", r, box[0]));
    }
    const auto image = static_cast<int64_t>(box[0]);
    const double left = std::round(box[1] * scale), top = std::round(box[2] * scale);
    const double wide = std::max(std::round(box[3] * scale) - left + 1, 1.0);
    const double high = std::max(std::round(box[4] * scale) - top + 1, 1.0);
    for (int64_t flat = 0; flat < channels * pooled[0] * pooled[1]; ++flat) {
      const int64_t channel = flat / (pooled[0] * pooled[1]);
      const auto [y0, y1] = range(flat / pooled[1] % pooled[0], pooled[0], top, high, height);
      const auto [x0, x1] = range(flat % pooled[1], pooled[1], left, wide, width);
      double best = y0 < y1 && x0 < x1 ? -std::numeric_limits<double>::infinity() : 0;
      for (int64_t row = y0; row < y1; ++row) {
        for (int64_t column = x0; column < x1; ++column) {
          const int64_t at = ((image * channels + channel) * height + row) * width + column;
          best = std::max(best, in[static_cast<std::size_t>(at)]);
        }
      }
      y[static_cast<std::size_t>(r * channels * pooled[0] * pooled[1] + flat)] = best;
    }
  }
  return one(rounded(x.dtype(), output, std::move(y)));
}

// Local response normalization across channels (Krizhevsky et al. 2012, section 3.3).
Result<std::vector<Tensor>> lrn(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  if (x.rank() < 2)
    return invalid(fmt::format("an input of shape {} has no channels", shape_text(x.shape())));
  const int64_t size = call.attributes.integer("size", 0);
  if (size < 1) return invalid("attribute size must be positive");
  const double alpha = call.attributes.real("alpha", 1e-4F);
  const double beta = call.attributes.real("beta", 0.75F);
  const double bias = call.attributes.real("bias", 1.0F);
  const int64_t channels = x.shape()[1];
  const int64_t plane = extent_product(x.shape(), 2, x.shape().size());
  const Wide in = widen(x);
  Wide y(in.size());
  for (int64_t flat = 0; flat < x.size(); ++flat) {
    const int64_t channel = flat / plane % channels;
    const int64_t first = std::max<int64_t>(0, channel - (size - 1) / 2);
    const int64_t last = std::min(channels - 1, channel + size / 2);
    double sum = 0;
    for (int64_t c = first; c <= last; ++c) {
      const double value = in[static_cast<std::size_t>(flat + (c - channel) * plane)];
      sum += value * value;
    }
    const double scale = bias + alpha / static_cast<double>(size) * sum;
    y[static_cast<std::size_t>(flat)] = in[static_cast<std::size_t>(flat)] / std::pow(scale, beta);
  }
  return one(rounded(x.dtype(), x.shape(), std::move(y)));
}

}  // namespace

void add_pooling_kernels(RefTable& table) {
  table.add("MaxPool", max_pool);
  table.add("AveragePool", average_pool);
  table.add("hone.MaxPoolGradient", max_pool_gradient);
  table.add("hone.AveragePoolGradient", average_pool_gradient);
  table.add("LpPool", lp_pool);
  table.add("GlobalAveragePool", global_pool);
  table.add("GlobalMaxPool", global_pool);
  table.add("GlobalLpPool", global_pool);
  table.add("MaxUnpool", max_unpool);
  table.add("MaxRoiPool", max_roi_pool);
  table.add("LRN", lrn);
}

}  // namespace hone::kernels::ref
