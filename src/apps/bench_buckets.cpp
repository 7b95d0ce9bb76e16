// hone bench --buckets: which bucket served, how long a call takes, and what padding costs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/bench_line.h"
#include "apps/bucket_options.h"
#include "apps/command.h"
#include "core/open_files.h"
#include "core/units.h"
#include "lab/buckets/kept_plans.h"
#include "lab/buckets/padding_cost.h"
#include "report/text.h"
#include "runtime/timing_cache.h"

namespace hone::apps {
namespace {

nlohmann::ordered_json buckets_json(const BenchLine& options, const lab::BucketBench& result) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"model", options.model.path},
                                 {"device", result.device},
                                 {"threads", result.threads},
                                 {"batch", result.batch},
                                 {"inputs", result.inputs},
                                 {"served", served_json(result.served)},
                                 {"latency_ms", latency_json(result.latency)},
                                 {"runs", result.latency.runs},
                                 {"memory", lab::plan_memory_json(result.memory)},
                                 {"contention", contention_json(result.latency.contention)}};
  json["against_exact"] = nullptr;
  if (result.against_exact) {
    const Interval& ratio = result.against_exact->ratio;
    json["against_exact"] = {{"ratio", {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}},
                             {"verdict", lab::speed_change_name(result.against_exact->change)}};
  }
  return json;
}

void print_buckets(const BenchLine& options, const lab::BucketBench& result) {
  fmt::print("{}: {}, {}, batch {}\n", options.model.path, result.device, counted(result.threads, "thread"),
             result.batch);
  fmt::print("{:<22}{:>10}{:>10}{:>10}{:>10}{:>8}\n", "", "p50", "p90", "p99", "mean", "runs");
  print_latency("hone, with its copies", result.latency);
  fmt::print("{}\n", report::clean_utf8(result.served.text()));
  fmt::print("memory: {}\n", lab::plan_memory_text(result.memory));
  if (result.against_exact)
    fmt::print("a plan of exactly these extents is {} as fast ({:.0f} % sure): what padding costs\n",
               lab::ratio_text({1 / result.against_exact->ratio.median, 1 / result.against_exact->ratio.high,
                                1 / result.against_exact->ratio.low, result.against_exact->ratio.level}),
               result.against_exact->level * 100);
  print_contention(result.latency.contention, "times are longer than on a quiet machine");
  for (const std::string& input : result.inputs) fmt::print("input {}\n", report::clean_utf8(input));
}

}  // namespace

Status bench_in_buckets(const BenchLine& options) {
  if (options.model.path == "-")
    return usage_error("--buckets needs a model in a file, not from standard input: it is read twice");
  if (!options.against.empty() || !options.csv.empty() || options.on_request || options.bench.concurrency > 1)
    return usage_error(
        "--buckets measures one call at a time: leave --against, --csv, --on-request and --concurrency out");
  HONE_ASSIGN(const auto buckets, read_buckets(options.buckets));
  lab::BenchOptions bench = options.bench;
  HONE_ASSIGN(bench.inputs, read_inputs(options.inputs));
  bench.disabled_passes.insert(options.disabled.begin(), options.disabled.end());
  if (!options.no_cache) {
    bench.timing_cache = runtime::TimingCache::default_path();
    bench.plan_folder = lab::KeptPlans::default_folder();
  }
  ModelOptions open = options.model, bound = options.model;
  open.bindings.clear();
  open.shapes.clear();
  open.default_symbol = 0;
  if (options.batch > 0) {
    HONE_ASSIGN(const std::vector<std::string> symbols, batch_symbols(options));
    for (const std::string& symbol : symbols)
      bound.bindings.push_back(fmt::format("{}={}", symbol, options.batch));
  }
  std::vector<std::string> assumed;
  HONE_ASSIGN(const graph::Graph of_all, load_to_run(open, {}, bench.seed));
  HONE_ASSIGN(const graph::Graph of_data, load_model(bound, shapes_of(bench.inputs), &assumed));
  HONE_CHECK(check_names_of(bench.inputs, of_all, options.model.path));
  ProgressBar bar("hone bench");
  bench.progress = [&bar](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  auto result = lab::bench_buckets(of_all, of_data, buckets, bench);
  if (!result.ok()) return result.error().within(options.model.path);
  HONE_CHECK(check_mapped_files());
  bar.finish();
  nlohmann::ordered_json json = buckets_json(options, *result);
  json["assumed"] = assumed_json(bound, assumed);
  HONE_CHECK(write_json(options.json, json));
  print_buckets(options, *result);
  if (!assumed.empty()) fmt::print("with {}\n", report::clean_utf8(assumed_text(bound, assumed)));
  return {};
}

}  // namespace hone::apps
