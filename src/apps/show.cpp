// hone show: the graph, readable, with what each node costs and must take at least.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "apps/command.h"
#include "apps/model_options.h"
#include "apps/operators_page.h"
#include "apps/saved_plan.h"
#include "apps/show_plan.h"
#include "core/units.h"
#include "graph/text.h"
#include "lab/ceilings/device_ceilings.h"
#include "lab/model_summary.h"
#include "lab/prepared.h"
#include "lab/where_it_runs.h"
#include "passes/pipeline.h"
#include "plugin/plugin.h"
#include "report/text.h"
#include "report/words.h"
#include "runtime/interpreter.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

using report::clean_utf8;
using report::left;
using report::right;
using report::shortened;

struct ShowOptions {
  ModelOptions model;
  bool text = false;
  bool floors = false;
  bool operators = false;
  std::string device = kAnyDevice;
  int top = 0;  // 0: all nodes, in the model's order
  std::string json;
};

// The roofs of the device where they are known; measuring takes seconds, so it happens only on request.
Result<std::optional<lab::Ceilings>> find_roofs(const std::string& device, bool measure) {
  const lab::Machine machine = lab::describe_machine();
  if (!measure) return lab::kept_ceilings_of(device, machine);
  ProgressBar bar("measuring roofs of " + device);
  lab::CeilingsOptions options;
  options.quick = true;
  options.progress = [&bar](double done) {
    bar.update(done);
    return !interrupted();
  };
  HONE_ASSIGN(lab::Ceilings ceilings, lab::load_or_measure_ceilings_of(device, machine, options));
  return std::optional<lab::Ceilings>(std::move(ceilings));
}

// The model as it runs, and as hone lab measures it: exporters compute shapes by chains of nodes, and while
// those stand, nobody knows what the nodes after them cost.
Result<graph::Graph> without_known_nodes(graph::Graph graph, const std::string& path) {
  passes::PassContext context;
  context.evaluate = runtime::interpret_node;
  auto folded = passes::run_pipeline(std::move(graph), context,
                                     {.disabled = {}, .only = {"fold_constants"}, .lossy = {}});
  if (!folded.ok()) return folded.error().within(path);
  return std::move(folded->graph);
}

void print_interface(const graph::Graph& graph, const char* label, const std::vector<graph::ValueId>& ids) {
  for (graph::ValueId id : ids)
    fmt::print("{:<8}{}: {}\n", label, clean_utf8(graph.value(id).name), graph.type(id).text());
}

// A node's name, operator and output, each as wide as its longest, within limits.
class TextColumns {
 public:
  explicit TextColumns(const std::vector<lab::NodeSummary>& rows) {
    const auto& limits = isatty(STDOUT_FILENO) != 0 ? kLimitsOfTerminals : kLimits;
    for (const lab::NodeSummary& row : rows) {
      const std::array texts = texts_of(row);
      for (std::size_t i = 0; i < texts.size(); ++i)
        widths_[i] = std::clamp(report::columns(texts[i]), widths_[i], limits[i]);
    }
  }

  std::string head() const { return cells({"node", "operator", "output"}); }
  std::string of(const lab::NodeSummary& row) const { return cells(texts_of(row)); }

 private:
  using Texts = std::array<std::string, 3>;
  static constexpr std::array<std::size_t, 3> kLimitsOfTerminals = {30, 20, 24};
  static constexpr std::array<std::size_t, 3> kLimits = {200, 60, 80};  // of files and pipes: names whole

  static Texts texts_of(const lab::NodeSummary& row) {
    std::string kind = row.op.kind;
    if (row.body_nodes > 0) kind += fmt::format(" ({} inside)", row.body_nodes);
    return {clean_utf8(row.op.name), clean_utf8(kind), clean_utf8(row.type)};
  }

  std::string cells(const Texts& texts) const {
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i)
      line += (i > 0 ? " " : "") + left(shortened(texts[i], widths_[i]), widths_[i]);
    return line;
  }

  std::array<std::size_t, 3> widths_ = {4, 8, 6};  // of the heads
};

void print_row(const lab::NodeSummary& row, const TextColumns& columns) {
  fmt::print("{}", columns.of(row));
  if (!row.has_costs) {
    fmt::print(" {} {} {} {}\n", right("–", 12), right("–", 10), right("–", 9), right("–", 9));
    return;
  }
  fmt::print(" {} {} {} {}{}\n", right(row.op.flops > 0 ? format_flops(row.op.flops) : "0", 12),
             right(format_bytes(row.op.bytes()), 10), right(fmt::format("{:.2f}", row.intensity()), 9),
             right(row.floor_ms > 0 ? format_ms(row.floor_ms) : "–", 9),
             row.roof.empty() ? "" : "  " + row.roof);
}

constexpr std::size_t kScreen = 40;

