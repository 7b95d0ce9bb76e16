// The options by which every command takes a model: a path, what its symbolic extents stand for, and data for
// its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "apps/command_line.h"
#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "lab/where_it_runs.h"

namespace hone::apps {

struct ModelOptions {
  std::string path;
  std::vector<std::string> bindings;  // "batch=8"
  std::vector<std::string> shapes;    // "input=1x3x224x224"
  int64_t default_symbol = 1;  // what symbols not bound stand for; 0 leaves them open; set before add_to()
  bool symbolic = false;       // leave them open all the same
  std::string memory;          // "8G": that tensors may take; empty: most of what is free
  std::vector<std::string> plugins;  // files

  Option add_to(Command command);  // returns that of the model itself, which is required
  // --symbolic, for commands that can do without numbers.
  void add_symbolic_to(Command command);
  // All but the model and --memory: --bind and --shape.
  std::pair<Option, Option> add_shapes_to(Command command);
};

// From here on, tensors may take what --memory says.
Status apply_memory(const ModelOptions& options);

// Whether this process may use so many threads; 0: all of them. More than there are cores for would only wait
// for each other, and what is measured would be that.
Status check_threads(int threads);

// What --device stands for by itself: the GPU where there is one.
inline constexpr const char* kAnyDevice = "auto";
// Whether there is such a device to run on; kAnyDevice becomes the one that is meant. A GPU that is there and cannot be used
// is told on standard error.
Status settle_device(std::string* name);

// --plugin, which may be given again.
Option add_plugins_to(Command command, std::vector<std::string>* plugins);

std::vector<std::string> device_names();  // that this build has
// --device, of those.
Option add_device_to(Command command, std::string* device);

// What --lossy can name; and --disable and --only.
std::vector<std::string> lossy_passes();
std::vector<std::string> pass_and_group_names();

// Whether each is a pass or a group of passes; what `option` gave.
Status check_passes(const std::string& option, const std::vector<std::string>& names);
Status check_lossy_passes(const std::string& option, const std::vector<std::string>& names);

// What --input NAME=FILE.npy names, each name once.
Result<std::map<std::string, Tensor>> read_inputs(const std::vector<std::string>& given);
std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& tensors);

// Whether each is an input of the graph.
Status check_names_of(const std::map<std::string, Tensor>& tensors, const graph::Graph& graph,
                      const std::string& model);

// Reads the model. `input_shapes` (of given data) come before what --shape says. From here on, tensors may
// take what --memory says. `assumed`, where it is not null, gets the symbols that nothing bound and that
// stand for the default.
Result<graph::Graph> load_model(const ModelOptions& options, std::map<std::string, Shape> input_shapes = {},
                                std::vector<std::string>* assumed = nullptr);

// "batch = 1, sequence = 1 (--bind gives others)"; empty where nothing was assumed.
std::string assumed_text(const ModelOptions& options, const std::vector<std::string>& assumed);
// The same for --json: {"batch": 1}.
nlohmann::ordered_json assumed_json(const ModelOptions& options, const std::vector<std::string>& assumed);

// What --json says of operators that the host runs between the kernels: [{node, op, why}].
nlohmann::ordered_json host_json(const lab::WhereItRuns& where);

// The model, to be run: random operators that have no seed get theirs from `seed`, or from one drawn here, and
// a line says so. `assumed` as in load_model().
Result<graph::Graph> load_to_run(const ModelOptions& options, std::map<std::string, Shape> input_shapes,
                                 std::optional<uint64_t> seed, std::vector<std::string>* assumed = nullptr);

}  // namespace hone::apps
