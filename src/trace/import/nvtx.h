// What the text of an NVTX range says, where PyTorch's emit_nvtx() wrote it:
// "aten::addmm, seq = 17, op_id = 4, sizes = [[4], [8, 8]]".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trace/details.h"

namespace hone::trace {

struct NvtxRange {
  std::string_view name;  // without what follows the operator's name
  bool is_call = false;   // an operator of PyTorch
  int64_t sequence = kNoSequence;
  std::string inputs;  // as call_inputs.h writes them, types not recorded; empty: not recorded
};

NvtxRange nvtx_range(std::string_view text);

}  // namespace hone::trace
