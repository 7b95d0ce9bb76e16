#include "trace/operator_kind.h"

#include <array>

namespace hone::trace {
namespace {

using enum OperatorKind;

constexpr std::string_view kAten = "aten::";

constexpr std::array<std::string_view, kOperatorKindCount> kKindNames = {
    "other",
    "add",
    "sub",
    "mul",
    "div",
    "addcmul",
    "addcdiv",
    "comparison",
    "logical",
    "abs",
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "mv",
    "addmv",
    "convolution",
    "convolution backward",
    "transposed convolution",
    "attention",
    "softmax",
    "embedding",
    "copy",
    "other copy",
    "cat",
    "fill",
    "clone",
    "repeat",
    "scatter",
    "index_put",
    "all or any",
    "read a value",
    "read a size",
    "update",
    "lists",
    "fused",
    "copy of lists",
    "generated",
};

// The first row that matches decides. PyTorch: native_functions.yaml; whole names stand for themselves and,
// with a '_' at the end, for the form that works in place.
constexpr NamePattern<OperatorKind> kOperatorKinds[] = {
    {"aten::add", kAdd, At::kWhole},
    {"aten::sub", kSub, At::kWhole},
    {"aten::mul", kMul, At::kWhole},
    {"aten::div", kDiv, At::kWhole},
    {"aten::addcmul", kAddcmul, At::kWhole},
    {"aten::addcdiv", kAddcdiv, At::kWhole},
    {"aten::eq", kComparison, At::kWhole},
    {"aten::ne", kComparison, At::kWhole},
    {"aten::lt", kComparison, At::kWhole},
    {"aten::le", kComparison, At::kWhole},
    {"aten::gt", kComparison, At::kWhole},
    {"aten::ge", kComparison, At::kWhole},
    {"aten::isnan", kComparison, At::kWhole},
    {"aten::isinf", kComparison, At::kWhole},
    {"aten::logical_not", kLogical, At::kWhole},
    {"aten::logical_and", kLogical, At::kWhole},
    {"aten::logical_or", kLogical, At::kWhole},
    {"aten::bitwise_not", kLogical, At::kWhole},
    {"aten::bitwise_and", kLogical, At::kWhole},
    {"aten::bitwise_or", kLogical, At::kWhole},
    {"aten::abs", kAbs, At::kWhole},
    {"aten::mm", kMm, At::kWhole},
    {"aten::addmm", kAddmm, At::kWhole},
    {"aten::bmm", kBmm, At::kWhole},
    {"aten::baddbmm", kBaddbmm, At::kWhole},
    {"aten::mv", kMv, At::kWhole},
    {"aten::addmv", kAddmv, At::kWhole},
    {"aten::convolution", kConvolution, At::kWhole},
    {"aten::_convolution", kConvolution, At::kWhole},
    {"aten::convolution_backward", kConvolutionBackward, At::kWhole},
    {"conv_transpose", kTransposedConvolution},
    {"convolution_transpose", kTransposedConvolution},
    {"aten::copy", kCopy, At::kWhole},
    {"aten::cat", kCat, At::kWhole},
    {"aten::fill", kFill, At::kWhole},
    {"aten::zero", kFill, At::kWhole},
    {"aten::clone", kClone, At::kWhole},
    {"aten::repeat", kRepeat, At::kWhole},
    {"aten::all", kAllOrAny, At::kWhole},
    {"aten::any", kAllOrAny, At::kWhole},
    {"aten::item", kReadValue, At::kWhole},
    {"aten::_local_scalar_dense", kReadValue, At::kWhole},
    {"aten::is_nonzero", kReadValue, At::kWhole},
    {"aten::equal", kReadValue, At::kWhole},
    {"aten::nonzero", kReadSize, At::kWhole},
    {"aten::nonzero_numpy", kReadSize, At::kWhole},
    {"aten::masked_select", kReadSize, At::kWhole},
    {"aten::_unique", kReadSize, At::kWhole},
    {"aten::_unique2", kReadSize, At::kWhole},
    {"aten::unique_dim", kReadSize, At::kWhole},
    {"aten::unique_consecutive", kReadSize, At::kWhole},
    {"aten::_foreach_copy", kListCopy, At::kFront},
    {"aten::_foreach_", kLists, At::kFront},
    {"aten::_amp_foreach_", kLists, At::kFront},
    {"aten::_fused_adam", kUpdate, At::kFront},
    {"aten::_fused_sgd", kUpdate, At::kFront},
    {"aten::_fused_adagrad", kUpdate, At::kFront},
    {"attention", kAttention},
    {"softmax", kSoftmax},
    {"embedding", kEmbedding},
    {"index_put", kIndexPut},
    {"scatter", kScatter},
    {"triton_", kGenerated, At::kFront},  // by Inductor, of none of the above
    {"_fused_", kFused},
    {"copy", kOtherCopy},
};

}  // namespace

std::string_view operator_kind_name(OperatorKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::span<const NamePattern<OperatorKind>> operator_kind_table() { return kOperatorKinds; }

OperatorKind operator_kind(std::string_view name) {
  if (is_in_place(name)) name.remove_suffix(1);
  return first_match(operator_kind_table(), name).value_or(kOther);
}

bool is_in_place(std::string_view name) { return name.ends_with('_'); }

std::string_view operator_word(std::string_view name) {
  if (name.starts_with(kAten)) name.remove_prefix(kAten.size());
  return name;
}

}  // namespace hone::trace
