// The options by which every command takes a model: a path, and what its symbolic extents stand for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "core/result.h"
#include "graph/graph.h"

namespace hone::apps {

struct ModelOptions {
  std::string path;
  std::vector<std::string> bindings;  // "batch=8"
  std::vector<std::string> shapes;    // "input=1x3x224x224"
  int64_t default_symbol = 0;  // what symbols not bound stand for; 0 leaves them open; set before add_to()

  Option add_to(Command command);       // returns that of the model itself, which is required
  void add_shapes_to(Command command);  // all but the model
};

// Reads the model. `input_shapes` (of given data) come before what --shape says.
Result<graph::Graph> load_model(const ModelOptions& options, std::map<std::string, Shape> input_shapes = {});

}  // namespace hone::apps
