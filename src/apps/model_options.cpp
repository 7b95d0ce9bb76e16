#include "apps/model_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/memory_budget.h"
#include "core/npy/npy.h"
#include "core/spelling.h"
#include "graph/random_seeds.h"
#include "lab/machine.h"
#include "model/onnx/reader.h"
#include "model/plan/plan_file.h"
#include "passes/pipeline.h"
#include "plugin/plugin.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

Result<int64_t> extent(const std::string& text, const std::string& option) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 0) {
    return usage_error(fmt::format("{}: '{}' is not an extent (a whole number, 0 or more)", option, text));
  }
  return value;
}

Result<std::pair<std::string, std::string>> split_assignment(const std::string& text, const char* usage) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return usage_error(fmt::format("'{}' should read {}", text, usage));
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

// "500M", "8G", "1.5G", "65536": bytes, in units of 1024.
Result<std::size_t> bytes_of(const std::string& text) {
  if (const auto bytes = parse_memory(text)) return *bytes;
  return usage_error(fmt::format("--memory: '{}' is no amount of memory; give one like 8G or 500M", text));
}

}  // namespace

Option ModelOptions::add_to(Command command) {
  Option model = command.positional("MODEL", &path, "an ONNX model; - is standard input").required();
  add_shapes_to(command);
  add_plugins_to(command, &plugins);
  command.option("--memory SIZE", &memory,
                 "what tensors may take, as 8G or 500M (default: most of what the machine has free)");
  return model;
}

std::pair<Option, Option> ModelOptions::add_shapes_to(Command command) {
  const Option bind =
      command.option("--bind SYMBOL=N", &bindings,
                     std::string("what a symbolic extent stands for: --bind batch=8 (once for each") +
                         (default_symbol > 0 ? fmt::format("; others are {})", default_symbol) : ")"));
  return {bind,
          command.option("--shape INPUT=NxM", &shapes, "the shape of an input: --shape images=1x3x256x256")};
}

void ModelOptions::add_symbolic_to(Command command) {
  command.flag("--symbolic", &symbolic, "leave symbolic extents that are not bound open");
}

Status check_threads(int threads) {
  const int most = lab::describe_machine().hardware_threads;
  if (threads <= most) return {};
  return usage_error(fmt::format("--threads {}: this process may use {} only", threads, most));
}

Status settle_device(std::string* name) {
  if (*name == kAnyDevice) {
    const runtime::DefaultProvider chosen = runtime::default_provider();
    *name = chosen.name;
    if (!chosen.why_no_gpu.empty())
      fmt::print(stderr, "hone: there is a GPU, and it is not used: {} (--device {} is for the CPU)\n",
                 chosen.why_no_gpu, chosen.name);
    return {};
  }
  const auto known = runtime::provider_names();
  if (std::find(known.begin(), known.end(), *name) != known.end()) return {};
  return usage_error(fmt::format("--device: there is no device '{}' in this build; it has {}", *name,
                                 fmt::join(known, ", ")));
}

namespace {

Status check_pass_names(const std::string& option, const std::vector<std::string>& names, bool lossy) {
  std::vector<std::string> known;
  for (const passes::Pass& pass : passes::pipeline()) {
    if (lossy && pass.numerics != Numerics::kLossy) continue;
    for (const std::string_view name : {pass.name, pass.group})
      if (std::find(known.begin(), known.end(), name) == known.end()) known.emplace_back(name);
  }
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return usage_error(
          fmt::format("{}: '{}' is no {}pass or group of passes{}; hone optimize --list names them", option,
                      name, lossy ? "lossy " : "", suggestion(name, known)));
  return {};
}

}  // namespace

Status check_passes(const std::string& option, const std::vector<std::string>& names) {
  return check_pass_names(option, names, false);
}

std::vector<std::string> lossy_passes() {
  std::vector<std::string> names;
  for (const passes::Pass& pass : passes::pipeline())
    if (pass.numerics == Numerics::kLossy) names.emplace_back(pass.name);
  return names;
}

std::vector<std::string> pass_and_group_names() {
  std::vector<std::string> names;
  for (const passes::Pass& pass : passes::pipeline())
    for (const std::string_view name : {pass.name, pass.group})
      if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  return names;
}

Option add_plugins_to(Command command, std::vector<std::string>* plugins) {
  return command.option("--plugin FILE.so", plugins,
                        "a library of operators that models may have (once for each; docs/plugins.md)");
}

std::vector<std::string> device_names() {
  const auto known = runtime::provider_names();
  std::vector<std::string> names = {kAnyDevice};
  names.insert(names.end(), known.begin(), known.end());
  return names;
}

Option add_device_to(Command command, std::string* device) {
  return command
      .option("--device DEVICE", device,
              fmt::format(
                  "where to run: {} (cuda where there is a GPU, else cpu), {}; cuda: an NVIDIA GPU (what it "
                  "has no "
                  "kernel for yet runs on the host, by the reference, and is named); null stands in for a "
                  "device, on the reference: correct, and its times mean nothing",
                  kAnyDevice, fmt::join(runtime::provider_names(), ", ")))
      .offers(device_names())
      .with_default();
}

Status check_lossy_passes(const std::string& option, const std::vector<std::string>& names) {
  return check_pass_names(option, names, true);
}

