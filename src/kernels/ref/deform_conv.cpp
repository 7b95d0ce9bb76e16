// Deformable convolution (Dai et al. 2017; with mask: v2, Zhu et al. 2019), the samples that it multiplies and their
// gradient, and Col2Im.
#include <cmath>

#include <fmt/core.h>

#include "core/columns.h"
#include "core/window.h"
#include "kernels/ref/interpolate.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

// Where the samples are: of DeformConv and of hone.DeformColumns.
struct DeformShape {
  WindowSpec windows;
  Shape kernel, in, out;  // spatial extents
  int64_t offset_group = 1;
  int64_t batch = 0, channels = 0;
  int64_t taps = 1, places = 1, pixels = 1;

  int64_t axes() const { return static_cast<int64_t>(kernel.size()); }
  // Offsets are laid out [batch, offset group, tap, axis, place], masks the same without the axis: the number of batch,
  // group and tap.
  int64_t line(int64_t n, int64_t channel, int64_t tap) const {
    return (n * offset_group + channel / (channels / offset_group)) * taps + tap;
  }
  // In pixels.
  void read_point(const Wide& offset, int64_t line, int64_t place, int64_t tap, Wide& point) const {
    point.resize(kernel.size());
    for (int64_t axis = axes() - 1, rest = place; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      const Window& window = windows.axes[i];
      const int64_t base =
          rest % out[i] * window.stride + tap % window.kernel * window.dilation - window.pad_begin;
      point[i] = static_cast<double>(base) +
                 offset[static_cast<std::size_t>((line * axes() + axis) * places + place)];
      rest /= out[i];
      tap /= window.kernel;
    }
  }
};

Result<DeformShape> plan_samples(const Attributes& attributes, const Shape& x, const Shape& kernel,
                                 const Tensor& offset, const Tensor* mask) {
  DeformShape plan;
  plan.offset_group = attributes.integer("offset_group", 1);
  if (x.size() < 3 || kernel.size() + 2 != x.size() || plan.offset_group < 1 ||
      x[1] % plan.offset_group != 0) {
    return invalid(fmt::format("input {} and windows {} do not fit in {} offset groups", shape_text(x),
                               shape_text(kernel), plan.offset_group));
  }
  plan.batch = x[0];
  plan.channels = x[1];
  plan.in.assign(x.begin() + 2, x.end());
  plan.kernel = kernel;
  HONE_ASSIGN(plan.windows, read_windows(attributes, plan.kernel));
  HONE_ASSIGN(plan.out, place_windows(plan.windows, plan.in));
  plan.taps = element_count(plan.kernel);
  plan.places = element_count(plan.out);
  plan.pixels = element_count(plan.in);
  const auto with_outputs = [&](int64_t count) {
    Shape shape{x[0], count};
    shape.insert(shape.end(), plan.out.begin(), plan.out.end());
    return shape;
  };
  const int64_t lines = plan.taps * plan.offset_group;
  HONE_CHECK(expect_shape(offset, with_outputs(lines * plan.axes()), "offset"));
  if (mask != nullptr) HONE_CHECK(expect_shape(*mask, with_outputs(lines), "mask"));
  return plan;
}

// Whether pixels are read at `point`; also keeps its conversion to integers within range.
bool reads_image(const DeformShape& plan, const Wide& point) {
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!(point[i] > -1 && point[i] < static_cast<double>(plan.in[i]))) return false;
  return true;
}

// What is read at `point` of an image; 0 outside.
double deform_sample(const DeformShape& plan, const double* image, const Wide& point) {
  if (!reads_image(plan, point)) return 0;
  return interpolate_linear(image, plan.in, point,
                            [&](std::size_t axis, int64_t i) { return i < plan.in[axis] ? i : -1; });
}

