// Kernels that Inductor generates: their names tell the operators that they compute, their recorded arguments
// the tensors that they touch.
#pragma once

#include "trace/aten/cost.h"

namespace hone::trace::aten {

bool is_triton(std::string_view kind);  // "triton_poi_fused_gelu_0"

// Arguments are pointers in no recorded order of inputs and outputs: every tensor counts once, the last as
// written (Inductor puts outputs last). A kernel that works in place moves more.
std::optional<CallCost> triton_cost(std::string_view kind, std::span<const CallInput> inputs);
OperatorClass triton_class(std::string_view kind);

}  // namespace hone::trace::aten
