// The inputs of an operator's call as PyTorch writes them ("Concrete Inputs", "Input type", "Input Strides",
// "Input Dims"), turned into the text of trace/call_inputs.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace hone::trace::kineto {

class InputsParser {
 public:
  InputsParser();
  ~InputsParser();
  InputsParser(InputsParser&&) noexcept;
  InputsParser& operator=(InputsParser&&) noexcept;

  // `members` are the four members of a call's "args", in any order, between others or not:
  // `"Input type": ["float"], "Input Dims": [[2, 3]]`. Nothing if they are not what PyTorch writes.
  std::optional<std::string> canonical(std::string_view members);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// "c10::BFloat16", "long int", "Float" (as NCCL's records have it) …; kUndefined for other text.
DType dtype_of_pytorch(std::string_view name);

}  // namespace hone::trace::kineto
