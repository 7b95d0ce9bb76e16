#include "trace/aten/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone::trace::aten {
namespace {

bool parse_integer(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // "2." is how a whole number of floating point is written.
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  return error == std::errc() && (rest.empty() || rest == ".");
}

std::unordered_map<std::string_view, const Entry*> index_of_table() {
  std::unordered_map<std::string_view, const Entry*> index;
  for (const auto part : {matrix_operators(), recurrent_operators(), attention_operators(),
                          convolution_operators(), pointwise_operators(), normalization_operators(),
                          reduction_operators(), movement_operators(), optimizer_operators()})
    for (const Entry& entry : part) index.emplace(entry.kind, &entry);
  return index;
}

// Kinds of types, each of which wins over those before it.
int kind_rank(DType dtype) {
  if (dtype == DType::kUndefined) return -1;
  if (is_complex(dtype)) return 3;
  if (is_float(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

DType wider(DType a, DType b) {
  if (a == DType::kUndefined) return b;
  if (b == DType::kUndefined) return a;
  if (kind_rank(a) != kind_rank(b)) return kind_rank(a) > kind_rank(b) ? a : b;
  const bool halves = (a == DType::kF16 && b == DType::kBF16) || (a == DType::kBF16 && b == DType::kF16);
  if (halves) return DType::kF32;
  return dtype_size(a) >= dtype_size(b) ? a : b;
}

}  // namespace

std::span<const CallInput> Args::first(int count) const {
  return inputs_.first(std::min(inputs_.size(), static_cast<std::size_t>(std::max(count, 0))));
}

const CallInput* Args::tensor(std::size_t i) const {
  return i < inputs_.size() && inputs_[i].kind == CallInput::Kind::kTensor ? &inputs_[i] : nullptr;
}

std::span<const CallInput> Args::list(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i].kind != CallInput::Kind::kList) return {};
  return inputs_[i].items;
}

std::optional<double> Args::number(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i].kind != CallInput::Kind::kValue) return std::nullopt;
  const std::string& text = inputs_[i].value;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

std::optional<bool> Args::flag(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i].kind != CallInput::Kind::kValue) return std::nullopt;
  if (inputs_[i].value == "True") return true;
  if (inputs_[i].value == "False") return false;
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Args::integers(std::size_t i) const {
  if (i >= inputs_.size() || inputs_[i].kind != CallInput::Kind::kValue) return std::nullopt;
  std::string_view text = inputs_[i].value;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<int64_t> values;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    int64_t value = 0;
    if (!parse_integer(text.substr(0, comma), value)) return std::nullopt;
    values.push_back(value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return values;
}

std::array<bool, 3> Args::mask(std::size_t i, std::array<bool, 3> otherwise) const {
  if (i >= inputs_.size() || inputs_[i].kind != CallInput::Kind::kValue) return otherwise;
  const std::string& text = inputs_[i].value;
  std::size_t from = 0;
  for (bool& wanted : otherwise) {
    const std::size_t yes = text.find("True", from), no = text.find("False", from);
    if (yes == std::string::npos && no == std::string::npos) break;
    wanted = yes < no;
    from = std::min(yes, no) + 4;
  }
  return otherwise;
}

const Entry* find_entry(std::string_view kind) {
  static const std::unordered_map<std::string_view, const Entry*> kIndex = index_of_table();
  const auto at = kIndex.find(kind);
  return at == kIndex.end() ? nullptr : at->second;
}

double elements(std::span<const int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(dim);
  return count;
}

double tensor_bytes(std::span<const int64_t> dims, DType dtype) {
  return elements(dims) * static_cast<double>(dtype_size(dtype));
}

std::string dims_text(std::span<const int64_t> dims) {
  return dims.empty() ? "a scalar" : fmt::format("{}", fmt::join(dims, "×"));
}

std::string tensor_text(const CallInput& tensor) {
  return fmt::format("{} {}", dims_text(tensor.dims), dtype_name(tensor.dtype));
}

DType promote(std::span<const CallInput> operands) {
  DType with_dims = DType::kUndefined, without = DType::kUndefined, number = DType::kUndefined;
  for (const CallInput& operand : operands) {
    if (operand.kind == CallInput::Kind::kTensor)
      (operand.dims.empty() ? without : with_dims) =
          wider(operand.dims.empty() ? without : with_dims, operand.dtype);
    else if (operand.kind == CallInput::Kind::kValue)
      number = operand.value.find_first_of(".en") == std::string::npos ? DType::kI64 : DType::kF32;
  }
  // A lower group counts only with a higher kind of type. A double without dimensions is how a Python number
  // arrives: it does not widen.
  DType result = with_dims;
  for (DType other : {without, number}) {
    if (kind_rank(other) <= kind_rank(result)) continue;
    const bool python_number = other == DType::kF64 && result != DType::kUndefined;
    result = python_number ? DType::kF32 : other;
  }
  return result;
}

DType scalar_type(int64_t code) {
  constexpr std::array kTypes = {
      DType::kU8,        DType::kI8,        DType::kI16,       DType::kI32,       DType::kI64,
      DType::kF16,       DType::kF32,       DType::kF64,       DType::kUndefined, DType::kC64,
      DType::kC128,      DType::kBool,      DType::kUndefined, DType::kUndefined, DType::kUndefined,
      DType::kBF16,      DType::kUndefined, DType::kUndefined, DType::kUndefined, DType::kUndefined,
      DType::kUndefined, DType::kUndefined, DType::kUndefined, DType::kF8E5M2,    DType::kF8E4M3FN,
  };
  return code >= 0 && code < static_cast<int64_t>(kTypes.size()) ? kTypes[static_cast<std::size_t>(code)]
                                                                 : DType::kUndefined;
}

}  // namespace hone::trace::aten
