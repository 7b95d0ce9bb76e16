// The control-flow operators (ONNX: If-11+, Loop-11+, Scan-9+). They decide which body runs and how often;
// how a body runs is the caller's: the interpreter interprets it, a plan may have compiled it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::runtime {

// Runs body `body` of the node once: inputs and outputs in the body's own order, captured values last.
using RunBody = std::function<Result<std::vector<Tensor>>(std::size_t body, std::span<const Tensor> inputs)>;

// Whether the node is one of those below.
bool is_control(const graph::Node& node);
// `node` must be one; its inputs are undefined where an optional one is absent.
Result<std::vector<Tensor>> run_control(const graph::Node& node, std::span<const Tensor> inputs,
                                        const RunBody& run_body);

}  // namespace hone::runtime
