// Normalisation and its gradients. FLOPs an element, forward: mean 1, variance 3, normalising 2, scale and
// shift 2; backward: x̂ again 2, the gradient's two sums 3, the gradient of the input 5, of scale and shift 3.
#include <algorithm>

#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

// Bytes of all tensors among the arguments from `first` on.
double tensors_from(const Args& args, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < args.count(); ++i)
    if (args.tensor(i) != nullptr) sum += args.stored_bytes(i);
  return sum;
}

// x first, then scale, shift and statistics, all small. Writes y and a mean and deviation for each group.
std::optional<OperatorCost> forward(const Args& args, double flops, double groups) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return OperatorCost{flops * elements(x->dims),
                      tensors_from(args, 0),
                      x->bytes() + 2 * 4 * groups,
                      x->dtype,
                      tensor_text(*x),
                      kOther,
                      {elements(x->dims), x->dtype}};
}

// native_layer_norm(x, normalized_shape, weight, bias, eps): a group for each row
std::optional<OperatorCost> layer_norm(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  const auto shape = args.integers(1);
  if (x == nullptr || !shape) return std::nullopt;
  return forward(args, entry.flops, elements(x->dims) / std::max(1.0, elements(*shape)));
}

// native_batch_norm(x, weight, bias, running_mean, running_var, training, …): a group for each channel
std::optional<OperatorCost> batch_norm(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr || x->dims.size() < 2) return std::nullopt;
  const bool training = args.flag(5).value_or(true);
  const auto channels = static_cast<double>(x->dims[1]);
  auto cost = forward(args, training ? entry.flops : 4, channels);
  if (training) cost->written += 2 * 4 * channels;  // the running statistics
  return cost;
}

// native_group_norm(x, weight, bias, N, C, HxW, groups, eps)
std::optional<OperatorCost> group_norm(const Args& args, const Entry& entry) {
  return forward(args, entry.flops, args.number(3).value_or(1) * args.number(6).value_or(1));
}

// _fused_rms_norm(x, normalized_shape, weight, eps)
std::optional<OperatorCost> rms_norm(const Args& args, const Entry& entry) { return layer_norm(args, entry); }

// The gradient of the output and x stand first, in either order. Writes the gradient of x, and of scale and
// shift where there is a scale.
std::optional<OperatorCost> backward(const Args& args, const Entry& entry) {
  const CallInput *gradient = args.tensor(0), *x = args.tensor(1);
  if (gradient == nullptr || x == nullptr || gradient->dims != x->dims) return std::nullopt;
  double parameters = 0;  // f32 or of x's type: as large as the largest small tensor with one dimension
  for (std::size_t i = 2; i < args.count(); ++i)
    if (const CallInput* tensor = args.tensor(i); tensor != nullptr && tensor->dims.size() == 1)
      parameters = std::max(parameters, tensor->bytes());
  return OperatorCost{entry.flops * elements(x->dims), tensors_from(args, 0),
                      x->bytes() + 2 * parameters,     x->dtype,
                      "gradient, " + tensor_text(*x),  kOther,
                      {elements(x->dims), x->dtype}};
}

constexpr Entry kNormalizationTable[] = {
    {"native_layer_norm", kNormalization, layer_norm, 8},
    {"native_layer_norm_backward", kNormalization, backward, 13},
    {"native_batch_norm", kNormalization, batch_norm, 8},
    {"cudnn_batch_norm", kNormalization, batch_norm, 8},
    {"miopen_batch_norm", kNormalization, batch_norm, 8},
    {"_native_batch_norm_legit", kNormalization, batch_norm, 8},
    {"native_batch_norm_backward", kNormalization, backward, 13},
    {"cudnn_batch_norm_backward", kNormalization, backward, 13},
    {"native_group_norm", kNormalization, group_norm, 8},
    {"native_group_norm_backward", kNormalization, backward, 13},
    {"_fused_rms_norm", kNormalization, rms_norm, 4},  // square, sum, normalise, scale
    {"_fused_rms_norm_backward", kNormalization, backward, 8},
    // call the ones above, or are written out in pointwise operators
    {"layer_norm", kNormalization},
    {"batch_norm", kNormalization},
    {"_batch_norm_impl_index", kNormalization},
    {"_batch_norm_with_update", kNormalization, batch_norm, 8},
    {"instance_norm", kNormalization},
    {"group_norm", kNormalization},
    {"rms_norm", kNormalization},
};

}  // namespace

std::span<const Entry> normalization_operators() { return kNormalizationTable; }

}  // namespace hone::trace::aten
