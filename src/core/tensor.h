// Tensors in memory: Tensor owns or shares an aligned, row-major buffer; views are pointers with a shape.
// Copies of a Tensor share the buffer; writing through one is seen by all: make a clone() to change values.
// Borrowed memory is never written: whoever asks to write gets a buffer of its own first.
// Misuse (a wrong element count, numbers asked of strings) is a bug and throws std::logic_error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace hone {

// What a kernel reads. Row-major and dense unless the kernel's contract says otherwise.
struct ConstTensorView {
  DType dtype = DType::kUndefined;
  std::span<const int64_t> shape;
  const void* data = nullptr;

  int64_t size() const { return element_count(shape); }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

// What a kernel writes.
struct TensorView {
  DType dtype = DType::kUndefined;
  std::span<const int64_t> shape;
  void* data = nullptr;

  int64_t size() const { return element_count(shape); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  operator ConstTensorView() const { return {dtype, shape, data}; }  // NOLINT: a view is a const view
};

inline constexpr std::size_t kTensorAlignment = 64;  // a cache line, and a full AVX-512 vector

class Tensor {
 public:
  Tensor() = default;
  // Uninitialised memory, aligned to kTensorAlignment. Strings are held as std::string elements.
  Tensor(DType dtype, Shape shape);
  // The same for shapes that come from a file or a user: an error for a hostile shape or too little memory.
  static Result<Tensor> try_make(DType dtype, Shape shape);
  // Read-only memory that somebody else keeps alive through `owner` (a mapped file, say). `data` need not be
  // aligned: as<T>() may only be used on aligned(). data() and as<T>() of a tensor that is not const copy it.
  static Tensor borrowed(DType dtype, Shape shape, const void* data, std::shared_ptr<const void> owner);

  template <typename T>
  static Tensor of(DType dtype, Shape shape, std::span<const T> values);
  static Tensor f32(Shape shape, std::span<const float> values);
  static Tensor i64(Shape shape, std::span<const int64_t> values);
  static Tensor scalar_f32(float value);
  static Tensor scalar_i64(int64_t value);
  static Tensor of_strings(Shape shape, std::vector<std::string> values);
  static Tensor zeros(DType dtype, Shape shape);

  bool defined() const { return dtype_ != DType::kUndefined; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t size() const { return size_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * dtype_size(dtype_); }
  // What the elements are charged to the process's memory budget (core/memory_budget.h), once for all copies that share
  // them; 0 where they are borrowed.
  std::size_t charged_bytes() const;

  const void* data() const { return data_; }
  void* data() { return writable(); }
  template <typename T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <typename T>
  std::span<T> as() {
    return {static_cast<T*>(writable()), static_cast<std::size_t>(size_)};
  }
  const std::vector<std::string>& strings() const;
  std::vector<std::string>& strings();

  ConstTensorView view() const { return {dtype_, shape_, data_}; }
  TensorView view() { return {dtype_, shape_, data()}; }

  Tensor clone() const;
  Tensor aligned() const;              // itself, or a copy where its elements are not aligned for their type
  Tensor reshaped(Shape shape) const;  // the same buffer under another shape of the same size
  // Element `index` of any numeric type as a double or an integer (complex: the real part; as an integer,
  // floats are truncated and clamped, NaN is the lowest).
  double at(int64_t index) const;
  int64_t int_at(int64_t index) const;
  std::vector<int64_t> to_ints() const;  // empty for an undefined tensor
  std::vector<double> to_doubles() const;

 private:
  void* writable() {
    if (writable_ == nullptr && data_ != nullptr) *this = clone();
    return writable_;
  }

  DType dtype_ = DType::kUndefined;
  Shape shape_;
  int64_t size_ = 0;
  const void* data_ = nullptr;
  void* writable_ = nullptr;  // the same; null where it is borrowed
  std::shared_ptr<const void> owner_;
};

// Bitwise equality of dtype, shape and contents.
bool same_tensor(const Tensor& a, const Tensor& b);

template <typename T>
Tensor Tensor::of(DType dtype, Shape shape, std::span<const T> values) {
  Tensor tensor(dtype, std::move(shape));
  if (tensor.bytes() != values.size_bytes())
    throw std::logic_error("Tensor::of: the values do not fill shape " + shape_text(tensor.shape()));
  auto bytes = std::as_bytes(values);
  std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(tensor.data()));
  return tensor;
}

}  // namespace hone
