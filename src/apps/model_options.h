// The options by which every command takes a model: a path, what its symbolic extents stand for, and data for
// its inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::apps {

struct ModelOptions {
  std::string path;
  std::vector<std::string> bindings;  // "batch=8"
  std::vector<std::string> shapes;    // "input=1x3x224x224"
  int64_t default_symbol = 0;  // what symbols not bound stand for; 0 leaves them open; set before add_to()

  Option add_to(Command command);  // returns that of the model itself, which is required
  // All but the model: --bind and --shape.
  std::pair<Option, Option> add_shapes_to(Command command);
};

// What --input NAME=FILE.npy names, each name once.
Result<std::map<std::string, Tensor>> read_inputs(const std::vector<std::string>& given);
std::map<std::string, Shape> shapes_of(const std::map<std::string, Tensor>& tensors);

// Reads the model. `input_shapes` (of given data) come before what --shape says.
Result<graph::Graph> load_model(const ModelOptions& options, std::map<std::string, Shape> input_shapes = {});

// The same, to be run: random operators that have no seed get theirs from `seed`, or from one drawn here, and
// a line says so.
Result<graph::Graph> load_to_run(const ModelOptions& options, std::map<std::string, Shape> input_shapes,
                                 std::optional<uint64_t> seed);

}  // namespace hone::apps
