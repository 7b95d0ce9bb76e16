// Convolutions over any number of spatial axes: plain, transposed, integer, quantized, causal with state.
// Pooling is in pooling.cpp, deformable convolution and Col2Im in deform_conv.cpp.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "core/window.h"
#include "kernels/cpu/parallel.h"
#include "kernels/ref/inner_loops.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

struct ConvShape {
  WindowSpec windows;
  Shape in, out;  // spatial extents
  int64_t batch = 0, group = 1;
  int64_t group_in = 0, group_out = 0;  // channels of one group
  Shape output;                         // whole
  bool transposed = false;
};

Result<ConvShape> plan_conv(const Attributes& attributes, const Shape& x, const Shape& w, bool transposed) {
  if (x.size() < 3 || w.size() != x.size()) {
    return invalid(
        fmt::format("input {} and weight {} do not fit as a convolution", shape_text(x), shape_text(w)));
  }
  ConvShape plan;
  plan.group = attributes.integer("group", 1);
  const int64_t channels = x[1];
  // Weights: [out, in / group, …]; transposed: [in, out / group, …].
  const bool fits = plan.group > 0 && (transposed ? w[0] == channels && channels % plan.group == 0
                                                  : w[1] * plan.group == channels && w[0] % plan.group == 0);
  if (!fits) {
    return invalid(fmt::format("input {} and weight {} do not fit as a convolution of {} groups",
                               shape_text(x), shape_text(w), plan.group));
  }
  plan.transposed = transposed;
  plan.batch = x[0];
  plan.group_in = channels / plan.group;
  plan.group_out = transposed ? w[1] : w[0] / plan.group;
  plan.in.assign(x.begin() + 2, x.end());
  HONE_ASSIGN(plan.windows, read_windows(attributes, std::span(w).subspan(2)));
  if (transposed) {
    HONE_ASSIGN(plan.out, place_transposed_windows(plan.windows, attributes, plan.in));
  } else {
    HONE_ASSIGN(plan.out, place_windows(plan.windows, plan.in));
  }
  plan.output = {x[0], plan.group_out * plan.group};
  plan.output.insert(plan.output.end(), plan.out.begin(), plan.out.end());
  HONE_CHECK(checked_element_count(plan.output));
  return plan;
}

// Positions along the last axis at which one tap of the windows joins the smaller, strided side (a
// convolution's output) with the larger one (its input): `count` of them, from these offsets into planes.
struct Run {
  int64_t small = 0, big = 0, count = 0;
};

// The run of tap `tap` in the row `index` (along all axes but the last) of the smaller side; count 0: none.
Run run_of(const std::vector<Window>& windows, const std::vector<int64_t>& tap, const Shape& index,
           const Shape& small, const Shape& big) {
  const std::size_t last = small.size() - 1;
  int64_t small_row = 0;
  int64_t big_row = 0;
  for (std::size_t axis = 0; axis < last; ++axis) {
    const Window& window = windows[axis];
    const int64_t at = index[axis] * window.stride + tap[axis] * window.dilation - window.pad_begin;
    if (at < 0 || at >= big[axis]) return {};
    small_row = small_row * small[axis] + index[axis];
    big_row = big_row * big[axis] + at;
  }
  const Window& inner = windows[last];
  const int64_t shift = tap[last] * inner.dilation - inner.pad_begin;  // big = small * stride + shift
  const int64_t first = shift >= 0 ? 0 : (-shift + inner.stride - 1) / inner.stride;
  const int64_t room = big[last] - 1 - shift;
  const int64_t end = room < 0 ? 0 : std::min(small[last], room / inner.stride + 1);
  if (first >= end) return {};
  return {small_row * small[last] + first, big_row * big[last] + first * inner.stride + shift, end - first};
}

Shape kernel_of(const WindowSpec& windows) {
  Shape kernel;
  for (const Window& window : windows.axes) kernel.push_back(window.kernel);
  return kernel;
}

// The runs of all taps in all rows of the smaller side, taps innermost. The same for all channels.
std::vector<Run> plan_runs(const ConvShape& plan) {
  const Shape& small = plan.transposed ? plan.in : plan.out;
  const Shape& big = plan.transposed ? plan.out : plan.in;
  const Shape kernel = kernel_of(plan.windows);
  const Shape rows(small.begin(), small.end() - 1);
  std::vector<Run> runs;
  if (element_count(small) == 0 || element_count(kernel) == 0) return runs;
  Shape row(rows.size(), 0);
  do {
    std::vector<int64_t> tap(kernel.size(), 0);
    do {
      runs.push_back(run_of(plan.windows.axes, tap, row, small, big));
    } while (next_index(tap, kernel));
  } while (next_index(row, rows));
  return runs;
}

