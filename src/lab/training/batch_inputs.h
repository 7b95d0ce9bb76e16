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

  // From now on batches go ahead of their step, where `device` has memory of its own: by memory that it copies from fastest
  // to a place beside the plan's, on a queue of their own, so that neither host nor step waits for that.
  Status stage(const graph::Graph& graph, runtime::Device& device);

  // The two halves of write(): the next batch on its way to the device, while a run of the plan may still read the one
  // before; and into the plan's inputs, for the runs given from now on. The batch's tensors are the fields', in order.
  Status ready(const data::Batch& batch);
  Status take(runtime::Plan& plan);
  Status write(runtime::Plan& plan, const data::Batch& batch);
  bool contains(std::size_t input) const;

 private:
  struct Upload;
  std::vector<std::size_t> inputs_;  // by field
  std::vector<Tensor> ready_;        // by field, of the batch that is to be taken
  std::shared_ptr<Upload> upload_;   // null: the host's tensors are read
};

}  // namespace hone::lab
