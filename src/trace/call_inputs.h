// The inputs of an operator's call as one short text, so that equal calls share one interned string: tensors
// "f32[16,1024,768]", with strides where they are not packed "bf16[8,64,256,256]{4194304,1,16384,64}", lists
// of tensors "(f32[768] f32[768])", values "=0.5", "=[1,1]", and "-" for none; separated by spaces.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace hone::trace {

struct CallInput {
  enum class Kind : uint8_t { kNone, kTensor, kList, kValue };
  Kind kind = Kind::kNone;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements; empty: packed, last dimension fastest, or not recorded
  std::string value;             // as the framework wrote it, without spaces
  std::vector<CallInput> items;  // of a list: tensors

  int64_t elements() const;  // of a tensor; of all tensors of a list
  double bytes() const;      // likewise
  // Likewise, but of what lies in memory: dimensions of stride 0 repeat it, as expand() makes them.
  double stored_elements() const;
  double stored_bytes() const;
  bool repeats() const { return stored_elements() < static_cast<double>(elements()); }
  friend bool operator==(const CallInput&, const CallInput&) = default;
};

std::string call_inputs_text(const std::vector<CallInput>& inputs);
// Errors: text that call_inputs_text does not write.
Result<std::vector<CallInput>> parse_call_inputs(std::string_view text);

}  // namespace hone::trace