// "152 nodes, 3.54 M parameters (13.5 MiB), 601 MFLOP and 68.1 MiB a step, floor 1.18 ms".
std::string whole_text(const lab::ModelSummary& summary, bool has_floors) {
  std::string text =
      fmt::format("{}, {} parameters ({})", counted(static_cast<double>(summary.nodes.size()), "node"),
                  format_count(summary.parameters), format_bytes(summary.parameter_bytes));
  if (summary.without_costs == summary.nodes.size()) return text;
  text += fmt::format(", {} and {} a step", format_flops(summary.flops), format_bytes(summary.bytes));
  return has_floors ? text + fmt::format(", floor {}", format_ms(summary.floor_ms)) : text;
}

// The nodes with the highest floors, or where those are not known the most work; all, in their order, for 0.
std::vector<lab::NodeSummary> shown_nodes(const lab::ModelSummary& summary, int top) {
  std::vector<lab::NodeSummary> nodes = summary.nodes;
  if (top == 0) return nodes;
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.floor_ms, a.op.flops, a.op.bytes()) >
           std::tuple(b.floor_ms, b.op.flops, b.op.bytes());
  });
  nodes.resize(std::min(nodes.size(), static_cast<std::size_t>(top)));
  return nodes;
}

void print_summary(const ModelOptions& model, const graph::Graph& graph, const lab::ModelSummary& summary,
                   const std::optional<lab::Ceilings>& roofs, const std::vector<std::string>& assumed,
                   std::size_t folded, int top) {
  const std::string whole = whole_text(summary, roofs.has_value());
  fmt::print("{}: {}\n", model.path, whole);
  if (!assumed.empty()) fmt::print("with {}\n", clean_utf8(assumed_text(model, assumed)));
  if (folded > 0)
    fmt::print("left out: {} nodes that compute shapes and constants, known before the model runs\n", folded);
  if (summary.without_costs > 0) {
    const std::vector<std::string> symbols = graph.symbols();
    fmt::print("without costs: {} of {} nodes; {}\n", summary.without_costs, summary.nodes.size(),
               symbols.empty() ? "their shapes are known only when the model runs, or they choose what runs"
                               : fmt::format("their shapes depend on symbols (give --bind {}=1)",
                                             fmt::join(symbols, "=1 --bind ")));
  }
  if (!roofs) fmt::print("no floors: the device's roofs are not known; --floors measures them\n");
  if (roofs) {
    const analyze::RoofsOrigin origin = lab::origin_of(*roofs);
    fmt::print("floors on {}, {}; roofs {}\n", roofs->roofs.machine, counted(roofs->roofs.threads, "thread"),
               report::roofs_origin_text(origin));
    if (const std::string doubt = report::roofs_doubt(origin); !doubt.empty())
      fmt::print("note: {}\n", doubt);
  }
  print_interface(graph, "input", graph.inputs());
  print_interface(graph, "output", graph.outputs());
  const std::vector<lab::NodeSummary> nodes = shown_nodes(summary, top);
  const TextColumns columns(nodes);
  fmt::print("\n{} {} {} {} {}\n", columns.head(), right("FLOPs", 12), right("bytes", 10),
             right("FLOP/byte", 9), right("floor", 9));
  for (const lab::NodeSummary& row : nodes) print_row(row, columns);
  if (nodes.size() < summary.nodes.size())
    fmt::print("and {} more, which need less\n", summary.nodes.size() - nodes.size());
  if (nodes.size() > kScreen) fmt::print("\nin all: {}\n", whole);  // the first lines are out of sight
}

nlohmann::ordered_json interface_json(const graph::Graph& graph, const std::vector<graph::ValueId>& ids) {
  auto json = nlohmann::ordered_json::array();
  for (graph::ValueId id : ids)
    json.push_back({{"name", graph.value(id).name}, {"type", graph.type(id).text()}});
  return json;
}

// A count as a whole number; doubles hold each up to 2^53, and what is beyond or no whole number stays as it is.
nlohmann::ordered_json count_json(double count) {
  constexpr double kExact = 9007199254740992;
  if (std::abs(count) > kExact || count != std::floor(count)) return count;
  return static_cast<int64_t>(count);
}

nlohmann::ordered_json summary_json(const std::string& path, const graph::Graph& graph,
                                    const lab::ModelSummary& summary, bool has_floors) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["schema"] = 1;
  json["model"] = path;
  json["nodes"] = summary.nodes.size();
  json["parameters"] = count_json(summary.parameters);
  json["parameter_bytes"] = count_json(summary.parameter_bytes);
  json["flops"] = count_json(summary.flops);
  json["bytes"] = count_json(summary.bytes);
  json["floor_ms"] = has_floors ? Json(summary.floor_ms) : Json(nullptr);
  json["nodes_without_costs"] = summary.without_costs;
  json["symbols"] = graph.symbols();
  json["inputs"] = interface_json(graph, graph.inputs());
  json["outputs"] = interface_json(graph, graph.outputs());
  json["operators"] = Json::array();
  for (const lab::NodeSummary& row : summary.nodes) {
    Json node = {{"name", row.op.name}, {"op", row.op.kind}, {"type", row.type}};
    node["flops"] = row.has_costs ? count_json(row.op.flops) : Json(nullptr);
    node["bytes"] = row.has_costs ? count_json(row.op.bytes()) : Json(nullptr);
    node["intensity"] = row.has_costs ? Json(row.intensity()) : Json(nullptr);
    node["floor_ms"] = row.has_costs && has_floors ? Json(row.floor_ms) : Json(nullptr);
    node["roof"] = row.roof;
    json["operators"].push_back(std::move(node));
  }
  return json;
}

