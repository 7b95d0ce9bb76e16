#include "trace/aten/triton.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

// "poi": pointwise, "red" and "per": reductions, looped and held, "tem": a template for products.
std::string_view kernel_shape(std::string_view kind) { return kind.substr(7, 3); }

// Operators that Inductor names and the table does not: views and what makes constants cost nothing.
constexpr std::array<std::string_view, 34> kFree = {"view",
                                                    "_unsafe_view",
                                                    "permute",
                                                    "transpose",
                                                    "t",
                                                    "expand",
                                                    "squeeze",
                                                    "unsqueeze",
                                                    "clone",
                                                    "slice",
                                                    "select",
                                                    "split",
                                                    "as_strided",
                                                    "detach",
                                                    "alias",
                                                    "full",
                                                    "full_like",
                                                    "zeros",
                                                    "zeros_like",
                                                    "ones",
                                                    "ones_like",
                                                    "arange",
                                                    "iota",
                                                    "scalar_tensor",
                                                    "_to_copy",
                                                    "convert_element_type",
                                                    "split_with_sizes",
                                                    "new_zeros",
                                                    "new_empty",
                                                    "empty",
                                                    "lift_fresh_copy",
                                                    "prepare_softmax_online",
                                                    "unbind",
                                                    "reshape"};

bool is_source(std::string_view name) {
  return find_entry(name) != nullptr || std::find(kFree.begin(), kFree.end(), name) != kFree.end();
}

// The longest operator that `text` begins with, up to an underscore or the end.
std::size_t longest_source(std::string_view text) {
  for (std::size_t end = text.size(); end != std::string_view::npos && end > 0;
       end = text.rfind('_', end - 1))
    if (is_source(text.substr(0, end))) return end;
  return 0;
}

}  // namespace

bool is_triton(std::string_view kind) { return kind.starts_with("triton_") && kind.size() > 10; }

OperatorClass triton_class(std::string_view kind) {
  const std::string_view shape = kernel_shape(kind);
  if (shape == "tem") return OperatorClass::kMatrix;
  if (kind.find("_norm") != std::string_view::npos) return OperatorClass::kNormalization;
  if (shape == "red" || shape == "per") return OperatorClass::kReduction;
  return OperatorClass::kPointwise;
}

std::vector<std::string> triton_sources(std::string_view kernel) {
  constexpr std::string_view kFused = "_fused_";
  const std::size_t at = kernel.find(kFused);
  if (!is_triton(kernel) || at == std::string_view::npos) return {};
  std::string_view text = kernel.substr(at + kFused.size());
  // the number that makes the name unique
  const std::size_t digits = text.find_last_not_of("0123456789");
  if (digits == std::string_view::npos) return {};
  if (text[digits] == '_') text = text.substr(0, digits);
  std::vector<std::string> sources;
  while (!text.empty()) {
    std::size_t length = longest_source(text);
    if (length == 0) length = std::min(text.find('_', 1), text.size());  // unknown: up to the next underscore
    sources.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return sources;
}

namespace {

// A template for a product: among the arguments, a[m,k], b[k,n] and c[m,n] the last one being c; maybe
// with a batch in front of each.
std::optional<CallCost> product_cost(std::string_view kind, std::span<const CallInput> inputs) {
  std::vector<const CallInput*> tensors;
  for (const CallInput& input : inputs)
    if (input.kind == CallInput::Kind::kTensor && (input.dims.size() == 2 || input.dims.size() == 3))
      tensors.push_back(&input);
  const auto dim = [](const CallInput* tensor, std::size_t from_end) {
    return tensor->dims[tensor->dims.size() - from_end];
  };
  for (const CallInput* a : tensors)
    for (const CallInput* b : tensors)
      for (const CallInput* c : tensors) {
        const bool fits = a != b && b != c && a != c && a->dims.size() == b->dims.size() &&
                          b->dims.size() == c->dims.size() && dim(a, 1) == dim(b, 2) &&
                          dim(a, 2) == dim(c, 2) && dim(b, 1) == dim(c, 1);
        if (!fits || c != tensors.back()) continue;  // Inductor puts the output last
        CallCost cost;
        cost.op_class = OperatorClass::kMatrix;
        cost.dtype = a->dtype;
        cost.flops = 2 * elements(c->dims) * static_cast<double>(dim(a, 1));
        for (const CallInput& input : inputs) cost.bytes_read += input.stored_bytes();
        cost.bytes_read -= c->stored_bytes();
        cost.bytes_written = c->bytes();
        cost.geometry = fmt::format("{} · {}, fuses {}", dims_text(a->dims), dims_text(b->dims),
                                    fmt::join(triton_sources(kind), ", "));
        return cost;
      }
  return std::nullopt;
}

// Elements that a pointwise kernel reads at most of one tensor where it takes a part of it (q of q, k and v
// in one): two for each result, as rotary embeddings and gates do. Others may read all.
double most_read(std::string_view kind, std::span<const CallInput> inputs) {
  const auto names = [&](std::string_view source) { return kind.find(source) != std::string_view::npos; };
  const bool part = names("_split") || names("_slice") || names("_select") || names("_unbind");
  if (kernel_shape(kind) != "poi" || !part) return std::numeric_limits<double>::infinity();
  double results = 0;
  for (const CallInput& input : inputs)
    if (input.kind == CallInput::Kind::kTensor) results = static_cast<double>(input.elements());
  return 2 * results;
}

double read_bytes(const CallInput& input, double most_elements) {
  return std::min(input.stored_bytes(), most_elements * static_cast<double>(dtype_size(input.dtype)));
}

}  // namespace

std::optional<CallCost> triton_cost(std::string_view kind, std::span<const CallInput> inputs) {
  if (kernel_shape(kind) == "tem") return product_cost(kind, inputs);
  const double most = most_read(kind, inputs);
  CallCost cost;
  cost.op_class = triton_class(kind);
  const CallInput* last = nullptr;
  double largest = 0, most_bytes = 0;
  for (const CallInput& input : inputs) {
    if (input.kind != CallInput::Kind::kTensor) continue;
    last = &input;
    cost.bytes_read += read_bytes(input, most);
    largest = std::max(largest, std::min(static_cast<double>(input.elements()), most / 2));
    if (input.bytes() > most_bytes) {
      most_bytes = input.bytes();
      cost.dtype = input.dtype;
    }
  }
  if (last == nullptr) return std::nullopt;
  cost.bytes_read -= read_bytes(*last, most);
  cost.bytes_written = last->bytes();
  const std::vector<std::string> sources = triton_sources(kind);
  for (const std::string& source : sources)
    if (const Entry* entry = find_entry(source)) cost.flops += entry->flops * largest;
  cost.geometry = fmt::format("fuses {}", fmt::join(sources, ", "));
  return cost;
}

}  // namespace hone::trace::aten
