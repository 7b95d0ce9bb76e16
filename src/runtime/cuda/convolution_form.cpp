#include "runtime/cuda/convolution_form.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/window.h"
#include "graph/product_math.h"
#include "kernels/cuda/strided_copy.h"
#include "runtime/cuda/gpu_launches.h"

namespace hone::runtime::cuda_kernels {
namespace {

using cuda::ConvolutionActivation;
using cuda::CudnnPointwise;

// --- what an epilogue may hold ---

struct ConvolutionStep {
  std::string_view op;
  std::optional<CudnnPointwise> function;  // nullopt: a second operand is added
};
constexpr std::array kConvolutionSteps = {
    ConvolutionStep{"Add", {}},
    ConvolutionStep{"Relu", CudnnPointwise::kRelu},
    ConvolutionStep{"LeakyRelu", CudnnPointwise::kRelu},
    ConvolutionStep{"Clip", CudnnPointwise::kRelu},
    ConvolutionStep{"Sigmoid", CudnnPointwise::kSigmoid},
    ConvolutionStep{"Tanh", CudnnPointwise::kTanh},
    ConvolutionStep{"Elu", CudnnPointwise::kElu},
    ConvolutionStep{"Softplus", CudnnPointwise::kSoftplus},
    ConvolutionStep{"Swish", CudnnPointwise::kSwish},
    ConvolutionStep{"Gelu", CudnnPointwise::kGeluErf},  // or by tanh, where the node says so
};

const ConvolutionStep* find_convolution_step(const graph::Node& node) {
  const auto found = std::find_if(kConvolutionSteps.begin(), kConvolutionSteps.end(),
                                  [&](const ConvolutionStep& step) { return step.op == node.op; });
  return found == kConvolutionSteps.end() ? nullptr : &*found;
}

bool is_convolution_type(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

// --- what is packed ---

Tensor tensor_of(const std::vector<double>& values, DType dtype) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto x = static_cast<float>(values[i]);
    if (dtype == DType::kF32)
      tensor.as<float>()[i] = x;
    else
      tensor.as<uint16_t>()[i] = dtype == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
  }
  return tensor;
}

int64_t spatial_count(const Shape& shape) {
  return element_count(std::span(shape).subspan(std::min<std::size_t>(2, shape.size())));
}

// --- reading ---

class ConvolutionReader {
 public:
  ConvolutionReader(const LowerContext& context, const GroupView& group) : context_(context), group_(group) {}

  std::variant<ConvolutionForm, std::string> read() {
    for (const auto step :
         {&ConvolutionReader::read_types, &ConvolutionReader::read_window, &ConvolutionReader::read_operands,
          &ConvolutionReader::read_epilogue, &ConvolutionReader::settle_bias}) {
      if (std::string why = (this->*step)(); !why.empty()) return why;
    }
    return std::move(form_);
  }

 private:
  const graph::Node& node() const { return group_.anchor(); }
  const graph::TensorType& result() const { return group_.type(node().outputs[0]); }

  std::string read_types() {
    const graph::TensorType& x = group_.type(node().inputs[0]);
    const graph::TensorType& w = group_.type(node().inputs[1]);
    const graph::TensorType& y = context_.out();
    if (!is_convolution_type(x.dtype) || w.dtype != x.dtype || y.dtype != x.dtype)
      return fmt::format("cuDNN's convolutions are of f32, f16 and bf16, not of {} and {}",
                         dtype_name(x.dtype), dtype_name(w.dtype));
    if (x.rank() < 3 || x.rank() > 5) return "cuDNN's convolutions have one to three spatial axes";
    if (x.layout != y.layout || channel_block(x.layout) > 1 || w.layout != Layout::kPlain)
      return fmt::format("cuDNN has no convolution from {} to {}", layout_name(x.layout),
                         layout_name(y.layout));
    if (element_count(x.shape()) == 0 || element_count(w.shape()) == 0 || element_count(y.shape()) == 0)
      return "an empty image";
    cuda::ConvolutionDesc& desc = form_.desc;
    desc.dtype = x.dtype;
    desc.tf32 = x.dtype == DType::kF32 && graph::may_use_tf32(node());
    desc.channels_last = x.layout == Layout::kChannelsLast;
    desc.transposed = node().op == "ConvTranspose";
    desc.x = x.shape();
    desc.w = w.shape();
    desc.y = result().shape();
    return {};
  }

