// What the names of ranges and operators say about the part they play in a training program: a table of
// patterns, so that a framework's spelling stands in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trace/name_patterns.h"
#include "trace/trace.h"

namespace hone::trace::link {

enum class Role : uint8_t {
  kNone,           // says nothing
  kStepMark,       // "ProfilerStep#12": one step
  kBackward,       // the engine runs one node of the backward pass
  kOptimizer,      // a step of the optimizer, or zeroing gradients
  kData,           // loading and preparing a batch
  kCommunication,  // collectives, sends and receives
  kCompile,        // the framework compiles
  kModule,         // a part of the model
  kGenerated,      // a name made by a tool that tells a person nothing: left out of module paths
};

// The table, for tests.
std::span<const NamePattern<Role>> role_table();

// The role of a range that the program or the framework named, of an operator, or of a host function.
Role role_of(std::string_view name, Category category);

// The same for every string of the trace that names a span, by string id; a name used in several categories
// has its role as a range first.
std::vector<Role> roles_by_name(const Trace& trace);

// The number after '#' of a step mark; kNoStep if it has none.
int32_t step_number(std::string_view step_mark);

// Whether a range is the call of a module, which a recorder put there, and no part of the program that somebody marked.
bool is_module_call(std::string_view range);
// The name of a module as a person would write it: "nn.Module: Linear_3" → "Linear_3".
std::string_view module_name(std::string_view name);

// PyTorch's name for the end of the backward pass of one parameter; its first input is the gradient.
inline constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";
// Whether a span is called so: the function itself, or the engine's range around it.
bool accumulates_gradient(std::string_view name);

// A range that FSDP puts around gathering a module's weights, or around unpacking them.
struct WeightGatherRange {
  std::string_view module;  // as FSDP names it; empty: the root, or none is named
  bool unpacks = false;
};
std::optional<WeightGatherRange> weight_gather(std::string_view name);

// The class of which a range is a step: "AdamW" of "Optimizer.step#AdamW.step"; empty: it is no such range.
std::string_view optimizer_class(std::string_view range);

// Operators that update parameters, whatever is around them: "aten::_fused_adamw_",
// "aten::_foreach_addcdiv_".
bool is_optimizer_kind(std::string_view kind);

}  // namespace hone::trace::link
