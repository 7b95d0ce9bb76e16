#include "lab/bench/throughput.h"

#include <algorithm>

#include <fmt/format.h>

#include "lab/bench/together.h"
#include "lab/ceilings/gpu/gpu_watch.h"
#include "lab/prepared.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/make_provider.h"

namespace hone::lab {
namespace {

using runtime::Plan;
using runtime::Provider;

// NVML's view of the device that a provider drives; null where it is none of NVIDIA's.
std::unique_ptr<GpuWatch> watch_of(const Provider& provider) {
  const auto* const gpu = dynamic_cast<const runtime::CudaDevice*>(provider.device().get());
  return gpu != nullptr ? std::make_unique<GpuWatch>(gpu->context()->pci_bus_id()) : nullptr;
}

int most_plans(const Provider& whole) {
  return whole.device()->host_visible() ? whole.threads() : kMostPlans;
}

class ThroughputSweep {
 public:
  ThroughputSweep(const GraphOfBatch& graph_of, const ThroughputOptions& options, const Provider& whole)
      : graph_of_(graph_of),
        options_(options),
        whole_(whole),
        watch_(watch_of(whole)),
        cache_(runtime::TimingCache::open(options.bench.timing_cache)) {}

  Result<Throughput> run() {
    if (watch_ != nullptr && !watch_->note().empty()) result_.notes.push_back(watch_->note());
    for (const int64_t batch : options_.batches) {
      const Status measured = measure_batch(batch);
      if (measured.ok()) continue;
      // A larger batch needs still more; what was measured stands.
      if (result_.points.empty() || measured.error().code == ErrorCode::kCancelled) return measured.error();
      result_.notes.push_back(
          fmt::format("the sweep ends before batch {}: {}", batch, measured.error().message));
      break;
    }
    (void)cache_.save();  // a convenience: the next run measures again if it could not be written
    std::vector<LatencyAndThroughput> points;
    for (const ThroughputPoint& point : result_.points)
      points.push_back({point.with_copies.latency.p50, point.with_copies.per_s});
    result_.knee = find_knee(points);
    return std::move(result_);
  }

 private:
  std::size_t of_all() const { return options_.batches.size() * options_.concurrencies.size(); }
  Status say(const std::string& what, double within = 0) const {
    const double done = (static_cast<double>(measured_) + within) / static_cast<double>(of_all());
    if (!options_.bench.progress || options_.bench.progress(std::min(done, 1.0), what)) return {};
    return Error{ErrorCode::kCancelled, "interrupted; nothing was written"};
  }

  Status measure_batch(int64_t batch) {
    HONE_ASSIGN(const graph::Graph graph, graph_of_(batch));
    HONE_ASSIGN(const Inputs inputs, make_inputs(graph, options_.bench.seed, options_.bench.inputs));
    for (const int concurrency : options_.concurrencies) {
      HONE_CHECK(measure_point(graph, inputs.tensors, concurrency));
      ++measured_;
    }
    return {};
  }

  // Plans with what threads they can have; each has memory and a queue of its own.
  Status measure_point(const graph::Graph& graph, const std::vector<Tensor>& inputs, int concurrency) {
    const int64_t batch = batch_of(inputs);
    const std::string what = fmt::format("batch {}, {} at once", batch, concurrency);
    HONE_CHECK(say(what));
    const int share = whole_.device()->host_visible() ? whole_.threads() / concurrency : 0;
    HONE_ASSIGN(const std::unique_ptr<const Provider> provider,
                runtime::make_provider(options_.bench.device, {.threads = share}));
    HONE_ASSIGN(const graph::Graph optimised, optimise(graph, *provider, options_.bench.disabled_passes));
    provider->device()->restart_peak();
    std::vector<std::unique_ptr<Plan>> plans;
    const auto choose = [&](std::size_t done, std::size_t total, const std::string& node) {
      return say(what + ": " + choosing(done, total, node)).ok();
    };
    for (int i = 0; i < concurrency; ++i) {
      HONE_ASSIGN(plans.emplace_back(), compile_plan(optimised, *provider, inputs,
                                                     {.cache = &cache_,
                                                      .progress = choose,
                                                      .overlap = options_.bench.overlap,
                                                      .pipelined = concurrency == 1}));
    }
    ThroughputPoint point;
    point.batch = batch;
    point.concurrency = concurrency;
    point.threads = provider->threads();
    std::vector<Requests> compute, with_copies;
    for (const auto& plan : plans) {
      compute.push_back({.give = [&plan] { return plan->run(); }, .take = {}, .in_flight = 1});
      with_copies.push_back(copied_requests(*plan, inputs));
    }
    HONE_ASSIGN(point.compute, measure_calls(compute, batch, what, 0));
    HONE_ASSIGN(point.with_copies, measure_calls(with_copies, batch, what + ", with copies", 0.5));
    point.memory = memory_use_of(plans.front()->memory(), *provider->device(), concurrency);
    result_.points.push_back(std::move(point));
    return {};
  }

