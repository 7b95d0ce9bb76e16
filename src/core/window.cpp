#include "core/window.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace hone {
namespace {

// Extents beyond this come from broken files only; below it no sum or product here overflows.
constexpr int64_t kLargest = int64_t{1} << 30;

Result<Ints> per_axis(const Attributes& attributes, std::string_view name, std::size_t count,
                      int64_t otherwise, int64_t smallest) {
  Ints values = attributes.ints(name);
  if (values.empty()) return Ints(count, otherwise);
  if (values.size() != count) {
    return invalid(fmt::format("attribute {} has {} values where {} are needed", name, values.size(), count));
  }
  for (int64_t value : values) {
    if (value < smallest || value > kLargest) {
      return invalid(
          fmt::format("attribute {} has the value {}; at least {} is needed", name, value, smallest));
    }
  }
  return values;
}

Result<AutoPad> read_auto_pad(const Attributes& attributes) {
  const std::string text = attributes.text("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::kNotSet;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  return invalid(fmt::format("auto_pad '{}' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", text));
}

// Splits `total` in two halves, the odd element at the end (upper) or at the beginning (lower).
void split_padding(Window& window, int64_t total, bool upper) {
  const int64_t half = total / 2;
  window.pad_begin = upper ? half : total - half;
  window.pad_end = total - window.pad_begin;
}

}  // namespace

Result<WindowSpec> read_windows(const Attributes& attributes, std::span<const int64_t> kernel) {
  WindowSpec spec;
  HONE_ASSIGN(spec.auto_pad, read_auto_pad(attributes));
  spec.ceil_mode = attributes.integer("ceil_mode", 0) != 0;
  Ints extents(kernel.begin(), kernel.end());
  const Ints named = attributes.ints("kernel_shape");
  if (extents.empty()) {
    if (named.empty()) return invalid("attribute kernel_shape is missing");
    extents = named;
  } else if (!named.empty() && named != extents) {
    return invalid(
        fmt::format("kernel_shape {} differs from the weight's {}", shape_text(named), shape_text(extents)));
  }
  const std::size_t count = extents.size();
  HONE_ASSIGN(const Ints strides, per_axis(attributes, "strides", count, 1, 1));
  HONE_ASSIGN(const Ints dilations, per_axis(attributes, "dilations", count, 1, 1));
  HONE_ASSIGN(Ints pads, per_axis(attributes, "pads", 2 * count, 0, 0));
  if (spec.auto_pad != AutoPad::kNotSet) std::fill(pads.begin(), pads.end(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (extents[i] < 1 || extents[i] > kLargest) {
      return invalid(fmt::format("a window of extent {} is not possible", extents[i]));
    }
    spec.axes.push_back({extents[i], strides[i], dilations[i], pads[i], pads[count + i]});
  }
  return spec;
}

Result<int64_t> place_window(Window& window, AutoPad auto_pad, bool ceil_mode, int64_t input) {
  if (auto_pad == AutoPad::kSameUpper || auto_pad == AutoPad::kSameLower) {
    const int64_t output = (input + window.stride - 1) / window.stride;
    const int64_t total = std::max<int64_t>(0, (output - 1) * window.stride + window.reach() - input);
    split_padding(window, total, auto_pad == AutoPad::kSameUpper);
    return output;
  }
  const int64_t room = input + window.pad_begin + window.pad_end - window.reach();
  if (room < 0) {
    return invalid(
        fmt::format("a window that reaches over {} elements does not fit into {} elements padded by {}",
                    window.reach(), input, window.pad_begin + window.pad_end));
  }
  if (!ceil_mode) return room / window.stride + 1;
  int64_t output = (room + window.stride - 1) / window.stride + 1;
  // A window must begin inside the input or the padding before it, never in the padding after it.
  if ((output - 1) * window.stride >= input + window.pad_begin) --output;
  return output;
}

Result<Shape> place_windows(WindowSpec& spec, std::span<const int64_t> input) {
  if (spec.axes.size() != input.size()) {
    return invalid(fmt::format("windows over {} axes, but the input has {} spatial axes", spec.axes.size(),
                               input.size()));
  }
  Shape output;
  for (std::size_t i = 0; i < input.size(); ++i) {
    HONE_ASSIGN(const int64_t extent, place_window(spec.axes[i], spec.auto_pad, spec.ceil_mode, input[i]));
    output.push_back(extent);
  }
  return output;
}

Result<Shape> place_transposed_windows(WindowSpec& spec, const Attributes& attributes,
                                       std::span<const int64_t> input) {
  const std::size_t count = spec.axes.size();
  if (count != input.size()) {
    return invalid(
        fmt::format("windows over {} axes, but the input has {} spatial axes", count, input.size()));
  }
  HONE_ASSIGN(const Ints extra, per_axis(attributes, "output_padding", count, 0, 0));
  Ints wanted = attributes.ints("output_shape");
  // Old exporters wrote the batch and channel extents too.
  if (wanted.size() == count + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  const bool same = spec.auto_pad == AutoPad::kSameUpper || spec.auto_pad == AutoPad::kSameLower;
  if (wanted.empty() && same) {
    for (std::size_t i = 0; i < count; ++i) wanted.push_back(input[i] * spec.axes[i].stride);
  }
  if (!wanted.empty() && wanted.size() != count) {
    return invalid(fmt::format("output_shape has {} values where {} are needed", wanted.size(), count));
  }
  Shape output;
  for (std::size_t i = 0; i < count; ++i) {
    Window& window = spec.axes[i];
    const int64_t full = window.stride * (input[i] - 1) + extra[i] + window.reach();
    if (!wanted.empty()) {
      split_padding(window, std::max<int64_t>(0, full - wanted[i]), spec.auto_pad == AutoPad::kSameUpper);
      output.push_back(wanted[i]);
    } else {
      output.push_back(full - window.pad_begin - window.pad_end);
    }
    if (output.back() < 0) return invalid(fmt::format("the padding leaves an extent of {}", output.back()));
  }
  return output;
}

}  // namespace hone