// Where the data of one image and a few neighbouring output channels of one group lie, and what they share.
struct Channels {
  const double* in = nullptr;       // the group's first input plane
  const double* weights = nullptr;  // of the first output channel
  double* out = nullptr;            // the first output plane
  int64_t count = 0;                // of output channels
};

// Output channels that are computed together: each input row, once in the L1 cache, serves all of them, whose
// rows stay there, too.
constexpr int64_t kChannelsTogether = 8;

// Each output row of each channel gathers all input channels and taps.
void gather_taps(const ConvShape& plan, const std::vector<Run>& runs, int64_t taps,
                 const Channels& channels) {
  const int64_t in_plane = element_count(plan.in), out_plane = element_count(plan.out);
  const int64_t stride = plan.windows.axes.back().stride;
  std::vector<double> apart(
      static_cast<std::size_t>(plan.out.back()));  // what a run reads, where it skips elements
  for (std::size_t row = 0; row < runs.size(); row += static_cast<std::size_t>(taps)) {
    for (int64_t ic = 0; ic < plan.group_in; ++ic) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const Run& run = runs[row + static_cast<std::size_t>(tap)];
        const double* from = channels.in + ic * in_plane + run.big;
        const double* weights = channels.weights + ic * taps + tap;
        double* to = channels.out + run.small;
        if (stride == 1) {
          add_scaled(from, run.count, weights, plan.group_in * taps, to, out_plane, channels.count);
          continue;
        }
        for (int64_t i = 0; i < run.count; ++i) apart[static_cast<std::size_t>(i)] = from[i * stride];
        add_scaled(apart.data(), run.count, weights, plan.group_in * taps, to, out_plane, channels.count);
      }
    }
  }
}

// The transpose of that: each input element adds a scaled copy of the kernel to the output.
void scatter_taps(const ConvShape& plan, const std::vector<Run>& runs, int64_t taps,
                  const Channels& channels) {
  const int64_t in_plane = element_count(plan.in), out_plane = element_count(plan.out);
  const int64_t stride = plan.windows.axes.back().stride;
  for (int64_t ic = 0; ic < plan.group_in; ++ic) {
    for (std::size_t row = 0; row < runs.size(); row += static_cast<std::size_t>(taps)) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const Run& run = runs[row + static_cast<std::size_t>(tap)];
        const double* from = channels.in + ic * in_plane + run.small;
        for (int64_t oc = 0; oc < channels.count; ++oc) {
          const double weight = channels.weights[(ic * plan.group_out + oc) * taps + tap];
          double* to = channels.out + oc * out_plane + run.big;
          for (int64_t i = 0; i < run.count; ++i) to[i * stride] += weight * from[i];
        }
      }
    }
  }
}

// A kernel of one tap that moves neither in steps nor past the border.
bool reads_each_place_once(const ConvShape& plan) {
  return !plan.transposed && plan.in == plan.out &&
         std::ranges::all_of(plan.windows.axes, [](const Window& window) {
           return window.kernel == 1 && window.stride == 1 && window.pad_begin == 0;
         });
}

// The convolution, or its transpose, in double, on all threads: each output channel is computed by one of
// them, in one order, however many there are.
Wide convolve(const ConvShape& plan, const Wide& x, const Wide& w, const Wide& bias) {
  const int64_t in_plane = element_count(plan.in), out_plane = element_count(plan.out);
  const int64_t taps = element_count(kernel_of(plan.windows));
  const std::vector<Run> runs = plan_runs(plan);
  Wide y(static_cast<std::size_t>(element_count(plan.output)), 0);
  const int64_t blocks = (plan.group_out + kChannelsTogether - 1) / kChannelsTogether;  // of a group
  parallel_tasks(plan.batch * plan.group * blocks, thread_count(), [&](int64_t task, int) {
    const int64_t image_group = task / blocks, group = image_group % plan.group;
    const int64_t first = task % blocks * kChannelsTogether;  // output channel in the group
    Channels channels;
    channels.count = std::min(kChannelsTogether, plan.group_out - first);
    channels.in = x.data() + image_group * plan.group_in * in_plane;
    channels.out = y.data() + (image_group * plan.group_out + first) * out_plane;
    // Weights: [group · out, in, taps]; transposed: [group · in, out, taps].
    channels.weights = w.data() + (plan.transposed ? group * plan.group_in * plan.group_out + first
                                                   : (group * plan.group_out + first) * plan.group_in) *
                                      taps;
    for (int64_t oc = 0; oc < channels.count && !bias.empty(); ++oc)
      std::fill_n(channels.out + oc * out_plane, out_plane,
                  bias[static_cast<std::size_t>(group * plan.group_out + first + oc)]);
    if (reads_each_place_once(plan))  // a matrix product
      multiply_add_rows(channels.count, plan.group_in, out_plane, channels.weights, plan.group_in,
                        channels.in, in_plane, channels.out, out_plane);
    else
      (plan.transposed ? scatter_taps : gather_taps)(plan, runs, taps, channels);
  });
  return y;
}

