// A plugin's operator by the interpreter: its reference kernel, or else its first CPU kernel, on one thread. Shapes that
// depend on data are inferred with the data.
#pragma once

#include <span>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::runtime {

// One node whose operator is a plugin's, on given inputs (undefined where an optional one is absent). Several threads may
// run one at once.
Result<std::vector<Tensor>> run_plugin_reference(const graph::Node& node, std::span<const Tensor> inputs);

// For reports, a line for each of the plugins' operators that `graph` has.
struct PluginNotes {
  std::vector<std::string> origins;             // whose it is: name, version, hash and file
  std::vector<std::string> without_references;  // what plays the reference's part where it brings none
};
PluginNotes plugin_notes(const graph::Graph& graph);

}  // namespace hone::runtime
