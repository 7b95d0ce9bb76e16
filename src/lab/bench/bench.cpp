#include "lab/bench/bench.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "lab/bench/together.h"
#include "lab/machine.h"
#include "lab/peers/ort.h"
#include "lab/prepared.h"
#include "lab/saved_plan.h"
#include "runtime/make_provider.h"

namespace hone::lab {
namespace {

using graph::Graph;
using runtime::Plan;
using runtime::Provider;

// Shares of the budget with a peer. The waiting threads of a runtime spin for a while after its last call
// (ONNX Runtime's for tens of milliseconds, each on a core): the other settles for longer than that before it
// is timed, so that neither pays for the other's spinning.
constexpr double kAloneShare = 0.2;
constexpr double kPairedShare = 0.6;
constexpr int64_t kPeerSettleNs = 100'000'000;
constexpr int64_t kPeerSlotNs = 60'000'000;

struct Ready {
  std::vector<Tensor> inputs;
  std::vector<std::string> input_notes;
  Graph optimised;
  runtime::TimingCache cache;
  std::unique_ptr<Plan> plan;
};

class Bench {
 public:
  // `given` null: for a saved plan.
  Bench(const Graph* given, const BenchOptions& options) : given_(given), options_(options) {}

  Progress part(double from, double to, const std::string& what) const {
    return [this, from, to, what](double done) {
      return !options_.progress || options_.progress(from + (to - from) * done, what);
    };
  }
  LatencyOptions latency_options(double share, double from, double to, const std::string& what) const {
    LatencyOptions latency;
    latency.budget_ns = static_cast<int64_t>(options_.budget_s * share * 1e9);
    latency.warm_up_runs = options_.warm_up_runs;
    if (options_.runs > 0) latency.exact_runs = options_.runs;
    latency.progress = part(from, to, what);
    return latency;
  }

  Result<Ready> prepare(const Graph& graph, const Provider& provider) const {
    HONE_ASSIGN(Inputs inputs, make_inputs(graph, options_.seed, options_.inputs));
    HONE_ASSIGN(Graph optimised, optimise(graph, provider, options_.disabled_passes));
    runtime::TimingCache cache = runtime::TimingCache::open(options_.timing_cache);
    const auto progress = [&](std::size_t done, std::size_t total, const std::string& node) {
      return !options_.progress || options_.progress(0.02, choosing(done, total, node));
    };
    HONE_ASSIGN(std::unique_ptr<Plan> plan,
                compile_plan(optimised, provider, inputs.tensors,
                             {.cache = &cache, .progress = progress, .overlap = options_.overlap}));
    (void)cache.save();  // a convenience: the next run measures again if it could not be written
    return Ready{std::move(inputs.tensors), std::move(inputs.notes), std::move(optimised), std::move(cache),
                 std::move(plan)};
  }

  Result<BenchResult> run(const Graph& graph, const std::filesystem::path& model) {
    // First of all: a peer that is not there is known before minutes of measuring.
    std::optional<OrtLibrary> ort_library;
    if (options_.against_ort) {
      HONE_ASSIGN(ort_library, OrtLibrary::open(options_.ort_library));
    }
    HONE_ASSIGN(const std::unique_ptr<const Provider> whole,
                runtime::make_provider(options_.device, {.threads = options_.threads}));
    // A device of its own is shared by queues, not by threads.
    const bool by_threads = whole->device()->host_visible();
    const int share = by_threads ? whole->threads() / options_.concurrency : whole->threads();
    if (share < 1)
      return invalid(fmt::format("--concurrency {}: there are only {} threads to share", options_.concurrency,
                                 whole->threads()));
    HONE_ASSIGN(const std::unique_ptr<const Provider> provider,
                runtime::make_provider(options_.device, {.threads = share}));
    std::unique_ptr<runtime::Hold> hold;
    if (options_.concurrency == 1) hold = provider->hold();
    HONE_ASSIGN(Ready ready, prepare(graph, *provider));
    Plan* const plan = ready.plan.get();

    BenchResult result = begin_result(*plan, *provider, ready.inputs, ready.input_notes);
    if (options_.concurrency > 1) {
      const runtime::PlanMemory memory = plan->memory();
      ready.plan.reset();  // those side by side are made anew
      HONE_CHECK(run_together(ready.optimised, *provider, ready.inputs, ready.cache, result));
      result.memory = memory_use_of(memory, *provider->device(), options_.concurrency);
      return result;
    }
    const double alone = options_.against_ort ? kAloneShare : 1;
    HONE_ASSIGN(result.latency,
                measure_latency([&] { return plan->run(); },
                                latency_options(alone, 0.1, 0.1 + 0.9 * alone, "measuring hone")));
    result.throughput_per_s = static_cast<double>(result.batch) * 1e3 / result.latency.mean;
    result.memory = memory_use_of(plan->memory(), *provider->device());  // before a peer takes its own
    if (options_.against_ort) {
      hold.reset();  // a peer's threads would inherit this one's core
      HONE_ASSIGN(PeerResult ort, against_ort(*ort_library, *plan, *provider, model, ready.inputs));
      result.against.push_back(std::move(ort));
    }
    return result;
  }

