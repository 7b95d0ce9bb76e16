// The harness of this folder: a small graph runs as a plan on the CPU, or on another provider, with every kernel that the
// provider offers for it, one after another, and each time must agree with the interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "graph/builder.h"
#include "graph/group_kind.h"
#include "runtime/provider.h"

namespace hone::backends {

struct CompareOptions {
  // Made-up inputs: integers and floats are drawn from these ranges, ends included.
  double low = -1, high = 1;
  int64_t int_low = -9, int_high = 9;
  std::vector<Tensor> inputs = {};  // taken instead of made-up ones where defined
  double tolerance = 1e-5;          // relative L2 of f32 results; integers and bool must be equal
  // The reference may be what the provider offers. Otherwise every node must have a kernel of its own, or
  // the case would compare the reference with itself.
  bool reference_allowed = false;
  // A node without any kernel is no failure: layouts that no kernel takes for some extents.
  bool unsupported_allowed = false;
  std::shared_ptr<const runtime::Provider> provider = {};  // null: the CPU's
};

// Reports disagreement as GoogleTest failures that name the kernel.
void compare_all_kernels(const graph::Graph& graph, const CompareOptions& options = {});

// The same for the graph that `build` makes of a fresh builder; it returns the outputs.
using Build = std::function<std::vector<graph::ValueId>(graph::GraphBuilder&)>;
graph::Graph make_graph(const Build& build);
void compare_all_kernels(const Build& build, const CompareOptions& options = {});

// Offers of each node's candidates one alone: number `round`, or the last. `all` must outlive it.
std::unique_ptr<runtime::Provider> only_candidate(const runtime::Provider& all, std::size_t round);

// --- parts of cases ---
Tensor random_floats(const Shape& shape, uint32_t seed, double low = -1, double high = 1);
graph::ValueId f32_input(graph::GraphBuilder& builder, const std::string& name, const Shape& shape);
graph::ValueId input_of(graph::GraphBuilder& builder, const std::string& name, DType dtype,
                        const Shape& shape);
graph::ValueId f32_constant(graph::GraphBuilder& builder, const Shape& shape, uint32_t seed = 1);
// Floats in another type, rounded as the reference rounds.
Tensor cast_floats(const Tensor& floats, DType dtype);
Tensor random_floats_of(DType dtype, const Shape& shape, uint32_t seed, double low = -1, double high = 1);
graph::ValueId typed_constant(graph::GraphBuilder& builder, DType dtype, const Shape& shape,
                              uint32_t seed = 1);
graph::ValueId scalar(graph::GraphBuilder& builder, float value);
graph::ValueId ints(graph::GraphBuilder& builder, const std::vector<int64_t>& values);
// `value` in another memory layout.
graph::ValueId reorder(graph::GraphBuilder& builder, graph::ValueId value, const std::string& layout);
// The graph with all its nodes but the reorders in one group of this kind.
graph::Graph fused(const Build& build, graph::GroupKind kind);

}  // namespace hone::backends