  // Plans at once have other plans' runs beside their copies; one plan's requests have each other's.
  static Requests copied_requests(Plan& plan, const std::vector<Tensor>& inputs) {
    return {.give = [&plan, &inputs] { return plan.give(std::span<const Tensor>(inputs)); },
            .take = [&plan]() -> Status {
              HONE_CHECK(plan.take());
              return {};
            },
            .in_flight = plan.requests_in_flight()};
  }

  Result<ThroughputCalls> measure_calls(const std::vector<Requests>& requests, int64_t batch,
                                        const std::string& what, double begins) {
    TogetherOptions together;
    together.seconds = options_.bench.budget_s / static_cast<double>(2 * of_all());
    together.warm_up_runs = options_.bench.warm_up_runs;
    together.runs = options_.bench.runs;
    together.progress = [&](double done) { return say(what, begins + done / 2).ok(); };
    if (watch_ != nullptr) (void)watch_->now();
    HONE_ASSIGN(const Together measured, measure_together(requests, together));
    const double items = static_cast<double>(measured.latency.runs) * static_cast<double>(batch);
    std::size_t in_flight = 0;
    for (const Requests& each : requests) in_flight += each.in_flight;
    ThroughputCalls calls{.in_flight = static_cast<int>(in_flight),
                          .latency = measured.latency,
                          .per_s = items / measured.seconds,
                          .joules_per_item = {}};
    // The mean over what was measured, and the warm-up before it: the driver counts energy for half a second and longer.
    if (watch_ != nullptr && measured.seconds >= kShortestEnergy)
      if (const auto watts = watch_->now().watts) calls.joules_per_item = *watts / calls.per_s;
    return calls;
  }

  static constexpr double kShortestEnergy = 0.5;  // s

  const GraphOfBatch& graph_of_;
  const ThroughputOptions& options_;
  const Provider& whole_;
  std::unique_ptr<GpuWatch> watch_;
  runtime::TimingCache cache_;
  std::size_t measured_ = 0;  // points
  Throughput result_;
};

}  // namespace

std::optional<std::size_t> find_knee(std::span<const LatencyAndThroughput> points) {
  double most = 0;
  for (const LatencyAndThroughput& point : points) most = std::max(most, point.per_s);
  std::optional<std::size_t> knee;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].per_s < kKneeShare * most) continue;
    if (!knee || points[i].p50_ms < points[*knee].p50_ms) knee = i;
  }
  return knee;
}

Result<std::vector<int>> default_concurrencies(const BenchOptions& options) {
  HONE_ASSIGN(const auto whole, runtime::make_provider(options.device, {.threads = options.threads}));
  std::vector<int> concurrencies;
  for (int plans = 1; plans <= std::min(most_plans(*whole), kMostPlans); plans *= 2)
    concurrencies.push_back(plans);
  return concurrencies;
}

Result<Throughput> measure_throughput(const GraphOfBatch& graph_of, const ThroughputOptions& options) {
  HONE_ASSIGN(const auto whole,
              runtime::make_provider(options.bench.device, {.threads = options.bench.threads}));
  for (const int concurrency : options.concurrencies)
    if (whole->device()->host_visible() && concurrency > whole->threads())
      return invalid(fmt::format("{} plans at once: there are only {} threads to share, one a plan at least",
                                 concurrency, whole->threads()));
  return ThroughputSweep(graph_of, options, *whole).run();
}

}  // namespace hone::lab