  Result<BenchResult> run_saved(const std::filesystem::path& path) {
    std::vector<SavedPlan> saved;
    const int64_t begin = now_ns();
    HONE_ASSIGN(saved.emplace_back(), load_plan(path));
    const int64_t loaded = now_ns();
    const Plan& first = *saved[0].plan;
    HONE_ASSIGN(const Inputs inputs, make_inputs(first.graph(), options_.seed, options_.inputs));
    const int threads = saved[0].about.threads, all = describe_machine().hardware_threads;
    if (saved[0].provider->device()->host_visible() && options_.concurrency * threads > all)
      return invalid(
          fmt::format("--concurrency {}: the plan is for {} of {} threads; make one for fewer with "
                      "--threads",
                      options_.concurrency, threads, all));
    BenchResult result = begin_result(first, *saved[0].provider, inputs.tensors, inputs.notes);
    result.load_ms = static_cast<double>(loaded - begin) / 1e6;
    std::vector<Workload> workloads;
    for (int i = 0; i < options_.concurrency; ++i) {
      if (i > 0) {
        HONE_ASSIGN(saved.emplace_back(), load_plan(path));
      }
      Plan& own = *saved.back().plan;
      for (std::size_t k = 0; k < inputs.tensors.size(); ++k) HONE_CHECK(own.write(k, inputs.tensors[k]));
      workloads.emplace_back([&own] { return own.run(); });
    }
    if (options_.concurrency > 1) {
      HONE_CHECK(measure_at_once(workloads, result));
      result.memory = memory_use_of(first.memory(), *saved[0].provider->device(), options_.concurrency);
      return result;
    }
    const std::unique_ptr<runtime::Hold> hold = saved[0].provider->hold();
    HONE_ASSIGN(result.latency, measure_latency(workloads[0], latency_options(1, 0.1, 1, "measuring hone")));
    result.throughput_per_s = static_cast<double>(result.batch) * 1e3 / result.latency.mean;
    result.memory = memory_use_of(first.memory(), *saved[0].provider->device());
    return result;
  }

 private:
  BenchResult begin_result(const Plan& plan, const Provider& provider, std::span<const Tensor> inputs,
                           const std::vector<std::string>& notes) const {
    BenchResult result;
    result.device = provider.name();
    result.threads = provider.threads();
    result.inputs = notes;
    result.operators = static_cast<int>(plan.steps().size());
    result.where = where_it_runs(plan);
    result.side_by_side = static_cast<int>(std::count_if(plan.steps().begin(), plan.steps().end(),
                                                         [](const auto& step) { return step.lanes > 1; }));
    result.concurrency = options_.concurrency;
    result.batch = batch_of(inputs);
    return result;
  }

  // Each plan on a thread of its own.
  Status run_together(const Graph& graph, const Provider& provider, const std::vector<Tensor>& inputs,
                      runtime::TimingCache& cache, BenchResult& result) {
    std::vector<std::unique_ptr<Plan>> plans;
    std::vector<Workload> workloads;
    for (int i = 0; i < options_.concurrency;
         ++i) {  // all kernels are in the cache: nothing is measured here
      HONE_ASSIGN(std::unique_ptr<Plan> plan,
                  compile_plan(graph, provider, inputs, {.cache = &cache, .overlap = options_.overlap}));
      workloads.emplace_back([own = plan.get()] { return own->run(); });
      plans.push_back(std::move(plan));
    }
    return measure_at_once(workloads, result);
  }