Result<std::map<std::string, Tensor>> read_inputs(const std::vector<std::string>& given) {
  std::map<std::string, Tensor> tensors;
  for (const std::string& text : given) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      return usage_error(fmt::format("--input '{}' should read NAME=FILE.npy", text));
    const std::string name = text.substr(0, at);
    if (tensors.contains(name)) return usage_error(fmt::format("--input {} is given twice", name));
    HONE_ASSIGN(tensors[name], read_npy(text.substr(at + 1)));
  }
  return tensors;
}

std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& tensors) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape();
  return shapes;
}

Status check_names_of(const std::map<std::string, Tensor>& tensors, const graph::Graph& graph,
                      const std::string& model) {
  std::set<std::string> inputs;
  for (graph::ValueId id : graph.inputs()) inputs.insert(graph.value(id).name);
  for (const auto& [name, tensor] : tensors)
    if (!inputs.contains(name))
      return usage_error(fmt::format("{}: there is no input '{}'; its inputs are {}", model, name,
                                     inputs.empty() ? "none" : fmt::format("{}", fmt::join(inputs, ", "))));
  return {};
}

Status apply_memory(const ModelOptions& options) {
  if (options.memory.empty()) return {};
  HONE_ASSIGN(const std::size_t bytes, bytes_of(options.memory));
  set_memory_budget(bytes);
  return {};
}

Result<graph::Graph> load_model(const ModelOptions& options, std::map<std::string, Shape> input_shapes,
                                std::vector<std::string>* assumed) {
  HONE_CHECK(apply_memory(options));
  if (options.path != "-" && model::is_plan_file(options.path))
    return usage_error(
        fmt::format("{}: is a plan, not a model: hone run, bench and show take it as it is; give the "
                    "ONNX file that it was made from for everything else",
                    options.path));
  model::ReadOptions read;
  HONE_ASSIGN(read.operators, plugin::load_plugins(options.plugins));
  read.default_symbol = options.symbolic ? 0 : options.default_symbol;
  if (assumed != nullptr) read.on_default = [assumed](const std::string& name) { assumed->push_back(name); };
  read.input_shapes = std::move(input_shapes);
  for (const std::string& binding : options.bindings) {
    HONE_ASSIGN(const auto pair, split_assignment(binding, "--bind SYMBOL=EXTENT"));
    HONE_ASSIGN(read.symbols[pair.first], extent(pair.second, "--bind " + binding));
  }
  for (const std::string& text : options.shapes) {
    HONE_ASSIGN(const auto pair, split_assignment(text, "--shape INPUT=1x3x256x256"));
    Shape shape;
    for (std::size_t start = 0; start <= pair.second.size() && !pair.second.empty();) {
      const std::size_t end = std::min(pair.second.find_first_of("x,", start), pair.second.size());
      HONE_ASSIGN(const int64_t value, extent(pair.second.substr(start, end - start), "--shape " + text));
      shape.push_back(value);
      start = end + 1;
    }
    const auto [there, added] = read.input_shapes.emplace(pair.first, shape);
    if (!added && there->second != shape)
      return usage_error(
          fmt::format("--shape {}: '{}' is {} already", text, pair.first, shape_text(there->second)));
  }
  // The file is there: what is not found is what --bind, --shape or --input names.
  const auto judged = [&options](Result<graph::Graph> graph) -> Result<graph::Graph> {
    std::error_code unknown;
    if (!graph.ok() && graph.error().code == ErrorCode::kNotFound &&
        (options.path == "-" || std::filesystem::exists(options.path, unknown)))
      return usage_error(graph.error().message);
    return graph;
  };
  if (options.path != "-") return judged(model::read_onnx(options.path, read));
  HONE_ASSIGN(const std::string bytes, read_file("/dev/stdin"));
  auto graph = judged(model::read_onnx_bytes(bytes, read));
  return graph.ok() ? graph : graph.error().within("standard input");
}

std::string assumed_text(const ModelOptions& options, const std::vector<std::string>& assumed) {
  std::string text;
  for (const std::string& symbol : assumed)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol, options.default_symbol);
  return text.empty() ? text : text + " (--bind gives others)";
}

nlohmann::ordered_json assumed_json(const ModelOptions& options, const std::vector<std::string>& assumed) {
  auto json = nlohmann::ordered_json::object();
  for (const std::string& symbol : assumed) json[symbol] = options.default_symbol;
  return json;
}

nlohmann::ordered_json host_json(const lab::WhereItRuns& where) {
  auto json = nlohmann::ordered_json::array();
  for (const lab::OtherwiseRun& use : where.host)
    json.push_back({{"node", use.node}, {"op", use.op}, {"why", use.why}});
  return json;
}

Result<graph::Graph> load_to_run(const ModelOptions& options, std::map<std::string, Shape> input_shapes,
                                 std::optional<uint64_t> seed, std::vector<std::string>* assumed) {
  HONE_ASSIGN(graph::Graph graph, load_model(options, std::move(input_shapes), assumed));
  const std::size_t unseeded = graph::count_unseeded(graph);
  if (unseeded == 0) return graph;
  const uint64_t used = seed ? *seed : std::random_device()();
  auto seeded = graph::give_seeds(graph, used);
  if (!seeded.ok()) return seeded.error().within(options.path);
  fmt::print("note: {} random operator{} without a seed: drawn with --seed {}\n", unseeded,
             unseeded == 1 ? "" : "s", used);
  return seeded;
}

}  // namespace hone::apps