Result<std::vector<Tensor>> deform_conv(const RefCall& call) {
  const Shape& w_shape = call.inputs[1].shape();
  const Shape& x_shape = call.inputs[0].shape();
  const int64_t group = call.attributes.integer("group", 1);
  if (x_shape.size() < 3 || w_shape.size() != x_shape.size() || group < 1 ||
      w_shape[1] * group != x_shape[1] || w_shape[0] % group != 0) {
    return invalid(fmt::format("input {} and weight {} do not fit as a convolution of {} groups",
                               shape_text(x_shape), shape_text(w_shape), group));
  }
  HONE_ASSIGN(const DeformShape plan,
              plan_samples(call.attributes, x_shape, Shape(w_shape.begin() + 2, w_shape.end()),
                           call.inputs[2], call.has(4) ? &call.inputs[4] : nullptr));
  const int64_t outputs = w_shape[0], taps = plan.taps, places = plan.places;
  if (call.has(3)) HONE_CHECK(expect_shape(call.inputs[3], {outputs}, "B"));
  const Wide x = widen(call.inputs[0]), w = widen(call.inputs[1]), offset = widen(call.inputs[2]);
  const Wide bias = call.has(3) ? widen(call.inputs[3]) : Wide{};
  const Wide mask = call.has(4) ? widen(call.inputs[4]) : Wide{};
  const int64_t group_in = plan.channels / group, group_out = outputs / group;
  Shape output{plan.batch, outputs};
  output.insert(output.end(), plan.out.begin(), plan.out.end());
  Wide y(static_cast<std::size_t>(element_count(output)), 0), point;
  for (int64_t n = 0; n < plan.batch; ++n) {
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t channel = 0; channel < plan.channels; ++channel) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t line = plan.line(n, channel, tap);
          plan.read_point(offset, line, place, tap, point);
          if (!reads_image(plan, point)) continue;
          double value = deform_sample(plan, x.data() + (n * plan.channels + channel) * plan.pixels, point);
          if (!mask.empty()) value *= mask[static_cast<std::size_t>(line * places + place)];
          const int64_t first = channel / group_in * group_out;
          for (int64_t out = first; out < first + group_out; ++out) {
            y[static_cast<std::size_t>((n * outputs + out) * places + place)] +=
                value * w[static_cast<std::size_t>((out * group_in + channel % group_in) * taps + tap)];
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < y.size() && !bias.empty(); ++i) {
    y[i] += bias[i / static_cast<std::size_t>(places) % static_cast<std::size_t>(outputs)];
  }
  return one(rounded(call.inputs[0].dtype(), output, std::move(y)));
}

// Calls f(column, plane, line, place, point) for every sample: its place among the columns [N, C * taps, places], the
// plane of the image and the line of the offsets that it is read from.
template <typename F>
void each_sample(const DeformShape& plan, const Wide& offset, F f) {
  Wide point;
  std::size_t column = 0;
  for (int64_t plane = 0; plane < plan.batch * plan.channels; ++plane) {
    for (int64_t tap = 0; tap < plan.taps; ++tap) {
      const int64_t line = plan.line(plane / plan.channels, plane % plan.channels, tap);
      for (int64_t place = 0; place < plan.places; ++place) {
        plan.read_point(offset, line, place, tap, point);
        f(column++, plane, line, place, point);
      }
    }
  }
}

// The masked samples that DeformConv multiplies by its weight, as columns.
Result<std::vector<Tensor>> deform_columns(const RefCall& call) {
  const Tensor* const masks = call.has(2) ? &call.inputs[2] : nullptr;
  HONE_ASSIGN(const DeformShape plan,
              plan_samples(call.attributes, call.inputs[0].shape(), call.attributes.ints("kernel_shape"),
                           call.inputs[1], masks));
  const Shape output{plan.batch, plan.channels * plan.taps, plan.places};
  HONE_ASSIGN(const int64_t total, checked_element_count(output));
  const Wide x = widen(call.inputs[0]), offset = widen(call.inputs[1]);
  const Wide mask = masks != nullptr ? widen(*masks) : Wide{};
  Wide columns(static_cast<std::size_t>(total));
  each_sample(plan, offset,
              [&](std::size_t column, int64_t plane, int64_t line, int64_t place, const Wide& point) {
                double value = deform_sample(plan, x.data() + plane * plan.pixels, point);
                if (!mask.empty()) value *= mask[static_cast<std::size_t>(line * plan.places + place)];
                columns[column] = value;
              });
  return one(rounded(call.inputs[0].dtype(), output, std::move(columns)));
}

// Adds `g`, the gradient of a sample at `point`, to the pixels that were read, and writes to `moved` how the sample changes
// where its point is moved: from the right where the point is on a pixel, as PyTorch has it (deform_conv2d_kernel.cpp).
void spread_sample(const DeformShape& plan, const double* image, const Wide& point, double g, double* dx,
                   Wide& moved) {
  moved.assign(point.size(), 0);
  for (std::size_t i = 0; i < point.size(); ++i)
    if (!(point[i] >= -1 && point[i] < static_cast<double>(plan.in[i]))) return;
  for (std::size_t corner = 0; corner < std::size_t{1} << point.size(); ++corner) {
    int64_t at = 0;
    bool inside = true;
    double weight = 1;
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      const double below = std::floor(point[axis]);
      const bool upper = (corner >> axis & 1U) != 0;
      const int64_t i = static_cast<int64_t>(below) + (upper ? 1 : 0);
      inside = inside && i >= 0 && i < plan.in[axis];
      at = at * plan.in[axis] + i;
      weight *= upper ? point[axis] - below : 1 - (point[axis] - below);
    }
    if (!inside) continue;
    dx[at] += weight * g;
    for (std::size_t axis = 0; axis < point.size(); ++axis) {
      double change = (corner >> axis & 1U) != 0 ? 1 : -1;
      for (std::size_t other = 0; other < point.size(); ++other) {
        const double part = point[other] - std::floor(point[other]);
        if (other != axis) change *= (corner >> other & 1U) != 0 ? part : 1 - part;
      }
      moved[axis] += change * image[at];
    }
  }
}

