// Who decides in an experiment whether a changed plan still computes what the given graph means.
#pragma once

#include <span>
#include <string>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "lab/gate/numeric.h"
#include "lab/precision/batch_sample.h"
#include "runtime/plan.h"

namespace hone::lab {

class Judge {
 public:
  virtual ~Judge() = default;

  // What prepare() does, for the progress: "computing the reference in double precision".
  virtual std::string preparing() const = 0;
  // Before any plan is made. `inputs`: one an input of the graph.
  virtual Status prepare(const graph::Graph& baseline, std::span<const Tensor> inputs) = 0;
  // The same by rows of the batch: `sampled` are inputs of sample.graph. `inputs` hold these rows over again, or,
  // where `all_rows`, others behind them: then all are to be computed.
  virtual Status prepare_by_rows(const graph::Graph& baseline, std::span<const Tensor> inputs,
                                 const BatchSample& /*sample*/, std::span<const Tensor> /*sampled*/,
                                 bool /*all_rows*/) {
    return prepare(baseline, inputs);
  }
  // The plan of the unchanged graph, which holds the inputs and has run.
  virtual Status see_unchanged(runtime::Plan& plan) = 0;
  // May run `plan`, which then holds the inputs again. `lossy`: the largest limit of the lossy passes in it; 0: it has
  // none.
  virtual Result<NumericReport> check(runtime::Plan& plan, double lossy) = 0;

  // Whether outputs of an interpreted graph can be judged: of the whole batch, or of the rows that it was prepared by.
  virtual bool judges_interpretations() const { return false; }
  // Those of `graph` with lossy passes in it. The plan rounds elsewhere, for which some of the limit is left.
  virtual NumericReport check_interpreted(const graph::Graph& /*graph*/, std::span<const Tensor> /*outputs*/,
                                          double /*lossy*/) const {
    return {};
  }

  // Before each block of a comparison: where a plan's runs change what it holds, what it held at first.
  virtual Status start_anew(runtime::Plan& /*plan*/) const { return {}; }
};

}  // namespace hone::lab
