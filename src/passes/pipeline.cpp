#include "passes/pipeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.h"
#include "graph/verify.h"
#include "passes/fold_constants.h"
#include "passes/merge_common.h"

namespace hone::passes {

const std::vector<Pass>& pipeline() {
  static const std::vector<Pass> passes = {
      // Known values first: shapes become numbers, and every later pattern sees constants where exporters
      // left chains.
      {"fold_constants", "simplify", Numerics::kExact, "compute what is known before the graph runs",
       fold_constants},
      // One of each: patterns look for a value's only reader, which duplicates hide.
      {"merge_common", "simplify", Numerics::kExact, "compute equal expressions once", merge_common},
  };
  return passes;
}

std::vector<std::string> groups() {
  std::vector<std::string> names;
  for (const Pass& pass : pipeline()) {
    if (std::find(names.begin(), names.end(), pass.group) == names.end()) names.emplace_back(pass.group);
  }
  return names;
}

double price_graph(const graph::Graph& graph, const PassContext& context) {
  if (!context.price) return 0;
  double seconds = 0;
  for (const graph::Node& node : graph.nodes()) seconds += context.price(graph, node);
  return seconds * 1e3;
}

namespace {

bool named(const std::set<std::string>& names, const Pass& pass) {
  return names.contains(std::string(pass.name)) || names.contains(std::string(pass.group));
}

Status check_names(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    const bool known = std::any_of(pipeline().begin(), pipeline().end(),
                                   [&](const Pass& pass) { return pass.name == name || pass.group == name; });
    if (known) continue;
    std::string all;
    for (const Pass& pass : pipeline())
      all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", pass.name, pass.group);
    return invalid(fmt::format("'{}' is not a pass or group of passes; there are: {}", name, all));
  }
  return {};
}

}  // namespace

Result<PipelineResult> run_pipeline(graph::Graph graph, const PassContext& context,
                                    const PipelineOptions& options) {
  HONE_CHECK(check_names(options.disabled));
  HONE_CHECK(check_names(options.only));
  PipelineResult result{std::move(graph), {}};
  double price = price_graph(result.graph, context);
  for (const Pass& pass : pipeline()) {
    if (named(options.disabled, pass) || (!options.only.empty() && !named(options.only, pass))) continue;
    const int64_t start = now_ns();
    auto outcome = pass.run(result.graph, context);
    if (!outcome.ok()) return outcome.error().within(fmt::format("pass {}", pass.name));
    PassReport report{std::string(pass.name),
                      std::string(pass.group),
                      pass.numerics,
                      std::move(outcome->done),
                      std::move(outcome->missed),
                      0,
                      static_cast<double>(now_ns() - start) / 1e6};
    if (!report.done.empty()) {
      if (options.verify) {
        Status valid = graph::verify(outcome->graph);
        if (!valid.ok())
          return valid.error().within(fmt::format("pass {} broke the graph (a bug in hone)", pass.name));
      }
      const double after = price_graph(outcome->graph, context);
      report.predicted_gain_ms = price - after;
      price = after;
      result.graph = std::move(outcome->graph);
    }
    result.reports.push_back(std::move(report));
  }
  return result;
}

}  // namespace hone::passes