Result<std::vector<Tensor>> deform_columns_gradient(const RefCall& call) {
  const Tensor& g = call.inputs[0];
  const Tensor* const masks = call.has(3) ? &call.inputs[3] : nullptr;
  HONE_ASSIGN(const DeformShape plan,
              plan_samples(call.attributes, call.inputs[1].shape(), call.attributes.ints("kernel_shape"),
                           call.inputs[2], masks));
  HONE_CHECK(expect_shape(g, {plan.batch, plan.channels * plan.taps, plan.places}, "the gradient"));
  if (call.output_count > 2 && masks == nullptr)
    return bad_call(call, "without a mask there is no third result");
  const Wide flowing = widen(g), x = widen(call.inputs[1]), offset = widen(call.inputs[2]);
  const Wide mask = masks != nullptr ? widen(*masks) : Wide{};
  Wide dx(x.size(), 0), doffset(offset.size(), 0), dmask(mask.size(), 0), moved;
  each_sample(plan, offset,
              [&](std::size_t column, int64_t plane, int64_t line, int64_t place, const Wide& point) {
                const double* image = x.data() + plane * plan.pixels;
                double sample = flowing[column];
                if (!mask.empty()) {
                  const auto at = static_cast<std::size_t>(line * plan.places + place);
                  dmask[at] += sample * deform_sample(plan, image, point);
                  sample *= mask[at];
                }
                spread_sample(plan, image, point, sample, dx.data() + plane * plan.pixels, moved);
                for (int64_t axis = 0; axis < plan.axes(); ++axis)
                  doffset[static_cast<std::size_t>((line * plan.axes() + axis) * plan.places + place)] +=
                      sample * moved[static_cast<std::size_t>(axis)];
              });
  std::vector<Tensor> outputs = one(rounded(call.inputs[1].dtype(), call.inputs[1].shape(), std::move(dx)));
  if (call.output_count > 1)
    outputs.push_back(rounded(call.inputs[2].dtype(), call.inputs[2].shape(), std::move(doffset)));
  if (call.output_count > 2) outputs.push_back(rounded(masks->dtype(), masks->shape(), std::move(dmask)));
  return outputs;
}

// Adds columns [N, C * taps, places] back into images [N, C, …]: the adjoint of taking the windows apart.
Result<std::vector<Tensor>> col2im(const RefCall& call) {
  const Tensor& columns = call.inputs[0];
  HONE_CHECK(expect_real(call, columns.dtype()));
  HONE_CHECK(expect_rank(columns, 3, "input"));
  const Shape image = call.inputs[1].to_ints(), block = call.inputs[2].to_ints();
  HONE_ASSIGN(WindowSpec windows, read_windows(call.attributes, block));
  HONE_ASSIGN(const Shape places, place_windows(windows, image));
  HONE_ASSIGN(const int64_t taps, checked_element_count(block));
  HONE_CHECK(checked_element_count(image));
  const int64_t batch = columns.shape()[0], channels = columns.shape()[1] / taps;
  HONE_CHECK(expect_shape(columns, {batch, channels * taps, element_count(places)}, "input"));
  Shape output{batch, channels};
  output.insert(output.end(), image.begin(), image.end());
  HONE_ASSIGN(const int64_t total, checked_element_count(output));
  const Wide in = widen(columns);
  Wide y(static_cast<std::size_t>(total), 0);
  const int64_t pixels = element_count(image);
  std::size_t from = 0;
  for (int64_t plane = 0; plane < batch * channels; ++plane) {
    walk_columns(windows.axes, places, image, [&](int64_t pixel) {
      if (pixel >= 0) y[static_cast<std::size_t>(plane * pixels + pixel)] += in[from];
      ++from;
    });
  }
  return one(rounded(columns.dtype(), output, std::move(y)));
}

}  // namespace

void add_deform_conv_kernels(RefTable& table) {
  table.add("DeformConv", deform_conv);
  table.add("hone.DeformColumns", deform_columns);
  table.add("hone.DeformColumnsGradient", deform_columns_gradient);
  table.add("Col2Im", col2im);
}

}  // namespace hone::kernels::ref
