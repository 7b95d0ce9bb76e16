// Plans of a model with open extents, for inputs of any: one plan a bucket, made at first use or ahead, kept while there is
// room. Inputs between two buckets are padded to the next larger one along those symbols alone for which that is shown to
// leave what is kept as it is (graph/padding.h); for the others a plan of exactly their extent is made, and the report says
// which node is the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "graph/padding.h"
#include "lab/buckets/kept_plans.h"
#include "runtime/plan.h"
#include "runtime/provider.h"
#include "runtime/timing_cache.h"

namespace hone::lab {

// 1, 2, 4 … up to this, where a symbol's buckets are not listed.
inline constexpr int64_t kLargestDefaultBucket = 1024;
std::vector<int64_t> default_buckets();

struct BucketOptions {
  std::map<std::string, std::vector<int64_t>>
      buckets;  // of each symbol, ascending; one without is always exact
  std::set<std::string> disabled_passes;
  runtime::PlanOptions plan;  // of each; its cache is used by one plan at a time
  // Where plans are kept from process to process (kept_plans.h); empty: nowhere. None is with `plan.check_numbers`.
  std::filesystem::path plan_folder = {};
  // Of the plans that are kept, those used longest ago go. A plan that takes more by itself is kept alone.
  std::size_t most_plans = 32;
  std::size_t most_bytes =
      0;  // arenas and packed weights; 0: half of what tensors may take (core/memory_budget.h)
};

// A symbol, and how it was served.
struct ServedSymbol {
  std::string name;
  int64_t extent = 0, of_plan = 0;
  std::string
      exact;  // why nothing is padded, where a bucket is larger than the data: which node, and what it does
};

struct Served {
  std::vector<ServedSymbol> symbols;  // by name
  bool made_now = false;              // a plan was made for it
  double made_s = 0;                  // how long that took
  bool from_file = false;  // it was made from what an earlier process had kept, and nothing measured
  std::string note = {};   // why a kept plan did not serve, or none could be kept
  // Of what the plan computes, as far as work grows with the product of the extents.
  double padding() const;
  // "plan for batch = 8 (3 given, 62 % padding), sequence = 100 (exactly: node 'soft' (Softmax) works along a padded
  // axis)".
  std::string text() const;
};

struct BucketRun {
  std::vector<Tensor> outputs;
  Served served;
  runtime::PlanMemory memory = {};  // of the plan that ran
};

// Thread-safe: any number of threads may call everything at once. Runs of one bucket wait for each other, as a plan runs
// once at a time; those of different buckets do not. Plans are made one after another, and a bucket that is being made
// holds up its own runs only. Numbers are those of a plan of the data's own extents where kernels are the same, and within
// rounding of them where they add in another order.
class BucketedPlans {
 public:
  // An error for a graph that keeps states from run to run, which plans of several buckets could not share; for buckets of a
  // symbol that no input has, or that do not ascend from 1. `provider` must outlive the result.
  static Result<std::unique_ptr<BucketedPlans>> make(graph::Graph graph, const runtime::Provider& provider,
                                                     BucketOptions options);
  ~BucketedPlans();

  const graph::Graph& graph() const { return graph_; }

  // Inputs in the order of the graph's.
  Result<BucketRun> run(std::span<const Tensor> inputs);
  // Makes the plan for data of these extents, all symbols given.
  Result<Served> make_ahead(const Extents& extents);
  // The same for every combination of the buckets, which all symbols must have.
  Result<std::size_t> make_all();

  struct Kept {
    Extents extents;  // of the plan
    std::size_t bytes = 0;
    int64_t runs = 0;
  };
  std::vector<Kept> kept() const;  // latest used first

 private:
  struct Bucket;
  // How data of some extents are served.
  struct Decision {
    Extents of_plan;
    std::vector<graph::PaddedAxes> outputs;  // empty: nothing is padded
    std::vector<ServedSymbol> symbols;
  };

  BucketedPlans(graph::Graph graph, const runtime::Provider& provider, BucketOptions options);

  Result<Extents> extents_of(std::span<const Tensor> inputs) const;
  Result<graph::Graph> specialised(const Extents& extents) const;
  Result<graph::Graph> with_shapes_known(const Extents& extents) const;
  Result<std::shared_ptr<const Decision>> decide(const Extents& extents);
  Result<Decision> decide_anew(const Extents& extents) const;
  std::shared_ptr<Bucket> bucket_of(const Extents& extents);
  Status make_plan(Bucket& bucket, Served& served);  // the bucket's lock held
  Result<std::unique_ptr<runtime::Plan>> compile(const Extents& extents) const;
  Result<std::unique_ptr<runtime::Plan>> find_or_compile(const Extents& extents, Served& served) const;
  void drop_oldest();
  void forget(const Bucket& bucket);

  const graph::Graph graph_;
  const runtime::Provider& provider_;
  const BucketOptions options_;
  const std::optional<KeptPlans> kept_plans_;

  mutable std::mutex mutex_;                    // of the two below
  std::list<std::shared_ptr<Bucket>> buckets_;  // latest used first
  std::map<Extents, std::shared_ptr<const Decision>>
      decisions_;      // by the data's extents; kMostDecisions at most
  std::mutex making_;  // plans are made, and the cache is used, by one thread
};

}  // namespace hone::lab