// Operators of the optimised model that this machine's CPU has no kernel for. Nothing is said while symbols stand
// for extents: with numbers in their place most of those operators have kernels.
Result<lab::WhereItRuns> where_it_would_run(const graph::Graph& graph) {
  if (!graph.symbols().empty()) return lab::WhereItRuns{};
  HONE_ASSIGN(const auto provider, runtime::make_provider("cpu", {}));
  HONE_ASSIGN(const graph::Graph optimised, lab::optimise(graph, *provider, {}));
  return lab::where_it_runs(optimised, *provider);
}

Status show_given_plan(const ShowOptions& options) {
  if (options.floors || options.top > 0 || options.model.symbolic)
    return usage_error(
        fmt::format("--floors, --top and --symbolic are of models, and {} is a plan", options.model.path));
  if (!options.model.bindings.empty() || !options.model.shapes.empty())
    return usage_error(
        fmt::format("--bind and --shape: {} is a plan, whose shapes are fixed", options.model.path));
  return show_plan(options.model.path, options.text, options.json);
}

Status run_show(ShowOptions options) {
  if (options.operators) {
    HONE_ASSIGN(const graph::CustomOperators of_plugins, plugin::load_plugins(options.model.plugins));
    fmt::print("{}{}", operators_page(), plugin_operators_text(of_plugins));
    return {};
  }
  HONE_CHECK(settle_device(&options.device));
  if (options.model.path.empty()) return usage_error("show: which model? give the path of an ONNX file");
  if (is_given_plan(options.model)) return show_given_plan(options);
  std::vector<std::string> assumed;
  HONE_ASSIGN(graph::Graph graph, load_model(options.model, {}, &assumed));
  if (options.text) {
    fmt::print("{}", graph::print(graph));
    return {};
  }
  // Parameters are the model's own: folding may make a constant of another (tied weights, transposed).
  const lab::ModelSummary given = lab::summarise_model(graph, std::nullopt);
  const std::size_t all_nodes = graph.nodes().size();
  if (!options.model.symbolic) {
    HONE_ASSIGN(graph, without_known_nodes(std::move(graph), options.model.path));
  }
  const std::size_t folded = all_nodes - std::min(all_nodes, graph.nodes().size());
  HONE_ASSIGN(const std::optional<lab::Ceilings> roofs, find_roofs(options.device, options.floors));
  lab::ModelSummary summary =
      lab::summarise_model(graph, roofs ? std::optional<Roofs>(roofs->roofs) : std::nullopt);
  summary.parameters = given.parameters;
  summary.parameter_bytes = given.parameter_bytes;
  nlohmann::ordered_json json = summary_json(options.model.path, graph, summary, roofs.has_value());
  json["assumed"] = assumed_json(options.model, assumed);
  json["nodes_folded"] = folded;
  HONE_ASSIGN(const lab::WhereItRuns where, where_it_would_run(graph));
  if (const std::string text = lab::reference_text(where); !text.empty()) json["reference"] = text;
  json["on_host"] = host_json(where);
  HONE_CHECK(write_json(options.json, json));
  print_summary(options.model, graph, summary, roofs, assumed, folded, options.top);
  for (const std::string& text : lab::where_texts(where))
    fmt::print("\noptimised for this CPU, {}\n", clean_utf8(text));
  return {};
}

}  // namespace

void add_show_command(Program& program) {
  auto options = std::make_shared<ShowOptions>();
  Command command =
      program.add("show", "the graph of a model, its FLOPs, bytes and floors; the kernels of a saved plan",
                  [options] { return run_show(*options); });
  options->model.add_to(command).required(false);
  options->model.add_symbolic_to(command);
  command.flag("--text", &options->text, "the graph in hone's text form instead");
  command.flag("--floors", &options->floors,
               "measure the device's roofs if they are not known yet (two seconds; a GPU's: ten)");
  add_device_to(command, &options->device);
  command.flag("--operators", &options->operators,
               "instead of a model: the operators that hone supports, and those of plugins, as Markdown");
  command.option("--top N", &options->top, "only the N nodes that need most, those first (default: all)")
      .positive();
  command.option("--json FILE", &options->json, "also write it to this file").written();
}

}  // namespace hone::apps
