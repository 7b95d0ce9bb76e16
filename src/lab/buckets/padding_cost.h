// How long inputs of some extents take in the plan of their bucket, and what its padding costs against a plan of exactly
// their extents. The work of `hone bench --buckets`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/bench/bench.h"
#include "lab/buckets/bucketed_plans.h"
#include "lab/gate/latency.h"
#include "lab/gate/paired.h"
#include "lab/plan_memory.h"

namespace hone::lab {

struct BucketBench {
  std::string device;
  int threads = 1;
  int64_t batch = 1;                // extent 0 of the first input that has two axes or more
  std::vector<std::string> inputs;  // what each is
  Served served;                    // by the first run
  Latency latency;                  // of one call: inputs in, padding, run, outputs out, cut
  // Where something was padded: A is a plan of exactly the data's extents, with its copies; a ratio below 1 says that
  // padding costs time.
  std::optional<PairedResult> against_exact;
  PlanMemoryUse memory;  // of the bucket's plan, before the exact one is run
};

// `open`: the model with its symbols; `bound`: the same at the data's extents, which says what inputs are made up.
Result<BucketBench> bench_buckets(const graph::Graph& open, const graph::Graph& bound,
                                  const std::map<std::string, std::vector<int64_t>>& buckets,
                                  const BenchOptions& options);

}  // namespace hone::lab