  std::string read_window() {
    cuda::ConvolutionDesc& desc = form_.desc;
    const std::span<const int64_t> spatial = std::span(desc.x).subspan(2),
                                   kernel = std::span(desc.w).subspan(2);
    auto windows = read_windows(node().attributes, kernel);
    if (!windows.ok()) return windows.error().message;
    const auto placed = desc.transposed ? place_transposed_windows(*windows, node().attributes, spatial)
                                        : place_windows(*windows, spatial);
    if (!placed.ok()) return placed.error().message;
    if (*placed != Shape(desc.y.begin() + 2, desc.y.end())) return "its result has another shape";
    for (std::size_t i = 0; i < windows->axes.size(); ++i) {
      Window& window = windows->axes[i];
      // Behind the result of a transposed one lies what no element of the input reaches: padding of what it transposes
      // that is not there, which the library takes as an image that is larger by less than a stride.
      if (desc.transposed) window.pad_end = std::max<int64_t>(0, padding_behind(i, window));
      if (window.pad_begin < 0 || window.pad_end < 0) return "cuDNN has no negative padding";
      desc.strides.push_back(window.stride);
      desc.dilations.push_back(window.dilation);
      desc.pads_begin.push_back(window.pad_begin);
      desc.pads_end.push_back(window.pad_end);
    }
    return desc.transposed ? check_transposed() : std::string();
  }

  // What the convolution that this one transposes has behind its image, which is our result.
  int64_t padding_behind(std::size_t axis, const Window& window) const {
    return (form_.desc.x[axis + 2] - 1) * window.stride + window.reach() - form_.desc.y[axis + 2] -
           window.pad_begin;
  }
  std::string check_transposed() const {
    const cuda::ConvolutionDesc& desc = form_.desc;
    for (std::size_t i = 0; i < desc.strides.size(); ++i) {
      const int64_t reach = (desc.w[i + 2] - 1) * desc.dilations[i] + 1;
      const int64_t room = desc.y[i + 2] + desc.pads_begin[i] + desc.pads_end[i] - reach;
      if (room < 0 || room / desc.strides[i] + 1 != desc.x[i + 2])
        return "no convolution gives its input: its result is padded by a stride or more";
    }
    return {};
  }

  std::string read_operands() {
    const auto x = group_.input_index(node().inputs[0]);
    const auto w = group_.input_index(node().inputs[1]);
    if (!x) return "a constant image";
    form_.x = *x;
    const Shape& shape = form_.desc.w;
    const Tensor* const weights = group_.constant(node().inputs[1]);
    form_.repack_w = form_.desc.channels_last && !lies_alike(shape);
    if (form_.repack_w && weights != nullptr) {
      form_.packed_w = *weights;
    } else if (w) {
      form_.w = w;
    } else {
      form_.packed_w = *weights;
    }
    if (!node().has_input(2)) return {};
    bias_value_ = node().inputs[2];
    if (group_.type(*bias_value_).dtype != form_.desc.dtype) return "a bias of another type";
    return {};
  }

  // What is added, then at most one function of the sum.
  std::string read_epilogue() {
    graph::ValueId value = node().outputs[0];
    for (const graph::Node& next : group_.nodes().subspan(1)) {
      const ConvolutionStep* const step = find_convolution_step(next);
      if (step == nullptr) return fmt::format("no {} behind a convolution", next.op);
      if (form_.desc.activation.mode) return fmt::format("no {} behind a function", next.op);
      std::string why =
          step->function ? read_function(next, *step->function, value) : read_addition(next, value);
      if (!why.empty()) return why;
      value = next.outputs[0];
    }
    return {};
  }

  std::string read_function(const graph::Node& next, CudnnPointwise mode, graph::ValueId value) {
    if (next.inputs[0] != value) return fmt::format("{} of something else", next.op);
    ConvolutionActivation& activation = form_.desc.activation;
    activation.mode = mode;
    if (next.op == "LeakyRelu") activation.slope = next.attributes.real("alpha", 0.01F);
    if (next.op == "Elu" || next.op == "Swish") activation.alpha = next.attributes.real("alpha", 1.0F);
    if (next.op == "Gelu" && next.attributes.text("approximate", "none") == "tanh")
      activation.mode = CudnnPointwise::kGeluTanh;
    return next.op == "Clip" ? read_clip(next) : std::string();
  }

  std::string read_clip(const graph::Node& next) {
    const auto bound = [&](std::size_t i, double otherwise) -> std::optional<double> {
      if (!next.has_input(i)) return otherwise;
      const Tensor* const number = group_.constant(next.inputs[i]);
      return number == nullptr || number->size() != 1 ? std::nullopt : std::optional(number->at(0));
    };
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto low = bound(1, -kInfinity), high = bound(2, kInfinity);
    if (!low || !high || *low != 0 || *high < 0) return "cuDNN clips from 0 alone";
    form_.desc.activation.has_high = *high < kInfinity;
    form_.desc.activation.high = form_.desc.activation.has_high ? *high : 0;
    return {};
  }

