// hone zoo: well-known architectures with seeded weights, as ONNX files.
#include "model/zoo/zoo.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/units.h"
#include "model/onnx/writer.h"

namespace hone::apps {
namespace {

struct ZooOptions {
  std::string name;
  std::string out;
  std::string json;
  model::ZooOptions zoo;
  bool list = false;
};

void print_zoo() {
  for (const model::ZooModel& model : model::zoo_models()) {
    fmt::print("{:<14}{:>8.3f} M parameters   {} ({} {})\n", model.name,
               static_cast<double>(model.parameters) / 1e6, model.summary, model.size_means,
               model.default_size);
  }
}

Status run_zoo(const ZooOptions& options) {
  if (options.list) {
    print_zoo();
    return {};
  }
  if (options.name.empty()) return usage_error("zoo: which model? hone zoo --list shows them");
  if (options.out.empty()) return usage_error("zoo: where to? give -o FILE.onnx");
  const auto graph = model::build_zoo_model(options.name, options.zoo);
  if (!graph.ok() && graph.error().code == ErrorCode::kNotFound) return usage_error(graph.error().message);
  if (!graph.ok()) return graph.error();
  HONE_CHECK(model::write_onnx(*graph, options.out));
  fmt::print("{}: {}, {} nodes, seed {}\n", options.out, options.name, graph->nodes().size(),
             options.zoo.seed);
  return write_json(options.json, {{"schema", 1},
                                   {"name", options.name},
                                   {"output", options.out},
                                   {"seed", options.zoo.seed},
                                   {"nodes", graph->nodes().size()}});
}

}  // namespace

void add_zoo_command(Program& program) {
  auto options = std::make_shared<ZooOptions>();
  Command command = program.add("zoo", "write a well-known model with seeded weights as ONNX",
                                [options] { return run_zoo(*options); });
  std::vector<std::string> names;
  for (const model::ZooModel& model : model::zoo_models()) names.emplace_back(model.name);
  command.positional("NAME", &options->name, "the model; --list shows them").offers(std::move(names));
  command.option("-o,--out FILE.onnx", &options->out, "the file to write").written();
  command.option("--seed N", &options->zoo.seed, "of the weights (default 0)");
  command.option("--batch N", &options->zoo.batch, "a fixed batch size (default: the symbol 'batch')")
      .positive();
  command.option("--size N", &options->zoo.size, "image side or sequence length (default: the model's)")
      .positive();
  command.flag("--open-length", &options->zoo.open_length,
               "of models of text: leave the length of the sequence open, as the symbol 'sequence'");
  command.flag("--list", &options->list, "list the models");
  command.option("--json FILE", &options->json, "also write what was made to this file").written();
}

}  // namespace hone::apps
