// Which inputs of a plan a batch fills.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "data/batches.h"
#include "graph/graph.h"
#include "graph/training/step.h"
#include "runtime/plan.h"

namespace hone::lab {

// The number of the input called `name`; kNoInput where there is none.
std::size_t input_named(const graph::Graph& graph, const std::string& name);
inline constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);

class BatchInputs {
 public:
  BatchInputs() = default;
  // The inputs "data.<field>" of `graph`, which need not have all of them.
  BatchInputs(const graph::Graph& graph, const std::vector<graph::BatchField>& fields);

  // From now on batches go by memory that `device` copies from fastest, where it has memory of its own: nobody waits for
  // such a copy. The run that reads a batch must then have ended before the next one is written.
  Status stage(const graph::Graph& graph, runtime::Device& device);

  // The batch's tensors are the fields', in order.
  Status write(runtime::Plan& plan, const data::Batch& batch) const;
  bool contains(std::size_t input) const;

 private:
  std::vector<std::size_t> inputs_;                        // by field
  std::vector<std::shared_ptr<runtime::Memory>> staging_;  // by field; empty: the host's tensors are read
};

}  // namespace hone::lab
