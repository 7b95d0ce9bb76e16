#include "trace/import/kineto/inputs.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "trace/call_inputs.h"
#include "trace/import/kineto/text.h"

namespace hone::trace::kineto {
namespace {

namespace dom = simdjson::dom;

constexpr std::array<std::pair<std::string_view, DType>, 44> kTypes = {{
    {"float", DType::kF32},
    {"c10::BFloat16", DType::kBF16},
    {"c10::Half", DType::kF16},
    {"long int", DType::kI64},
    {"double", DType::kF64},
    {"int", DType::kI32},
    {"bool", DType::kBool},
    {"unsigned char", DType::kU8},
    {"signed char", DType::kI8},
    {"char", DType::kI8},
    {"long", DType::kI64},
    {"long long", DType::kI64},
    {"short", DType::kI16},
    {"short int", DType::kI16},
    {"unsigned short", DType::kU16},
    {"short unsigned int", DType::kU16},
    {"unsigned int", DType::kU32},
    {"long unsigned int", DType::kU64},
    {"unsigned long", DType::kU64},
    {"c10::complex<float>", DType::kC64},
    {"c10::complex<double>", DType::kC128},
    {"c10::Float8_e4m3fn", DType::kF8E4M3FN},
    {"c10::Float8_e4m3fnuz", DType::kF8E4M3FNUZ},
    {"c10::Float8_e5m2", DType::kF8E5M2},
    {"c10::Float8_e5m2fnuz", DType::kF8E5M2FNUZ},
    {"c10::Float8_e8m0fnu", DType::kF8E8M0},
    {"c10::Float4_e2m1fn_x2", DType::kF4E2M1},
    {"Float", DType::kF32},
    {"BFloat16", DType::kBF16},
    {"Half", DType::kF16},
    {"Long", DType::kI64},
    {"Double", DType::kF64},
    {"Int", DType::kI32},
    {"Bool", DType::kBool},
    {"Byte", DType::kU8},
    {"Char", DType::kI8},
    {"Short", DType::kI16},
    {"UInt16", DType::kU16},
    {"UInt32", DType::kU32},
    {"UInt64", DType::kU64},
    {"ComplexFloat", DType::kC64},
    {"ComplexDouble", DType::kC128},
    {"Float8_e4m3fn", DType::kF8E4M3FN},
    {"Float8_e5m2", DType::kF8E5M2},
}};

using Numbers = std::vector<int64_t>;

bool numbers_of(const dom::element& element, Numbers& numbers) {
  dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return false;
  for (const dom::element item : array) {
    int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) return false;
    numbers.push_back(number);
  }
  return true;
}

// Strides as they follow from the dimensions if the elements lie packed, the last dimension fastest. The
// stride of a dimension of one element means nothing.
bool packed(const Numbers& dims, const Numbers& strides) {
  if (dims.size() != strides.size()) return false;
  int64_t expected = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, std::max<int64_t>(dims[i], 1), &expected)) return false;
  }
  return true;
}

void set_strides(CallInput& tensor, Numbers strides) {
  if (strides.size() == tensor.dims.size() && !packed(tensor.dims, strides))
    tensor.strides = std::move(strides);
}

using Elements = std::vector<dom::element>;

bool elements_of(const dom::element& element, Elements& elements) {
  dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return false;
  for (const dom::element item : array) elements.push_back(item);
  return true;
}

// A "TensorList": dimensions and strides are lists with an entry for each tensor; types are not recorded.
std::optional<CallInput> list_of_tensors(const dom::element& dims, const dom::element* strides) {
  CallInput list;
  list.kind = CallInput::Kind::kList;
  Elements each_dims, each_strides;
  if (!elements_of(dims, each_dims)) return std::nullopt;
  if (strides != nullptr && !elements_of(*strides, each_strides)) return std::nullopt;
  for (std::size_t i = 0; i < each_dims.size(); ++i) {
    CallInput& tensor = list.items.emplace_back();
    tensor.kind = CallInput::Kind::kTensor;
    Numbers steps;
    if (!numbers_of(each_dims[i], tensor.dims)) return std::nullopt;
    if (i < each_strides.size() && numbers_of(each_strides[i], steps)) set_strides(tensor, std::move(steps));
  }
  return list;
}

// `dims` and `strides` may be null: not recorded.
std::optional<CallInput> input_of(std::string_view type, std::string_view value, const dom::element* dims,
                                  const dom::element* strides) {
  CallInput input;
  const DType dtype = dtype_of_pytorch(type);
  if (dtype != DType::kUndefined && dims != nullptr) {
    input.kind = CallInput::Kind::kTensor;
    input.dtype = dtype;
    if (!numbers_of(*dims, input.dims)) return std::nullopt;
    Numbers steps;
    if (strides != nullptr && numbers_of(*strides, steps)) set_strides(input, std::move(steps));
    return input;
  }
  if (type == "TensorList" && dims != nullptr) return list_of_tensors(*dims, strides);
  if (!value.empty()) {
    input.kind = CallInput::Kind::kValue;
    input.value = value;
  }
  return input;
}

const dom::element* find(const Elements& elements, std::size_t i) {
  return i < elements.size() ? &elements[i] : nullptr;
}

std::string_view text_at(const Elements& elements, std::size_t i) {
  std::string_view text;
  if (i >= elements.size() || elements[i].get(text) != simdjson::SUCCESS) return {};
  return text;
}

}  // namespace

DType dtype_of_pytorch(std::string_view name) {
  for (const auto& [text, dtype] : kTypes)
    if (text == name) return dtype;
  return DType::kUndefined;
}

struct InputsParser::State {
  dom::parser parser;
  std::string text;
};

InputsParser::InputsParser() : state_(std::make_unique<State>()) {}
InputsParser::~InputsParser() = default;
InputsParser::InputsParser(InputsParser&&) noexcept = default;
InputsParser& InputsParser::operator=(InputsParser&&) noexcept = default;

std::optional<std::string> InputsParser::canonical(std::string_view members) {
  std::string& text = state_->text;
  text = "{";
  text += members;
  text += '}';
  dom::object object;
  if (state_->parser.parse(text).get(object) != simdjson::SUCCESS) return std::nullopt;
  Elements values, types, strides, dims;
  for (const auto [key, value] : object) {
    if (key == "Concrete Inputs") elements_of(value, values);
    if (key == "Input type") elements_of(value, types);
    if (key == "Input Strides") elements_of(value, strides);
    if (key == "Input Dims" || key == "Input dims") elements_of(value, dims);
  }
  std::vector<CallInput> inputs;
  for (std::size_t i = 0; i < std::max(types.size(), dims.size()); ++i) {
    auto input = input_of(text_at(types, i), text_at(values, i), find(dims, i), find(strides, i));
    if (!input) return std::nullopt;
    inputs.push_back(std::move(*input));
  }
  return call_inputs_text(inputs);
}

}  // namespace hone::trace::kineto
