// The control-flow operators of the interpreter (ONNX: If-11+, Loop-11+, Scan-9+), each running its bodies
// through it.
#pragma once

#include <span>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::runtime {

Result<std::vector<Tensor>> interpret_if(const graph::Node& node, std::span<const Tensor> inputs);
Result<std::vector<Tensor>> interpret_loop(const graph::Node& node, std::span<const Tensor> inputs);
Result<std::vector<Tensor>> interpret_scan(const graph::Node& node, std::span<const Tensor> inputs);

}  // namespace hone::runtime
