// The rows of a large batch that the reference of an experiment is computed on. The reference and what narrow types cost
// are computed on the host, operator by operator, in time that grows with the batch: of 256 images they would take longer
// than the experiment. Where the rows of a model are shown not to depend on each other (graph/padding.h), a few are computed,
// and the plans' batch holds these over again, so that every row that a plan gives is still compared with the reference.
// Which row stands at which place looks random: a kernel that takes one row for another is seen.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "graph/padding.h"
#include "passes/pass.h"

namespace hone::lab {

struct BatchSample {
  int64_t rows = 0;         // that are computed
  std::vector<int64_t> at;  // which of them stands at each place of the batch; the first are themselves
  graph::Graph graph;       // the model for a batch of `rows`, shapes known
  std::vector<graph::PaddedAxes> inputs, outputs;  // from `rows` to the batch
  struct OtherConstant {
    Tensor of_batch, of_rows;
  };
  std::map<std::string, OtherConstant, std::less<>> constants;  // by their names

  int64_t batch() const { return static_cast<int64_t>(at.size()); }
  // "4 of 32 rows".
  std::string text() const;
  // Tensors of the whole batch, of inputs or outputs of the sample.
  Result<std::vector<Tensor>> spread(std::span<const Tensor> tensors,
                                     std::span<const graph::PaddedAxes> axes) const;
  // The first rows of inputs or outputs of the whole batch.
  static Result<std::vector<Tensor>> first_rows(std::span<const Tensor> tensors,
                                                std::span<const graph::PaddedAxes> axes);
  // What passes made of the whole batch's graph, to be interpreted on the sample: with constants for its extents. Types are
  // still those of the batch. A constant that a pass has made of others is left as it is: then interpreting it fails.
  Result<graph::Graph> for_rows(const graph::Graph& graph) const;
};

// FLOPs of the model that the reference computes in some seconds on a few cores, where nothing is left out.
inline constexpr double kMostReferenceFlops = 2e10;

// The rows that come to that many FLOPs, at least two, as the experiment's numbers are to be of more than one; 0 where the
// whole batch does, or is no larger. The batch is the first extent of the first input of two axes or more.
int64_t batch_of(const graph::Graph& graph);
int64_t rows_to_compute(const graph::Graph& graph, double most_flops = kMostReferenceFlops);

// `model`: before anything is computed from its shapes; `whole`: the same with what is known folded, by `context`. An error
// says why rows cannot be taken apart.
Result<BatchSample> sample_batch(const graph::Graph& model, const graph::Graph& whole, int64_t rows,
                                 const passes::PassContext& context);

}  // namespace hone::lab
