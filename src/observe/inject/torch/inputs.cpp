#include "observe/inject/torch/inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace hone::observe::torch {
namespace {

constexpr std::size_t kValueSize = 16;
constexpr std::size_t kTagAt = 8;
constexpr uint64_t kMostValues = 1 << 20;  // of a list; more is a layout that does not hold
constexpr uint64_t kMostDims = 64;
constexpr uint64_t kLongestScalarList = 30;  // torch/csrc/profiler/collection.cpp, SCALAR_LIST_LENGTH_LIMIT

uint32_t tag_of(const std::byte* value) { return member<uint32_t>(value, kTagAt); }
const void* pointer_of(const std::byte* value) { return member<const void*>(value, 0); }

// A multiplication and a fold of its upper half: as wyhash mixes.
uint64_t mixed(uint64_t hash, uint64_t word) {
  const __uint128_t product =
      static_cast<__uint128_t>(hash ^ 0x9e3779b97f4a7c15u) * (word ^ 0xe7037ed1a0b428dbu);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

void append_number(int64_t number, std::string& text) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

void append_numbers(const int64_t* numbers, uint64_t count, std::string& text) {
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    append_number(numbers[i], text);
  }
}

// As PyTorch prints a double in its records (aten/src/ATen/core/ivalue.cpp): whole numbers as "2.".
void append_real(double real, std::string& text) {
  if (std::isfinite(real) && std::abs(real) < 1e10 && real == std::trunc(real)) {
    if (real == 0 && std::signbit(real)) text += '-';
    append_number(static_cast<int64_t>(real), text);
    text += '.';
    return;
  }
  std::array<char, 40> digits;
  std::snprintf(digits.data(), digits.size(), "%.17g", real);
  text += digits.data();
}

// As trace/import/kineto/inputs.cpp: the stride of a dimension of one element means nothing.
bool packed(const int64_t* sizes, const int64_t* strides, uint64_t dims) {
  int64_t expected = 1;
  for (uint64_t i = dims; i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, std::max<int64_t>(sizes[i], 1), &expected)) return false;
  }
  return true;
}

}  // namespace

Inputs::Values Inputs::inputs_of(const RecordFunction* record) const {
  const Values values = {member<const std::byte*>(record, layout_.inputs),
                         member<uint64_t>(record, layout_.inputs + 8)};
  return values.first == nullptr || values.count > kMostValues ? Values{} : values;
}

Inputs::Values Inputs::list_of(const void* list) const {
  const ValueLayout& layout = layout_.value;
  if (layout.list_items == kUnknown) return {};
  const auto* first = member<const std::byte*>(list, layout.list_items);
  const auto* end = member<const std::byte*>(list, layout.list_items + 8);
  const uint64_t count = static_cast<uint64_t>(end - first) / kValueSize;
  return first == nullptr || end < first || count > kMostValues ? Values{} : Values{first, count};
}

Inputs::Tensor Inputs::tensor_of(const void* impl) const {
  const TensorLayout& layout = layout_.tensor;
  Tensor tensor;
  tensor.dims = member<uint64_t>(impl, layout.dims);
  tensor.dtype = member<uint16_t>(impl, layout.dtype);
  if (tensor.dims > kMostDims) return {};
  const auto* at = static_cast<const std::byte*>(impl) + layout.sizes;
  if (tensor.dims <= layout.inline_dims) {
    tensor.sizes = reinterpret_cast<const int64_t*>(at);
    tensor.strides = tensor.sizes + layout.inline_dims;
  } else {
    tensor.sizes = member<const int64_t*>(at, 0);
    tensor.strides = tensor.sizes + tensor.dims;
  }
  return tensor;
}

// PyTorch's records know lists of tensors by their type: in a list of tensors that may be None they see nothing.
bool Inputs::holds_tensors(const void* list, Values values) const {
  const ValueLayout& layout = layout_.value;
  if (layout.list_of_tensors != 0) return member<uint64_t>(list, layout.list_type) == layout.list_of_tensors;
  for (uint64_t i = 0; i < values.count; ++i)
    if (tag_of(values.first + i * kValueSize) != layout.tensor) return false;
  return values.count > 0;
}

const char* Inputs::dtype_name(uint16_t dtype) const {
  return dtype < layout_.dtypes.size() ? layout_.dtypes[dtype].data() : "";
}

bool Inputs::is_scalar(uint32_t tag) const {
  return tag == layout_.value.integer || tag == layout_.value.real || tag == layout_.value.boolean;
}

