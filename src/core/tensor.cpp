// Tensor: buffers, copies and element access by any numeric type.
#include "core/tensor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

#include "core/memory_budget.h"

namespace hone {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// What a tensor takes beside its elements, roughly: its shape and shared pointers. It matters where a loop
// collects millions of tensors of one element.
constexpr std::size_t kBookkeeping = 128;

// A tensor's share of the memory budget, for as long as its elements live. Copies stand for one charge.
class Charge {
 public:
  explicit Charge(std::size_t bytes) : bytes_(bytes + kBookkeeping) { charge_memory(bytes_); }
  Charge(Charge&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge() { release_memory(bytes_); }

 private:
  std::size_t bytes_;
};

// The elements of a tensor of strings, with what they are charged.
struct StringElements {
  explicit StringElements(std::size_t count) : charge(count * sizeof(std::string)), elements(count) {}
  Charge charge;
  std::vector<std::string> elements;
};

// Large tensors take whole huge pages as far as they fill some: fewer misses of the TLB where weights and
// images stream by (U-Net 6 %, ResNet-50 1 % faster). The kernel gives them to those who ask
// (transparent_hugepage "madvise", the usual setting); asking is a hint, its failure no loss.
std::shared_ptr<void> allocate(std::size_t bytes) {
  Charge charge(bytes);
  const std::size_t huge = bytes / kHugePage * kHugePage;
  const auto alignment = std::align_val_t{huge > 0 ? kHugePage : kTensorAlignment};
  void* memory = ::operator new(std::max<std::size_t>(bytes, 1), alignment);
#ifdef MADV_HUGEPAGE
  if (huge > 0) madvise(memory, huge, MADV_HUGEPAGE);
#endif
  return {memory,
          [alignment, charge = std::move(charge)](void* pointer) { ::operator delete(pointer, alignment); }};
}

// `data` need not be aligned, hence the copy.
template <typename T>
T load(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + static_cast<std::size_t>(index) * sizeof(T),
              sizeof(T));
  return value;
}

// Calls `visit` with element `index` as the C++ type that holds it; narrow floats come as float.
template <typename Visit>
auto visit_element(DType dtype, const void* data, int64_t index, Visit visit) {
  switch (dtype) {
    case DType::kF16:
      return visit(f16_to_f32(load<uint16_t>(data, index)));
    case DType::kBF16:
      return visit(bf16_to_f32(load<uint16_t>(data, index)));
    case DType::kF32:
      return visit(load<float>(data, index));
    case DType::kF64:
      return visit(load<double>(data, index));
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return visit(load<int8_t>(data, index));
    case DType::kI16:
      return visit(load<int16_t>(data, index));
    case DType::kI32:
      return visit(load<int32_t>(data, index));
    case DType::kI64:
      return visit(load<int64_t>(data, index));
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      return visit(load<uint8_t>(data, index));
    case DType::kU16:
      return visit(load<uint16_t>(data, index));
    case DType::kU32:
      return visit(load<uint32_t>(data, index));
    case DType::kU64:
      return visit(load<uint64_t>(data, index));
    case DType::kBool:
      return visit(static_cast<uint8_t>(load<uint8_t>(data, index) != 0));
    case DType::kC64:
      return visit(load<float>(data, 2 * index));
    case DType::kC128:
      return visit(load<double>(data, 2 * index));
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
    case DType::kF4E2M1:
      return visit(narrow_to_f32(dtype, load<uint8_t>(data, index)));
    case DType::kUndefined:
    case DType::kString:
      break;
  }
  throw std::logic_error("Tensor::at: elements of dtype " + std::string(dtype_name(dtype)) +
                         " are not numbers");
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)) {
  if (dtype == DType::kUndefined) {
    *this = Tensor();
    return;
  }
  if (dtype == DType::kString) {
    auto strings = std::make_shared<StringElements>(static_cast<std::size_t>(size_));
    writable_ = &strings->elements;
    data_ = writable_;
    owner_ = std::move(strings);
    return;
  }
  int64_t byte_count = 0;
  if (__builtin_mul_overflow(size_, static_cast<int64_t>(dtype_size(dtype)), &byte_count))
    throw std::length_error("Tensor: " + shape_text(shape_) + " takes more bytes than an address can count");
  auto memory = allocate(static_cast<std::size_t>(byte_count));
  writable_ = memory.get();
  data_ = writable_;
  owner_ = std::move(memory);
}

