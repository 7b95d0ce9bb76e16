// Kernel choice by measurement: each candidate of a node runs on random data, the fastest is kept and
// remembered.
#pragma once

#include <memory>
#include <string>

#include "core/result.h"
#include "runtime/plan.h"
#include "runtime/provider.h"

namespace hone::runtime {

struct Chosen {
  std::unique_ptr<Kernel> kernel;
  std::string why;  // "only candidate", "fastest of 3: 41 µs, next 55 µs", "fastest of 3 (remembered)"
};

// The kernel for `node`. Candidates that cannot be made are passed over; an error if none can be.
Result<Chosen> choose_kernel(const graph::Graph& graph, const graph::Node& node, const Provider& provider,
                             const PlanOptions& options);

// Data to measure with. Floats are random (zeros can run faster than real data), everything else is zero: a
// valid index, axis or length.
void make_up(DType dtype, void* data, std::size_t bytes);

}  // namespace hone::runtime
