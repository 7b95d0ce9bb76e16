#include "lab/plan_memory.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "lab/process_memory.h"

namespace hone::lab {
namespace {

std::string bytes_text(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

PlanMemoryUse memory_use_of(const runtime::PlanMemory& plan, const runtime::Device& device, int plans) {
  PlanMemoryUse use;
  use.plan = plan;
  use.plans = plans;
  use.process_peak = resident_peak();
  if (!device.host_visible()) {
    use.device = device.name();
    use.device_peak = device.use().peak;
  }
  return use;
}

std::string plan_memory_text(const PlanMemoryUse& use) {
  std::string text = fmt::format("{}{}: weights {}, arena {} (with inputs of {} and outputs of {})",
                                 bytes_text(use.total()), use.plans > 1 ? " a plan" : "",
                                 bytes_text(use.plan.weights_bytes), bytes_text(use.plan.arena_bytes),
                                 bytes_text(use.plan.input_bytes), bytes_text(use.plan.output_bytes));
  if (use.plan.host_bytes > 0) text += fmt::format(", kept by the host {}", bytes_text(use.plan.host_bytes));
  if (use.plan.pipeline_bytes > 0)
    text += fmt::format(", requests on their way {} and {} of the host", bytes_text(use.plan.pipeline_bytes),
                        bytes_text(use.plan.pipeline_host_bytes));
  if (use.plans > 1) text += fmt::format("; {} plans", use.plans);
  if (!use.device.empty())
    text += fmt::format("; {} held at most {}", use.device, bytes_text(use.device_peak));
  return text + fmt::format("; the process at most {}", bytes_text(use.process_peak));
}

nlohmann::ordered_json plan_memory_json(const PlanMemoryUse& use) {
  nlohmann::ordered_json json = {{"total_bytes", use.total()},
                                 {"weights_bytes", use.plan.weights_bytes},
                                 {"arena_bytes", use.plan.arena_bytes},
                                 {"input_bytes", use.plan.input_bytes},
                                 {"output_bytes", use.plan.output_bytes},
                                 {"host_bytes", use.plan.host_bytes},
                                 {"pipeline_bytes", use.plan.pipeline_bytes},
                                 {"pipeline_host_bytes", use.plan.pipeline_host_bytes},
                                 {"plans", use.plans},
                                 {"process_peak_bytes", use.process_peak}};
  if (!use.device.empty()) json["device_peak_bytes"] = use.device_peak;
  return json;
}

}  // namespace hone::lab
