// Where PyTorch keeps what an operator is called with, as found by experiment in the PyTorch that the observed
// program has loaded (learn.h). Its structures are private and change between versions, also with the flags that it
// was compiled with: nothing here is taken from a header. Offsets are bytes from the beginning of a structure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hone::observe::torch {

inline constexpr uint32_t kUnknown = 0xffffffffu;
inline constexpr uint32_t kMostFlags = 40;   // of a callback: one for each scope, then what it needs
inline constexpr uint32_t kMostDtypes = 96;  // numbers of PyTorch's ScalarType

// at::RecordFunctionCallback: start, end, the probability of sampling, flags of one byte.
struct CallbackLayout {
  uint32_t probability = kUnknown;
  uint32_t flags = kUnknown;
  uint32_t function = kUnknown;      // a flag's number: operators
  uint32_t user_scope = kUnknown;    // likewise: ranges that the program names
  uint32_t needs_inputs = kUnknown;  // likewise; scopes stand before it
  bool known() const { return flags != kUnknown && user_scope != kUnknown; }
};

// c10::IValue is 16 bytes, a payload and a tag.
struct ValueLayout {
  uint32_t tensor = kUnknown, integer = kUnknown, real = kUnknown, boolean = kUnknown,
           list = kUnknown;        // tags
  uint32_t list_items = kUnknown;  // c10::ListImpl: begin and end of its values
  uint32_t list_type = kUnknown;   // what its elements are: a pointer
  uint64_t list_of_tensors = 0;    // that pointer, of lists of tensors that cannot be None
};

// c10::TensorImpl. Sizes and strides of up to `inline_dims` dimensions stand in it, sizes first; of more, in an
// array that stands where they would begin.
struct TensorLayout {
  uint32_t dims = kUnknown;  // how many
  uint32_t sizes = kUnknown;
  uint32_t inline_dims = 0;
  uint32_t dtype = kUnknown;  // two bytes: ScalarType
};

struct Layout {
  CallbackLayout callback;
  uint32_t inputs = kUnknown;    // of at::RecordFunction: address and number of the values
  uint32_t sequence = kUnknown;  // likewise
  ValueLayout value;
  TensorLayout tensor;
  std::array<std::array<char, 12>, kMostDtypes> dtypes = {};  // names by ScalarType; "": hone has none

  bool has_names() const { return callback.known(); }
  bool has_inputs() const {
    return has_names() && callback.needs_inputs != kUnknown && inputs != kUnknown &&
           value.tensor != kUnknown && tensor.sizes != kUnknown && tensor.dtype != kUnknown;
  }
};

static_assert(std::is_trivially_copyable_v<Layout>, "it comes from another process through a pipe");

// A member of the structure at `object`.
template <typename T>
T member(const void* object, std::size_t offset) {
  T value;
  __builtin_memcpy(&value, static_cast<const std::byte*>(object) + offset, sizeof(T));
  return value;
}

}  // namespace hone::observe::torch