Result<Tensor> Tensor::try_make(DType dtype, Shape shape) {
  auto count = checked_element_count(shape);
  if (!count.ok()) return count.error();
  const std::string text = shape_text(shape);
  try {
    return Tensor(dtype, std::move(shape));
  } catch (const OverMemoryBudget& error) {
    return invalid("a tensor of " + std::string(dtype_name(dtype)) + text + ": " + error.what());
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return invalid("not enough memory for a tensor of " + std::string(dtype_name(dtype)) + text);
}

Tensor Tensor::borrowed(DType dtype, Shape shape, const void* data, std::shared_ptr<const void> owner) {
  if (dtype == DType::kString) throw std::logic_error("Tensor::borrowed: strings cannot be borrowed");
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.size_ = element_count(tensor.shape_);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::f32(Shape shape, std::span<const float> values) {
  return of(DType::kF32, std::move(shape), values);
}
Tensor Tensor::i64(Shape shape, std::span<const int64_t> values) {
  return of(DType::kI64, std::move(shape), values);
}
Tensor Tensor::scalar_f32(float value) { return f32({}, {&value, 1}); }
Tensor Tensor::scalar_i64(int64_t value) { return i64({}, {&value, 1}); }

Tensor Tensor::of_strings(Shape shape, std::vector<std::string> values) {
  if (element_count(shape) != static_cast<int64_t>(values.size()))
    throw std::logic_error("Tensor::of_strings: shape " + shape_text(shape) + " does not hold " +
                           std::to_string(values.size()) + " values");
  Tensor tensor(DType::kString, std::move(shape));
  tensor.strings() = std::move(values);
  return tensor;
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  if (tensor.bytes() != 0) std::memset(tensor.data(), 0, tensor.bytes());
  return tensor;
}

const std::vector<std::string>& Tensor::strings() const {
  if (dtype_ != DType::kString)
    throw std::logic_error("Tensor::strings: the dtype is " + std::string(dtype_name(dtype_)));
  return *static_cast<const std::vector<std::string>*>(data_);
}

std::vector<std::string>& Tensor::strings() {
  if (dtype_ != DType::kString)
    throw std::logic_error("Tensor::strings: the dtype is " + std::string(dtype_name(dtype_)));
  return *static_cast<std::vector<std::string>*>(writable_);
}

std::size_t Tensor::charged_bytes() const { return writable_ == nullptr ? 0 : bytes() + kBookkeeping; }

Tensor Tensor::clone() const {
  if (!defined()) return {};
  if (dtype_ == DType::kString) return of_strings(shape_, strings());
  Tensor copy(dtype_, shape_);
  if (bytes() != 0) std::memcpy(copy.data(), data_, bytes());
  return copy;
}

Tensor Tensor::aligned() const {
  if (dtype_ == DType::kString || !defined()) return *this;
  const std::size_t element = std::min<std::size_t>(dtype_size(dtype_), alignof(double));
  return reinterpret_cast<uintptr_t>(data_) % element == 0 ? *this : clone();
}

Tensor Tensor::reshaped(Shape shape) const {
  if (element_count(shape) != size_)
    throw std::logic_error("Tensor::reshaped: " + shape_text(shape_) + " does not fit " + shape_text(shape));
  Tensor tensor = *this;
  tensor.shape_ = std::move(shape);
  return tensor;
}

double Tensor::at(int64_t index) const {
  return visit_element(dtype_, data_, index, [](auto value) { return static_cast<double>(value); });
}

int64_t Tensor::int_at(int64_t index) const {
  return visit_element(dtype_, data_, index, [](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      // Out of range and NaN have no integer; clamp rather than run into undefined behaviour.
      constexpr double kLimit = 0x1p63;
      const auto real = static_cast<double>(value);
      if (!(real > -kLimit)) return std::numeric_limits<int64_t>::min();
      if (real >= kLimit) return std::numeric_limits<int64_t>::max();
      return static_cast<int64_t>(real);
    } else {
      return static_cast<int64_t>(value);
    }
  });
}

std::vector<int64_t> Tensor::to_ints() const {
  std::vector<int64_t> values(static_cast<std::size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) values[static_cast<std::size_t>(i)] = int_at(i);
  return values;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> values(static_cast<std::size_t>(size_));
  for (int64_t i = 0; i < size_; ++i) values[static_cast<std::size_t>(i)] = at(i);
  return values;
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) return a.strings() == b.strings();
  if (a.bytes() == 0 || a.data() == b.data()) return true;
  return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace hone
