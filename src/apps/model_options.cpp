#include "apps/model_options.h"

#include <charconv>
#include <random>

#include <fmt/format.h>

#include "graph/random_seeds.h"
#include "model/npy/npy.h"
#include "model/onnx/reader.h"

namespace hone::apps {
namespace {

Result<int64_t> extent(const std::string& text, const std::string& option) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || value < 0) {
    return invalid(fmt::format("{}: '{}' is not an extent (a whole number, 0 or more)", option, text));
  }
  return value;
}

Result<std::pair<std::string, std::string>> split_assignment(const std::string& text, const char* usage) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return invalid(fmt::format("'{}' should read {}", text, usage));
  return std::pair{text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

Option ModelOptions::add_to(Command command) {
  Option model = command.positional("MODEL", &path, "an ONNX model").required();
  add_shapes_to(command);
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

Result<std::map<std::string, Tensor>> read_inputs(const std::vector<std::string>& given) {
  std::map<std::string, Tensor> tensors;
  for (const std::string& text : given) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      return invalid(fmt::format("--input '{}' should read NAME=FILE.npy", text));
    const std::string name = text.substr(0, at);
    if (tensors.contains(name)) return invalid(fmt::format("--input {} is given twice", name));
    HONE_ASSIGN(tensors[name], model::read_npy(text.substr(at + 1)));
  }
  return tensors;
}

std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& tensors) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape();
  return shapes;
}

Result<graph::Graph> load_model(const ModelOptions& options, std::map<std::string, Shape> input_shapes) {
  model::ReadOptions read;
  read.default_symbol = options.default_symbol;
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
    read.input_shapes.emplace(pair.first, std::move(shape));
  }
  return model::read_onnx(options.path, read);
}

Result<graph::Graph> load_to_run(const ModelOptions& options, std::map<std::string, Shape> input_shapes,
                                 std::optional<uint64_t> seed) {
  HONE_ASSIGN(graph::Graph graph, load_model(options, std::move(input_shapes)));
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