  std::string read_addition(const graph::Node& next, graph::ValueId value) {
    if ((next.inputs[0] == value) == (next.inputs[1] == value)) return "a sum of other things";
    const graph::ValueId operand = next.inputs[next.inputs[0] == value ? 1 : 0];
    const graph::TensorType& type = group_.type(operand);
    if (type.dtype != form_.desc.dtype) return "a sum with another type";
    if (type.shape() == form_.desc.y && !form_.desc.added) {
      form_.added = group_.input_index(operand);
      form_.desc.added = form_.added && type.layout == context_.out().layout;
      return form_.desc.added ? std::string() : "a sum with what lies otherwise";
    }
    const Tensor* const constant = group_.constant(operand);
    if (constant == nullptr || !is_number_a_channel(type.shape())) return "a sum with what is broadcast";
    constants_.push_back(*constant);
    return {};
  }

  bool is_number_a_channel(const Shape& shape) const {
    if (element_count(shape) == 1) return shape.size() <= form_.desc.y.size();
    const std::size_t rank = form_.desc.y.size();
    if (shape.size() > rank || shape.size() < rank - 1) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t axis = rank - shape.size() + i;
      if (shape[i] != (axis == 1 ? form_.desc.y[1] : 1)) return false;
    }
    return true;
  }

  // One bias of all constants. The library's compiled engines have one wherever anything follows: zeros where we have none.
  std::string settle_bias() {
    const bool follows = form_.desc.added || form_.desc.activation.mode;
    form_.desc.bias = bias_value_ || !constants_.empty() || follows;
    if (!form_.desc.bias) return {};
    if (bias_value_ && constants_.empty()) {
      form_.bias = group_.input_index(*bias_value_);
      if (form_.bias) return {};
    }
    std::vector<double> sums(static_cast<std::size_t>(form_.desc.y[1]), 0.0);
    if (bias_value_) {
      const Tensor* const bias = group_.constant(*bias_value_);
      if (bias == nullptr) return "a sum of a bias that is computed and a constant";
      constants_.push_back(*bias);
    }
    for (const Tensor& constant : constants_) {
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] += constant.at(constant.size() == 1 ? 0 : static_cast<int64_t>(i));
    }
    form_.packed_bias = tensor_of(sums, form_.desc.dtype);
    return {};
  }

  const LowerContext& context_;
  const GroupView& group_;
  ConvolutionForm form_;
  std::optional<graph::ValueId> bias_value_;
  std::vector<Tensor> constants_;
};

}  // namespace

std::size_t most_workspace(const cuda::ConvolutionDesc& desc) {
  constexpr std::size_t kAlways = std::size_t{512} << 20;
  const int64_t elements = element_count(desc.x) + element_count(desc.w) + element_count(desc.y);
  const std::size_t operands = static_cast<std::size_t>(elements) * dtype_size(desc.dtype);
  return std::max(kAlways, operands + operands / 16);  // and what aligns them
}

Tensor with_channels_last(const Tensor& weights) {
  const Shape& shape = weights.shape();
  const int64_t filters = shape[0], channels = shape[1], places = spatial_count(shape);
  const std::size_t size = dtype_size(weights.dtype());
  Tensor packed(weights.dtype(), shape);
  const auto* const from = static_cast<const std::byte*>(weights.data());
  auto* to = static_cast<std::byte*>(packed.data());
  for (int64_t k = 0; k < filters; ++k) {
    for (int64_t place = 0; place < places; ++place) {
      for (int64_t c = 0; c < channels; ++c) {
        std::memcpy(to, from + static_cast<std::size_t>((k * channels + c) * places + place) * size, size);
        to += size;
      }
    }
  }
  return packed;
}

bool lies_alike(const Shape& weights) { return weights[1] == 1 || spatial_count(weights) == 1; }

std::optional<FilterCopy> filter_copy(const Shape& weights, DType dtype, bool to_channels_last) {
  const int64_t places = spatial_count(weights);
  const Shape from =
      to_channels_last ? Shape{weights[0], weights[1], places} : Shape{weights[0], places, weights[1]};
  constexpr std::array<int64_t, 3> kSwapped = {0, 2, 1};
  auto copy = kernels::gpu::generate_strided_copies(
      std::array{kernels::transpose_copy(dtype_size(dtype), from, kSwapped)});
  if (!copy.ok()) return std::nullopt;
  const auto shape = line_of_blocks(copy->blocks, kernels::gpu::kCopyBlock);
  if (!shape) return std::nullopt;
  return FilterCopy{std::move(copy->source), *shape};
}

std::variant<ConvolutionForm, std::string> read_convolution_form(const LowerContext& context,
                                                                 const GroupView& group) {
  return ConvolutionReader(context, group).read();
}

std::vector<graph::EpilogueCapability> convolution_epilogues() {
  std::vector<graph::EpilogueCapability> rows;
  for (const ConvolutionStep& step : kConvolutionSteps) rows.push_back({step.op, !step.function, false});
  return rows;
}

}  // namespace hone::runtime::cuda_kernels
