#include "lab/buckets/padding_cost.h"

#include "lab/prepared.h"
#include "runtime/make_provider.h"

namespace hone::lab {
namespace {

constexpr double kBucketAloneShare = 0.4;  // of the budget, where padding is compared with none

}  // namespace

Result<BucketBench> bench_buckets(const graph::Graph& open, const graph::Graph& bound,
                                  const std::map<std::string, std::vector<int64_t>>& buckets,
                                  const BenchOptions& options) {
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device, {.threads = options.threads}));
  const std::unique_ptr<runtime::Hold> hold = provider->hold();
  HONE_ASSIGN(const Inputs inputs, make_inputs(bound, options.seed, options.inputs));
  runtime::TimingCache cache = runtime::TimingCache::open(options.timing_cache);
  BucketOptions in_buckets;
  in_buckets.buckets = buckets;
  in_buckets.disabled_passes = options.disabled_passes;
  in_buckets.plan.cache = &cache;
  in_buckets.plan_folder = options.plan_folder;
  if (!options.overlap) in_buckets.plan.overlap = runtime::Overlap::kNever;
  in_buckets.plan.progress = [&](std::size_t done, std::size_t total, const std::string& node) {
    return !options.progress || options.progress(0.02, choosing(done, total, node));
  };
  BucketOptions exactly = in_buckets;
  exactly.buckets.clear();
  HONE_ASSIGN(const auto plans, BucketedPlans::make(open, *provider, in_buckets));
  HONE_ASSIGN(const auto exact, BucketedPlans::make(open, *provider, exactly));
  const auto call = [&inputs](BucketedPlans& of) {
    return [&inputs, &of]() -> Status {
      HONE_CHECK(of.run(inputs.tensors));
      return {};
    };
  };
  BucketBench result{std::string(provider->name()),
                     provider->threads(),
                     batch_of(inputs.tensors),
                     inputs.notes,
                     {},
                     {},
                     {},
                     {}};
  HONE_ASSIGN(BucketRun first, plans->run(inputs.tensors));
  result.served = std::move(first.served);
  result.memory = memory_use_of(first.memory, *provider->device());
  const bool padded = result.served.padding() > 0;
  if (padded) HONE_CHECK(call(*exact)());
  (void)cache.save();  // a convenience: the next run measures again if it could not be written
  const auto progress = [&](double from, double to, const char* what) {
    return [&options, from, to, what](double done) {
      return !options.progress || options.progress(from + (to - from) * done, what);
    };
  };
  const double alone = padded ? kBucketAloneShare : 1;
  LatencyOptions latency;
  latency.budget_ns = static_cast<int64_t>(options.budget_s * alone * 1e9);
  latency.warm_up_runs = options.warm_up_runs;
  if (options.runs > 0) latency.exact_runs = options.runs;
  latency.progress = progress(0.1, 0.1 + 0.9 * alone, "measuring the bucket's plan");
  HONE_ASSIGN(result.latency, measure_latency(call(*plans), latency));
  if (!padded) return result;
  PairedOptions paired;
  paired.budget_ns = static_cast<int64_t>(options.budget_s * (1 - alone) * 1e9);
  paired.progress = progress(0.1 + 0.9 * alone, 1, "measuring it against a plan without padding");
  HONE_ASSIGN(result.against_exact, run_paired(call(*exact), call(*plans), paired));
  return result;
}

}  // namespace hone::lab