uint64_t Inputs::hash(const RecordFunction* record) const {
  const Values values = inputs_of(record);
  if (values.count == 0) return 0;
  uint64_t hash = values.count;
  for (uint64_t i = 0; i < values.count; ++i) hash = hash_value(values.first + i * kValueSize, hash);
  return hash == 0 ? 1 : hash;
}

uint64_t Inputs::hash_tensor(const void* impl, uint64_t hash) const {
  const Tensor tensor = tensor_of(impl);
  hash = mixed(hash, tensor.dims << 32 | tensor.dtype);
  for (uint64_t i = 0; i < tensor.dims; ++i)
    hash = mixed(hash ^ static_cast<uint64_t>(tensor.sizes[i]), static_cast<uint64_t>(tensor.strides[i]));
  return hash;
}

uint64_t Inputs::hash_value(const std::byte* value, uint64_t hash) const {
  const ValueLayout& layout = layout_.value;
  const uint32_t tag = tag_of(value);
  if (tag == layout.tensor) return hash_tensor(pointer_of(value), hash);
  if (tag == layout.boolean) return mixed(hash, uint64_t{tag} << 32 | member<uint8_t>(value, 0));
  if (is_scalar(tag)) return mixed(hash ^ tag, member<uint64_t>(value, 0));
  if (tag != layout.list) return mixed(hash, tag);
  const Values values = list_of(pointer_of(value));
  const bool tensors = holds_tensors(pointer_of(value), values);
  hash = mixed(hash, values.count << 8 | (tensors ? 1 : 2));
  if (!tensors && values.count > kLongestScalarList) return hash;
  for (uint64_t i = 0; i < values.count; ++i) {
    const std::byte* item = values.first + i * kValueSize;
    if (tag_of(item) != layout.list) hash = hash_value(item, hash);  // lists of lists are not written
  }
  return hash;
}

std::string Inputs::text(const RecordFunction* record) const {
  const Values values = inputs_of(record);
  std::string text;
  for (uint64_t i = 0; i < values.count; ++i) {
    if (i > 0) text += ' ';
    write_value(values.first + i * kValueSize, text);
  }
  return text;
}

void Inputs::write_value(const std::byte* value, std::string& text) const {
  const uint32_t tag = tag_of(value);
  if (tag == layout_.value.tensor) {
    write_tensor(pointer_of(value), text);
  } else if (tag == layout_.value.list) {
    write_list(pointer_of(value), text);
  } else if (is_scalar(tag)) {
    text += '=';
    write_scalar(value, text);
  } else {
    text += '-';
  }
}

void Inputs::write_tensor(const void* impl, std::string& text) const {
  const Tensor tensor = tensor_of(impl);
  const char* dtype = dtype_name(tensor.dtype);
  if (dtype[0] == '\0') {
    text += '-';
    return;
  }
  text += dtype;
  text += '[';
  append_numbers(tensor.sizes, tensor.dims, text);
  text += ']';
  if (packed(tensor.sizes, tensor.strides, tensor.dims)) return;
  text += '{';
  append_numbers(tensor.strides, tensor.dims, text);
  text += '}';
}

void Inputs::write_list(const void* list, std::string& text) const {
  const Values values = list_of(list);
  const bool tensors = holds_tensors(list, values);
  const bool scalars = !tensors && values.count <= kLongestScalarList &&
                       (values.count == 0 || is_scalar(tag_of(values.first)));
  if (!tensors && !scalars) {
    text += '-';
    return;
  }
  text += tensors ? "(" : "=[";
  for (uint64_t i = 0; i < values.count; ++i) {
    const std::byte* item = values.first + i * kValueSize;
    if (i > 0) text += tensors ? ' ' : ',';
    if (!tensors)
      write_scalar(item, text);
    else if (tag_of(item) == layout_.value.tensor)
      write_tensor(pointer_of(item), text);
    else
      text += '-';
  }
  text += tensors ? ')' : ']';
}

void Inputs::write_scalar(const std::byte* value, std::string& text) const {
  const uint32_t tag = tag_of(value);
  if (tag == layout_.value.boolean)
    text += member<uint8_t>(value, 0) != 0 ? "True" : "False";
  else if (tag == layout_.value.integer)
    append_number(member<int64_t>(value, 0), text);
  else if (tag == layout_.value.real)
    append_real(member<double>(value, 0), text);
  else
    text += '?';
}

}  // namespace hone::observe::torch