  Status measure_at_once(const std::vector<Workload>& workloads, BenchResult& result) const {
    TogetherOptions together;
    together.seconds = options_.budget_s;
    together.warm_up_runs = options_.warm_up_runs;
    together.runs = options_.runs;
    together.progress = part(0.1, 1, "measuring plans side by side");
    HONE_ASSIGN(const Together measured, measure_together(workloads, together));
    result.throughput_per_s =
        static_cast<double>(measured.latency.runs) * static_cast<double>(result.batch) / measured.seconds;
    result.latency = measured.latency;
    return {};
  }

  Result<PeerResult> against_ort(const OrtLibrary& library, Plan& plan, const Provider& provider,
                                 const std::filesystem::path& model, const std::vector<Tensor>& inputs) {
    const Graph& graph = plan.graph();
    std::vector<NamedTensor> named;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      named.push_back({graph.value(graph.inputs()[i]).name, inputs[i].clone()});
    std::vector<std::string> outputs;
    for (graph::ValueId id : graph.outputs()) outputs.push_back(graph.value(id).name);
    HONE_ASSIGN(const std::unique_ptr<OrtSession> session,
                OrtSession::create(library, model, provider.threads(), std::move(named), outputs));
    PeerResult peer;
    peer.name = "ort";
    peer.version = library.version();
    HONE_CHECK(session->run());
    HONE_ASSIGN(const std::vector<Tensor> theirs, session->outputs());
    HONE_CHECK(plan.run());
    HONE_ASSIGN(peer.numbers,
                compare_with(theirs, inputs, plan, {.computed_in = coarsest_arithmetic(*given_), .own = {}}));
    HONE_ASSIGN(peer.latency,
                measure_latency([&] { return session->run(); },
                                latency_options(kAloneShare, 0.28, 0.46, "measuring ONNX Runtime")));
    const std::unique_ptr<runtime::Hold> hold = provider.hold();
    PairedOptions paired;
    paired.budget_ns = static_cast<int64_t>(options_.budget_s * kPairedShare * 1e9);
    paired.min_slot_ns = kPeerSlotNs;
    paired.settle_ns = kPeerSettleNs;
    paired.progress = part(0.46, 1, "measuring both, interleaved");
    HONE_ASSIGN(peer.paired, run_paired([&] { return session->run(); }, [&] { return plan.run(); }, paired));
    return peer;
  }

  const Graph* given_;  // as the user gave it, before passes
  const BenchOptions& options_;
};

}  // namespace

int64_t batch_of(std::span<const Tensor> inputs) {
  const auto first =
      std::find_if(inputs.begin(), inputs.end(), [](const Tensor& input) { return input.rank() >= 2; });
  return first == inputs.end() ? 1 : first->shape()[0];
}

Result<BenchResult> run_bench(const Graph& graph, const std::filesystem::path& model,
                              const BenchOptions& options) {
  if (options.concurrency < 1) return invalid("--concurrency: give a positive number");
  if (options.against_ort && options.concurrency > 1)
    return invalid("--against compares one plan with one session; leave --concurrency out");
  return Bench(&graph, options).run(graph, model);
}

Result<BenchResult> bench_plan(const std::filesystem::path& plan, const BenchOptions& options) {
  return Bench(nullptr, options).run_saved(plan);
}

Result<Workload> ready_to_run(const Graph& graph, const BenchOptions& options) {
  HONE_ASSIGN(const std::unique_ptr<const Provider> provider,
              runtime::make_provider(options.device, {.threads = options.threads}));
  const std::shared_ptr<runtime::Hold> hold = provider->hold();
  HONE_ASSIGN(Ready ready, Bench(&graph, options).prepare(graph, *provider));
  const std::shared_ptr<Plan> plan = std::move(ready.plan);
  HONE_CHECK(plan->run());
  return Workload([plan, hold] { return plan->run(); });
}

Result<Workload> plan_ready_to_run(const std::filesystem::path& plan, const BenchOptions& options) {
  HONE_ASSIGN(SavedPlan loaded, load_plan(plan));
  HONE_ASSIGN(const Inputs inputs, make_inputs(loaded.plan->graph(), options.seed, options.inputs));
  const auto saved = std::make_shared<SavedPlan>(std::move(loaded));
  const std::shared_ptr<runtime::Hold> hold = saved->provider->hold();
  HONE_CHECK(saved->plan->run(inputs.tensors));
  return Workload([saved, hold] { return saved->plan->run(); });
}

}  // namespace hone::lab
