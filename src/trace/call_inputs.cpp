#include "trace/call_inputs.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone::trace {
namespace {

using Kind = CallInput::Kind;

void append(const CallInput& input, std::string& text) {
  switch (input.kind) {
    case Kind::kNone:
      text += '-';
      return;
    case Kind::kTensor:
      text += fmt::format("{}[{}]", dtype_name(input.dtype), fmt::join(input.dims, ","));
      if (!input.strides.empty()) text += fmt::format("{{{}}}", fmt::join(input.strides, ","));
      return;
    case Kind::kList:
      text += '(';
      for (std::size_t i = 0; i < input.items.size(); ++i) {
        if (i > 0) text += ' ';
        append(input.items[i], text);
      }
      text += ')';
      return;
    case Kind::kValue:
      text += '=';
      for (char c : input.value)
        if (c > ' ' && c != ')') text += c;  // what would end the value
      return;
  }
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<CallInput>> run() {
    std::vector<CallInput> inputs;
    while (at_ < text_.size()) {
      if (!inputs.empty() && !take(' ')) return wrong("a space");
      HONE_ASSIGN(CallInput input, item());
      inputs.push_back(std::move(input));
    }
    return inputs;
  }

 private:
  Error wrong(std::string_view wanted) const {
    return corrupt(fmt::format("inputs of a call: expected {} at character {} of '{}'", wanted, at_, text_));
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<CallInput> item() {
    CallInput input;
    if (take('-')) return input;
    if (take('=')) {
      input.kind = Kind::kValue;
      const std::size_t end = std::min(text_.find_first_of(" )", at_), text_.size());
      input.value = text_.substr(at_, end - at_);
      at_ = end;
      return input;
    }
    return take('(') ? list() : tensor();
  }

  Result<CallInput> list() {
    CallInput input;
    input.kind = Kind::kList;
    while (!take(')')) {
      if (!input.items.empty() && !take(' ')) return wrong("a space or ')'");
      if (at_ < text_.size() && text_[at_] == '-') {
        ++at_;
        input.items.emplace_back();
        continue;
      }
      HONE_ASSIGN(CallInput element, tensor());
      input.items.push_back(std::move(element));
    }
    return input;
  }

  Result<CallInput> tensor() {
    CallInput input;
    input.kind = Kind::kTensor;
    const std::size_t open = text_.find('[', at_);
    if (open == std::string_view::npos) return wrong("a tensor");
    const std::string_view name = text_.substr(at_, open - at_);
    const auto dtype = name == dtype_name(DType::kUndefined) ? DType::kUndefined : dtype_from_name(name);
    if (!dtype) return wrong("an element type");
    input.dtype = *dtype;
    at_ = open + 1;
    HONE_CHECK(numbers(']', input.dims));
    if (!take('{')) return input;
    HONE_CHECK(numbers('}', input.strides));
    if (input.strides.size() != input.dims.size()) return wrong("a stride for each dimension");
    return input;
  }

  // Up to and with `close`.
  Status numbers(char close, std::vector<int64_t>& into) {
    while (!take(close)) {
      if (!into.empty() && !take(',')) return wrong("a comma");
      int64_t number = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
      if (error != std::errc()) return wrong("a number");
      at_ = static_cast<std::size_t>(end - text_.data());
      into.push_back(number);
    }
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

int64_t CallInput::elements() const {
  if (kind == Kind::kNone || kind == Kind::kValue) return 0;
  // In floating point, for a damaged trace may have any dimensions; exact up to 2^53.
  double count = kind == Kind::kTensor ? 1 : 0;
  for (int64_t dim : dims) count *= static_cast<double>(dim);
  for (const CallInput& item : items) count += static_cast<double>(item.elements());
  constexpr double kMost = 0x1p62;
  return static_cast<int64_t>(std::clamp(count, -kMost, kMost));
}

double CallInput::bytes() const {
  if (kind == Kind::kNone || kind == Kind::kValue) return 0;
  double sum = kind == Kind::kTensor ? static_cast<double>(dtype_size(dtype)) : 0;
  for (int64_t dim : dims) sum *= static_cast<double>(dim);
  for (const CallInput& item : items) sum += item.bytes();
  return sum;
}

double CallInput::stored_elements() const {
  if (kind == Kind::kNone || kind == Kind::kValue) return 0;
  double count = kind == Kind::kTensor ? 1 : 0;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == 0 || i >= strides.size() || strides[i] != 0) count *= static_cast<double>(dims[i]);
  for (const CallInput& item : items) count += item.stored_elements();
  return count;
}

double CallInput::stored_bytes() const {
  double sum = kind == Kind::kTensor ? stored_elements() * static_cast<double>(dtype_size(dtype)) : 0;
  for (const CallInput& item : items) sum += item.stored_bytes();
  return sum;
}

std::string call_inputs_text(const std::vector<CallInput>& inputs) {
  std::string text;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (i > 0) text += ' ';
    append(inputs[i], text);
  }
  return text;
}

Result<std::vector<CallInput>> parse_call_inputs(std::string_view text) { return Parser(text).run(); }

}  // namespace hone::trace
