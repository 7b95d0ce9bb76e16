// An operator that a plugin brought, as a value: nodes of it carry one (Node::custom), so there is no table to register it
// in. The plugin room makes them of what a library says of itself (plugin/plugin.h); who runs their nodes calls the
// library by `interface` (plugin/node_view.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_table.h"

struct hone_operator;  // include/hone/plugin.h

namespace hone::graph {

// Immutable, shared by the nodes of all graphs that were read with it. What it points into stays loaded until the process
// ends.
struct CustomOperator {
  std::string domain;         // "mmdeploy"
  std::string op;             // the operator's name there
  std::string name;           // as nodes have it: "domain.op"
  int64_t since_version = 1;  // of the domain's operator set
  std::string plugin;         // "msda 1.0.2"
  std::string file;           // the library, as the user named it
  std::string identity;  // the plugin, its version and a hash of the library: what timings are kept under
  OpEntry entry;         // its texts lie in `name` and in the library
  const hone_operator* interface = nullptr;
};

using CustomOperators = std::vector<std::shared_ptr<const CustomOperator>>;

// The newest of that name which a model that imports `version` of the domain may use; null if there is none.
inline std::shared_ptr<const CustomOperator> find_custom(const CustomOperators& operators,
                                                         std::string_view name, int64_t version) {
  std::shared_ptr<const CustomOperator> found;
  for (const auto& one : operators)
    if (one->name == name && one->since_version <= version &&
        (found == nullptr || one->since_version > found->since_version))
      found = one;
  return found;
}

}  // namespace hone::graph