Status check_bias(const RefCall& call, std::size_t input, const ConvShape& plan) {
  if (!call.has(input)) return {};
  return expect_shape(call.inputs[input], {plan.output[1]}, "the bias");
}

Result<std::vector<Tensor>> conv(const RefCall& call) {
  const bool transposed = call.op == "ConvTranspose";
  const Tensor& x = call.inputs[0];
  const Tensor& w = call.inputs[1];
  HONE_ASSIGN(const ConvShape plan, plan_conv(call.attributes, x.shape(), w.shape(), transposed));
  HONE_CHECK(check_bias(call, 2, plan));
  const Wide bias = call.has(2) ? widen(call.inputs[2]) : Wide{};
  const Wide y = convolve(plan, widen(x), widen(w), bias);
  return std::vector<Tensor>{rounded(x.dtype(), plan.output, y)};
}

// Each tap sums, over all images and places, the input that it reads there times what flows into the output.
Result<std::vector<Tensor>> conv_weight_gradient(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& g = call.inputs[1];
  HONE_ASSIGN(const WindowSpec spec, read_windows(call.attributes, {}));
  const int64_t group = call.attributes.integer("group", 1);
  if (x.rank() < 3 || g.rank() != x.rank() || group < 1 || x.shape()[1] % group != 0)
    return invalid(fmt::format("an input {} and a gradient {} do not fit as a convolution of {} groups",
                               shape_text(x.shape()), shape_text(g.shape()), group));
  Shape w{g.shape()[1], x.shape()[1] / group};
  const Shape kernel = kernel_of(spec);
  w.insert(w.end(), kernel.begin(), kernel.end());
  HONE_ASSIGN(const ConvShape plan, plan_conv(call.attributes, x.shape(), w, false));
  HONE_CHECK(expect_shape(g, plan.output, "the gradient"));
  const std::vector<Run> runs = plan_runs(plan);
  const Wide in = widen(x), out = widen(g);
  const int64_t taps = element_count(kernel), stride = plan.windows.axes.back().stride;
  const int64_t in_plane = element_count(plan.in), out_plane = element_count(plan.out);
  Wide dw(static_cast<std::size_t>(element_count(w)), 0);
  for (int64_t n = 0; n < plan.batch; ++n)
    for (int64_t m = 0; m < w[0]; ++m)
      for (int64_t c = 0; c < w[1]; ++c) {
        const int64_t channel = m / plan.group_out * plan.group_in + c;
        const double* from = in.data() + (n * x.shape()[1] + channel) * in_plane;
        const double* flows = out.data() + (n * w[0] + m) * out_plane;
        double* to = dw.data() + (m * w[1] + c) * taps;
        for (std::size_t i = 0; i < runs.size(); ++i)
          for (int64_t k = 0; k < runs[i].count; ++k)
            to[static_cast<int64_t>(i) % taps] += from[runs[i].big + k * stride] * flows[runs[i].small + k];
      }
  return std::vector<Tensor>{rounded(x.dtype(), w, dw)};
}

