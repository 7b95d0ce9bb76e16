// Which operator set and file format a graph needs when it is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::model::onnx {

struct Target {
  int64_t opset = 0;                       // of the default domain
  int64_t ir_version = 0;                  // the oldest that allows it
  std::map<std::string, int64_t> domains;  // other domains in the graph, and their versions
};

// The operator's domain and its name there: {"", "Conv"}, {"com.microsoft", "FusedMatMul"}.
struct OperatorName {
  std::string_view domain;
  std::string_view name;
};
OperatorName split_operator(std::string_view op);

// The oldest target, opset 21 at least, that has the graph's operators and element types, or `wanted` where
// it is not 0. An error where `wanted` is too old, or an operator is hone's own and those are not wanted.
Result<Target> choose_target(const graph::Graph& graph, int64_t wanted, bool own_operators = false);

}  // namespace hone::model::onnx
