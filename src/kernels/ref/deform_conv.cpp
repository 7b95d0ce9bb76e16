// Deformable convolution (Dai et al. 2017; with mask: v2, Zhu et al. 2019) and Col2Im.
#include <fmt/core.h>

#include "core/window.h"
#include "kernels/ref/interpolate.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

struct DeformShape {
  WindowSpec windows;
  Shape kernel, in, out;  // spatial extents
  int64_t group = 1, offset_group = 1;
  int64_t channels = 0, outputs = 0;
};

Result<DeformShape> plan_deform(const RefCall& call) {
  const Shape& x = call.inputs[0].shape();
  const Shape& w = call.inputs[1].shape();
  DeformShape plan;
  plan.group = call.attributes.integer("group", 1);
  plan.offset_group = call.attributes.integer("offset_group", 1);
  if (x.size() < 3 || w.size() != x.size() || plan.group < 1 || plan.offset_group < 1 ||
      w[1] * plan.group != x[1] || w[0] % plan.group != 0 || x[1] % plan.offset_group != 0) {
    return invalid(
        fmt::format("input {} and weight {} do not fit as a convolution of {} groups and {} offset groups",
                    shape_text(x), shape_text(w), plan.group, plan.offset_group));
  }
  plan.channels = x[1];
  plan.outputs = w[0];
  plan.in.assign(x.begin() + 2, x.end());
  plan.kernel.assign(w.begin() + 2, w.end());
  HONE_ASSIGN(plan.windows, read_windows(call.attributes, plan.kernel));
  HONE_ASSIGN(plan.out, place_windows(plan.windows, plan.in));
  const int64_t taps = element_count(plan.kernel) * plan.offset_group;
  const auto with_outputs = [&](int64_t count) {
    Shape shape{x[0], count};
    shape.insert(shape.end(), plan.out.begin(), plan.out.end());
    return shape;
  };
  HONE_CHECK(
      expect_shape(call.inputs[2], with_outputs(taps * static_cast<int64_t>(plan.kernel.size())), "offset"));
  if (call.has(3)) HONE_CHECK(expect_shape(call.inputs[3], {plan.outputs}, "B"));
  if (call.has(4)) HONE_CHECK(expect_shape(call.inputs[4], with_outputs(taps), "mask"));
  return plan;
}

Result<std::vector<Tensor>> deform_conv(const RefCall& call) {
  HONE_ASSIGN(const DeformShape plan, plan_deform(call));
  const Wide x = widen(call.inputs[0]), w = widen(call.inputs[1]), offset = widen(call.inputs[2]);
  const Wide bias = call.has(3) ? widen(call.inputs[3]) : Wide{};
  const Wide mask = call.has(4) ? widen(call.inputs[4]) : Wide{};
  const int64_t axes = static_cast<int64_t>(plan.kernel.size());
  const int64_t taps = element_count(plan.kernel), places = element_count(plan.out),
                pixels = element_count(plan.in);
  const int64_t group_in = plan.channels / plan.group, group_out = plan.outputs / plan.group;
  const int64_t offset_channels = plan.channels / plan.offset_group;
  Shape output{call.inputs[0].shape()[0], plan.outputs};
  output.insert(output.end(), plan.out.begin(), plan.out.end());
  Wide y(static_cast<std::size_t>(element_count(output)), 0);
  const auto pixel = [&](std::size_t axis, int64_t i) { return i < plan.in[axis] ? i : -1; };
  for (int64_t n = 0; n < output[0]; ++n) {
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t channel = 0; channel < plan.channels; ++channel) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          // Offsets are laid out [batch, offset group, tap, axis, place], masks the same without the axis.
          const int64_t line = (n * plan.offset_group + channel / offset_channels) * taps + tap;
          Wide point(plan.kernel.size());
          for (int64_t axis = axes - 1, rest = place, rest_tap = tap; axis >= 0; --axis) {
            const auto i = static_cast<std::size_t>(axis);
            const Window& window = plan.windows.axes[i];
            const int64_t base = rest % plan.out[i] * window.stride +
                                 rest_tap % window.kernel * window.dilation - window.pad_begin;
            point[i] = static_cast<double>(base) +
                       offset[static_cast<std::size_t>((line * axes + axis) * places + place)];
            rest /= plan.out[i];
            rest_tap /= window.kernel;
          }
          bool near = true;  // also keeps the conversion to integers within range
          for (std::size_t i = 0; i < point.size(); ++i) {
            near = near && point[i] > -1 && point[i] < static_cast<double>(plan.in[i]);
          }
          if (!near) continue;
          double value =
              interpolate_linear(x.data() + (n * plan.channels + channel) * pixels, plan.in, point, pixel);
          if (!mask.empty()) value *= mask[static_cast<std::size_t>(line * places + place)];
          const int64_t first = channel / group_in * group_out;
          for (int64_t out = first; out < first + group_out; ++out) {
            y[static_cast<std::size_t>((n * plan.outputs + out) * places + place)] +=
                value * w[static_cast<std::size_t>((out * group_in + channel % group_in) * taps + tap)];
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < y.size() && !bias.empty(); ++i) {
    y[i] += bias[i / static_cast<std::size_t>(places) % static_cast<std::size_t>(plan.outputs)];
  }
  return one(rounded(call.inputs[0].dtype(), output, std::move(y)));
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
    std::vector<int64_t> tap(block.size(), 0);
    do {
      std::vector<int64_t> place(block.size(), 0);
      do {
        int64_t at = 0;
        bool inside = true;
        for (std::size_t axis = 0; axis < block.size(); ++axis) {
          const Window& window = windows.axes[axis];
          const int64_t i = place[axis] * window.stride + tap[axis] * window.dilation - window.pad_begin;
          inside = inside && i >= 0 && i < image[axis];
          at = at * image[axis] + i;
        }
        if (inside) y[static_cast<std::size_t>(plane * pixels + at)] += in[from];
        ++from;
      } while (next_index(place, places));
    } while (next_index(tap, block));
  }
  return one(rounded(columns.dtype(), output, std::move(y)));
}

}  // namespace

void add_deform_conv_kernels(RefTable& table) {
  table.add("DeformConv", deform_conv);
  table.add("Col2Im", col2im);
}

}  // namespace hone::kernels::ref