// Subtracts one zero point, or one for each slice of the first axis.
Status subtract_zero_point(Wide& values, const Shape& shape, const Tensor& zero_point,
                           std::string_view name) {
  const Wide zeros = widen(zero_point);
  if (zeros.size() != 1 && static_cast<int64_t>(zeros.size()) != shape[0]) {
    return invalid(fmt::format("{} has shape {} for a tensor of shape {}", name,
                               shape_text(zero_point.shape()), shape_text(shape)));
  }
  const std::size_t slice = std::max<std::size_t>(1, values.size() / zeros.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zeros[i / slice];
  return {};
}

Result<std::vector<Tensor>> conv_integer(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& w = call.inputs[1];
  HONE_ASSIGN(const ConvShape plan, plan_conv(call.attributes, x.shape(), w.shape(), false));
  Wide wide_x = widen(x);
  Wide wide_w = widen(w);
  if (call.has(2)) {
    HONE_ASSIGN(const double zero, scalar(call.inputs[2], "x_zero_point"));
    for (double& value : wide_x) value -= zero;
  }
  if (call.has(3)) HONE_CHECK(subtract_zero_point(wide_w, w.shape(), call.inputs[3], "w_zero_point"));
  return std::vector<Tensor>{rounded(DType::kI32, plan.output, convolve(plan, wide_x, wide_w, {}))};
}

Result<std::vector<Tensor>> qlinear_conv(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& w = call.inputs[3];
  HONE_ASSIGN(const ConvShape plan, plan_conv(call.attributes, x.shape(), w.shape(), false));
  HONE_CHECK(check_bias(call, 8, plan));
  HONE_ASSIGN(const double x_scale, scalar(call.inputs[1], "x_scale"));
  HONE_ASSIGN(const double x_zero, scalar(call.inputs[2], "x_zero_point"));
  HONE_ASSIGN(const double y_scale, scalar(call.inputs[6], "y_scale"));
  HONE_ASSIGN(const double y_zero, scalar(call.inputs[7], "y_zero_point"));
  const Wide w_scale = widen(call.inputs[4]);
  if (w_scale.size() != 1 && static_cast<int64_t>(w_scale.size()) != plan.output[1]) {
    return invalid(fmt::format("w_scale has shape {} for {} output channels",
                               shape_text(call.inputs[4].shape()), plan.output[1]));
  }
  Wide wide_x = widen(x);
  for (double& value : wide_x) value -= x_zero;
  Wide wide_w = widen(w);
  HONE_CHECK(subtract_zero_point(wide_w, w.shape(), call.inputs[5], "w_zero_point"));
  Wide y = convolve(plan, wide_x, wide_w, call.has(8) ? widen(call.inputs[8]) : Wide{});
  const auto plane = static_cast<std::size_t>(element_count(plan.out));
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t channel = i / plane % static_cast<std::size_t>(plan.output[1]);
    const double scale = x_scale * w_scale[w_scale.size() == 1 ? 0 : channel] / y_scale;
    // Rounded before the zero point is added, as QuantizeLinear does it.
    y[i] = std::nearbyint(y[i] * scale) + y_zero;
  }
  return std::vector<Tensor>{rounded(call.inputs[7].dtype(), plan.output, y)};
}

// A depthwise convolution over [state | input] along the last axis; the state is the last k - 1 inputs.
Result<std::vector<Tensor>> causal_conv_with_state(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& w = call.inputs[1];
  HONE_CHECK(expect_rank(x, 3, "input"));
  HONE_CHECK(expect_rank(w, 3, "weight"));
  const int64_t batch = x.shape()[0], channels = x.shape()[1], length = x.shape()[2], taps = w.shape()[2];
  HONE_CHECK(expect_shape(w, {channels, 1, taps}, "weight"));
  const Shape state_shape{batch, channels, taps - 1};
  if (taps < 1) return invalid("weight has no taps");
  if (call.has(2)) HONE_CHECK(expect_shape(call.inputs[2], {channels}, "bias"));
  if (call.has(3)) HONE_CHECK(expect_shape(call.inputs[3], state_shape, "past_state"));
  const std::string activation = call.attributes.text("activation", "none");
  const bool silu = activation == "silu" || activation == "swish";
  if (!silu && activation != "none") {
    return invalid(fmt::format("activation '{}' is none of none, silu, swish", activation));
  }
  const Wide in = widen(x), weights = widen(w), bias = call.has(2) ? widen(call.inputs[2]) : Wide{};
  const Wide past =
      call.has(3) ? widen(call.inputs[3]) : Wide(static_cast<std::size_t>(element_count(state_shape)));
  Wide y(in.size()), state(past.size());
  for (int64_t line = 0; line < batch * channels; ++line) {
    const int64_t channel = line % channels;
    Wide padded(past.begin() + line * (taps - 1), past.begin() + (line + 1) * (taps - 1));
    padded.insert(padded.end(), in.begin() + line * length, in.begin() + (line + 1) * length);
    for (int64_t t = 0; t < length; ++t) {
      double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(channel)];
      for (int64_t i = 0; i < taps; ++i) {
        sum +=
            weights[static_cast<std::size_t>(channel * taps + i)] * padded[static_cast<std::size_t>(t + i)];
      }
      y[static_cast<std::size_t>(line * length + t)] = silu ? sum / (1 + std::exp(-sum)) : sum;
    }
    std::copy(padded.end() - (taps - 1), padded.end(), state.begin() + line * (taps - 1));
  }
  std::vector<Tensor> outputs{rounded(x.dtype(), x.shape(), y)};
  if (call.output_count > 1) outputs.push_back(rounded(x.dtype(), state_shape, state));
  return outputs;
}

}  // namespace

void add_convolution_kernels(RefTable& table) {
  table.add("Conv", conv);
  table.add("ConvTranspose", conv);
  table.add("hone.ConvWeightGradient", conv_weight_gradient);
  table.add("ConvInteger", conv_integer);
  table.add("QLinearConv", qlinear_conv);
  table.add("CausalConvWithState", causal_conv_with_state);
  add_pooling_kernels(table);
  add_deform_conv_kernels(table);
}

}  // namespace hone::kernels::ref
