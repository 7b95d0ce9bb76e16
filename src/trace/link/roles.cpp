#include "trace/link/roles.h"

#include <array>
#include <charconv>

namespace hone::trace::link {
namespace {

constexpr std::string_view kModuleCall = "nn.Module: ";

// The first that matches decides. Sources: torch/profiler (ProfilerStep), torch/optim (Optimizer.step),
// torch/utils/data (enumerate(DataLoader)), torch/csrc/autograd (evaluate_function), c10d (nccl:, c10d::),
// torch/_dynamo/utils (dynamo_timed), torch/_inductor (## Call CompiledFxGraph).
constexpr NamePattern<Role> kRoles[] = {
    {"ProfilerStep#", Role::kStepMark, At::kFront},
    {"autograd::engine::evaluate_function", Role::kBackward, At::kFront},
    {"Optimizer.step#", Role::kOptimizer, At::kFront},
    {"Optimizer.zero_grad#", Role::kOptimizer, At::kFront},
    {"enumerate(DataLoader)", Role::kData, At::kFront},
    {"enumerate(DataPipe)", Role::kData, At::kFront},
    {"DataLoader", Role::kData},
    {"nccl:", Role::kCommunication, At::kFront},
    {"gloo:", Role::kCommunication, At::kFront},
    {"c10d::", Role::kCommunication, At::kFront},
    {"_c10d_functional::", Role::kCommunication, At::kFront},
    {"record_param_comms", Role::kCommunication, At::kFront},
    {"(dynamo_timed)", Role::kCompile},
    {"entire_frame_compile", Role::kCompile, At::kFront},
    {"CachingAutotuner.benchmark_all_configs", Role::kCompile, At::kFront},
    {"triton compile", Role::kCompile, At::kFront},
    {"Torch-Compiled Region", Role::kModule, At::kFront},
    {kModuleCall, Role::kModule, At::kFront},
    {"## Call CompiledFxGraph", Role::kGenerated, At::kFront},
};

}  // namespace

std::span<const NamePattern<Role>> role_table() { return kRoles; }

Role role_of(std::string_view name, Category category) {
  if (const auto role = first_match(role_table(), name)) return *role;
  return category == Category::kRegion ? Role::kModule : Role::kNone;
}

std::vector<Role> roles_by_name(const Trace& trace) {
  std::vector<Role> roles(trace.strings.size(), Role::kNone);
  std::vector<uint8_t> seen(trace.strings.size(), 0);  // 1: as an operator or function, 2: as a range
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const Category category = trace.spans.category[row];
    const StringId name = trace.spans.name[row];
    const bool range = category == Category::kRegion;
    if (!name.valid() || (!range && category != Category::kOperator && category != Category::kFunction))
      continue;
    if (seen[name.index] >= (range ? 2 : 1)) continue;
    seen[name.index] = range ? 2 : 1;
    roles[name.index] = role_of(trace.strings.text(name), category);
  }
  return roles;
}

int32_t step_number(std::string_view step_mark) {
  const std::size_t hash = step_mark.rfind('#');
  if (hash == std::string_view::npos) return kNoStep;
  int32_t number = kNoStep;
  const char* end = step_mark.data() + step_mark.size();
  const auto [stop, error] = std::from_chars(step_mark.data() + hash + 1, end, number);
  return error == std::errc() && stop == end && number >= 0 ? number : kNoStep;
}

bool is_module_call(std::string_view range) { return range.starts_with(kModuleCall); }

std::string_view module_name(std::string_view name) {
  return is_module_call(name) ? name.substr(kModuleCall.size()) : name;
}

bool accumulates_gradient(std::string_view name) {
  return name.find(kAccumulateGrad) != std::string_view::npos;
}

std::optional<WeightGatherRange> weight_gather(std::string_view name) {
  constexpr std::string_view kGather = "FSDP::all_gather", kUnpack = "FSDP::all_gather_copy_out";
  if (!name.starts_with(kGather)) return std::nullopt;
  const bool unpacks = name.starts_with(kUnpack);
  name.remove_prefix((unpacks ? kUnpack : kGather).size());
  if (!name.empty() && name.front() != ' ') return std::nullopt;
  return WeightGatherRange{name, unpacks};
}

std::string_view optimizer_class(std::string_view range) {
  constexpr std::string_view kStep = "Optimizer.step#";
  if (!range.starts_with(kStep)) return {};
  range.remove_prefix(kStep.size());
  return range.substr(0, range.find('.'));
}

bool is_optimizer_kind(std::string_view kind) {
  // Sharded training copies each layer's weights with it before they are gathered.
  if (kind.starts_with("aten::_foreach_copy")) return false;
  constexpr std::array<std::string_view, 4> kPrefixes = {"aten::_fused_adam", "aten::_fused_sgd",
                                                         "aten::_fused_adagrad", "aten::_foreach_"};
  for (std::string_view prefix : kPrefixes)
    if (kind.starts_with(prefix)) return true;
  return kind == "aten::addcdiv_" || kind == "aten::lerp_";
}

}  // namespace hone::trace::link
