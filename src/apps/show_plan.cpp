#include "apps/show_plan.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/units.h"
#include "graph/text.h"
#include "lab/saved_plan.h"
#include "lab/where_it_runs.h"
#include "report/text.h"

namespace hone::apps {
namespace {

using report::clean_utf8;
using report::left;
using report::right;
using report::shortened;

struct Row {
  std::string node, op, kernel, time, side;
};

constexpr std::size_t kNodeWidth = 40, kOpWidth = 32, kKernelWidth = 44;

std::string kernel_text(const graph::KernelChoice& kernel) {
  if (kernel.candidate.empty())
    return kernel.bodies.empty() ? "the queue's, or on the host" : "its bodies are plans";
  return kernel.of > 1 ? fmt::format("{} (of {})", kernel.candidate, kernel.of) : kernel.candidate;
}

// "lane 2 of 4"; empty where the node has all of the device.
std::string lane_text(const graph::PlanChoices& choices, graph::NodeId node) {
  for (const graph::LaneChoice& section : choices.sections)
    for (std::size_t lane = 0; lane < section.lanes.size(); ++lane)
      if (std::find(section.lanes[lane].begin(), section.lanes[lane].end(), node) !=
          section.lanes[lane].end())
        return fmt::format("lane {} of {}", lane + 1, section.lanes.size());
  return {};
}

std::vector<Row> rows_of(const model::PlanFile& plan) {
  std::vector<Row> rows;
  for (const graph::KernelChoice& kernel : plan.choices.kernels) {
    const graph::Node& node = plan.graph.node(kernel.node);
    rows.push_back({node.name, lab::operator_text(node), kernel_text(kernel),
                    kernel.microseconds > 0 ? fmt::format("{:.1f}", kernel.microseconds) : "–",
                    lane_text(plan.choices, kernel.node)});
  }
  return rows;
}

void print_plan_interface(const graph::Graph& graph, const char* label,
                          const std::vector<graph::ValueId>& ids) {
  for (const graph::ValueId id : ids)
    fmt::print("{:<8}{}: {}\n", label, clean_utf8(graph.value(id).name), graph.type(id).text());
}

void print_plan(const std::string& path, const model::PlanFile& plan, const Status& here) {
  const model::PlanAbout& about = plan.about;
  fmt::print("{}: a plan of {} by hone {} for {}, {}\n", path, clean_utf8(about.model), about.hone,
             about.device, counted(about.threads, "thread"));
  if (!about.assumed.empty())
    fmt::print("with {}\n", clean_utf8(fmt::format("{}", fmt::join(about.assumed, ", "))));
  for (const auto& [what, value] : about.made_for) fmt::print("{:<28}{}\n", what, clean_utf8(value));
  fmt::print("{:<28}{}\n", "weights", format_bytes(static_cast<double>(about.weights_bytes)));
  fmt::print("{:<28}{}\n", "values", format_bytes(static_cast<double>(about.arena_bytes)));
  fmt::print("{:<28}{}\n", "on this machine",
             here.ok() ? "can be used" : "cannot be used: " + clean_utf8(here.error().message));
  print_plan_interface(plan.graph, "input", plan.graph.inputs());
  print_plan_interface(plan.graph, "output", plan.graph.outputs());
  const std::vector<Row> rows = rows_of(plan);
  const auto line = [](const Row& row) {
    fmt::print("{} {} {} {}  {}\n", left(shortened(clean_utf8(row.node), kNodeWidth), kNodeWidth),
               left(shortened(clean_utf8(row.op), kOpWidth), kOpWidth),
               left(shortened(clean_utf8(row.kernel), kKernelWidth), kKernelWidth), right(row.time, 9),
               row.side);
  };
  fmt::print("\n");
  line({"node", "operator", "kernel", "µs alone", ""});
  for (const Row& row : rows) line(row);
  if (const std::size_t none = plan.graph.nodes().size() - plan.choices.kernels.size(); none > 0)
    fmt::print("and {} that need none: views and parts of other tensors\n",
               counted(static_cast<double>(none), "node"));
}

nlohmann::ordered_json plan_json(const std::string& path, const model::PlanFile& plan, const Status& here) {
  using Json = nlohmann::ordered_json;
  const model::PlanAbout& about = plan.about;
  Json json = {{"schema", 1},        {"plan", path},           {"model", about.model},
               {"hone", about.hone}, {"device", about.device}, {"threads", about.threads}};
  json["made_for"] = Json::object();
  for (const auto& [what, value] : about.made_for) json["made_for"][what] = value;
  json["assumed"] = about.assumed;
  json["weights_bytes"] = about.weights_bytes;
  json["arena_bytes"] = about.arena_bytes;
  json["refused_here"] = here.ok() ? Json(nullptr) : Json(here.error().message);
  json["kernels"] = Json::array();
  for (const graph::KernelChoice& kernel : plan.choices.kernels) {
    const graph::Node& node = plan.graph.node(kernel.node);
    json["kernels"].push_back(
        {{"node", node.name},
         {"op", lab::operator_text(node)},
         {"kernel", kernel.candidate},
         {"of", kernel.of},
         {"microseconds", kernel.microseconds > 0 ? Json(kernel.microseconds) : Json(nullptr)},
         {"lane", lane_text(plan.choices, kernel.node)}});
  }
  return json;
}

}  // namespace

Status show_plan(const std::string& path, bool as_text, const std::string& json) {
  HONE_ASSIGN(const model::PlanFile plan, model::read_plan(path));
  if (as_text) {
    fmt::print("{}", graph::print(plan.graph));
    return {};
  }
  const Status here = lab::may_load(plan.about);
  HONE_CHECK(write_json(json, plan_json(path, plan, here)));
  print_plan(path, plan, here);
  return {};
}

}  // namespace hone::apps
