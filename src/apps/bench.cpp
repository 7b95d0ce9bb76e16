// hone bench: latency percentiles and throughput of a model, alone and against other runtimes.
#include "lab/bench/bench.h"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/bench_line.h"
#include "apps/bucket_options.h"
#include "apps/command.h"
#include "apps/saved_plan.h"
#include "apps/what_fits.h"
#include "core/file.h"
#include "core/open_files.h"
#include "core/units.h"
#include "lab/bench/throughput.h"
#include "lab/prepared.h"
#include "report/text.h"
#include "runtime/make_provider.h"
#include "runtime/timing_cache.h"

namespace hone::apps {

Result<std::vector<std::string>> batch_symbols(const BenchLine& options) {
  ModelOptions open = options.model;
  open.default_symbol = 0;
  HONE_ASSIGN(const graph::Graph graph, load_model(open));
  std::vector<std::string> symbols;
  for (graph::ValueId id : graph.inputs()) {
    const graph::Value& value = graph.value(id);
    if (!value.type.has_rank() || value.type.rank() == 0) continue;
    const graph::Dim& first = (*value.type.dims)[0];
    if (first.symbolic()) symbols.push_back(first.name());
    if (first.known() && value.type.rank() > 1 && first.extent() != options.batch)
      return invalid(
          fmt::format("{}: --batch {}: input '{}' is {}, its first extent is fixed; export the model with "
                      "a symbolic batch",
                      options.model.path, options.batch, value.name, value.type.text()));
  }
  if (symbols.empty())
    return invalid(fmt::format("{}: --batch {}: no input begins with a symbolic extent", options.model.path,
                               options.batch));
  return symbols;
}

nlohmann::ordered_json latency_json(const lab::Latency& latency) {
  return {{"p50", latency.p50}, {"p90", latency.p90}, {"p99", latency.p99}, {"mean", latency.mean}};
}

void print_latency(const std::string& who, const lab::Latency& latency) {
  fmt::print("{:<22}{:>10}{:>10}{:>10}{:>10}{:>8}\n", who, format_ms(latency.p50), format_ms(latency.p90),
             format_ms(latency.p99), format_ms(latency.mean), latency.runs);
}

namespace {

nlohmann::ordered_json result_json(const BenchLine& options, const lab::BenchResult& result) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["model"] = options.model.path;
  json["device"] = options.bench.device;
  json["threads"] = result.threads;
  json["batch"] = result.batch;
  json["concurrency"] = result.concurrency;
  json["inputs"] = result.inputs;
  json["operators"] = {{"count", result.operators}, {"side_by_side", result.side_by_side}};
  if (const std::string text = lab::reference_text(result.where); !text.empty()) json["reference"] = text;
  json["on_host"] = host_json(result.where);
  json["latency_ms"] = latency_json(result.latency);
  if (result.load_ms) json["load_ms"] = *result.load_ms;
  json["throughput_per_s"] = result.throughput_per_s;
  json["runs"] = result.latency.runs;
  json["memory"] = lab::plan_memory_json(result.memory);
  json["contention"] = contention_json(result.latency.contention);
  json["against"] = nlohmann::ordered_json::object();
  for (const lab::PeerResult& peer : result.against) {
    const Interval& ratio = peer.paired.ratio;
    json["against"][peer.name] = {
        {"version", peer.version},
        {"latency_ms", latency_json(peer.latency)},
        {"ratio", {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}},
        {"verdict", lab::speed_change_name(peer.paired.change)},
        {"contention", contention_json(peer.paired.contention)},
        {"rel_l2", peer.numbers.rel_l2},
        {"outputs_agree", peer.numbers.passed}};
  }
  return json;
}

// Every measured call, in the order in which they ran, for people's own statistics.
std::string csv_of(const lab::BenchResult& result) {
  std::string text = "runtime,run,ms\n";
  const auto add = [&](const std::string& who, const lab::Latency& latency) {
    for (std::size_t i = 0; i < latency.samples_ms.size(); ++i)
      text += fmt::format("{},{},{:.6f}\n", who, i, latency.samples_ms[i]);
  };
  add("hone", result.latency);
  for (const lab::PeerResult& peer : result.against) add(peer.name, peer.latency);
  return text;
}

// Three digits at least, and never an exponent.
std::string plain_number(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

void print_result(const BenchLine& options, const lab::BenchResult& result) {
  fmt::print(
      "{}: {}, {}{}, batch {}\n", options.model.path, options.bench.device, counted(result.threads, "thread"),
      result.concurrency > 1 ? fmt::format(" for each of {} plans", result.concurrency) : "", result.batch);
  fmt::print("{:<22}{:>10}{:>10}{:>10}{:>10}{:>8}\n", "", "p50", "p90", "p99", "mean", "runs");
  print_latency("hone", result.latency);
  for (const lab::PeerResult& peer : result.against)
    print_latency(peer.name + " " + peer.version, peer.latency);
  // The first extent of the inputs is a batch in most models; a reader knows whether it is in this one.
  fmt::print("throughput: {}/s: calls × {}, the first extent of the inputs\n",
             plain_number(result.throughput_per_s), result.batch);
  print_contention(result.latency.contention,
                   result.threads > 1 ? "times are longer than on a quiet machine, most of all with several "
                                        "threads, which wait for each other: try --threads 1"
                                      : "times are longer than on a quiet machine");
  fmt::print("memory: {}\n", lab::plan_memory_text(result.memory));
  if (result.load_ms) fmt::print("loaded in {}\n", format_ms(*result.load_ms));
  for (const std::string& input : result.inputs) fmt::print("input {}\n", report::clean_utf8(input));
  for (const std::string& text : lab::where_texts(result.where))
    fmt::print("note: {}\n", report::clean_utf8(text));
  if (result.side_by_side > 0)
    fmt::print("{} of {} operators run side by side, a thread each\n", result.side_by_side, result.operators);
  for (const lab::PeerResult& peer : result.against) {
    fmt::print("hone against {}: {} ({:.0f} % sure, {} interleaved blocks): hone is {}\n", peer.name,
               lab::ratio_text(peer.paired.ratio), peer.paired.level * 100, peer.paired.block_ratios.size(),
               peer.paired.change == lab::SpeedChange::kNoDifference
                   ? "as fast as far as can be told"
                   : std::string(lab::speed_change_name(peer.paired.change)));
    fmt::print(
        "the ratio is of rounds in which both took turns; the lines above are of each by itself, and their "
        "quotient may be another\n");
    print_contention(peer.paired.contention, "on a quiet one the two may compare otherwise");
    fmt::print("outputs {}: relative L2 {:.2e}{}\n", peer.numbers.passed ? "agree" : "DIFFER",
               peer.numbers.rel_l2, peer.numbers.passed ? "" : "; " + peer.numbers.detail);
  }
}

// Answers each line N of stdin with the mean milliseconds of N steps. For drivers that take turns among
// runtimes, each in a process of its own, so that no runtime's waiting threads disturb another's step.
Status answer_requests(const lab::Workload& step) {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    int64_t steps = 0;
    const char* end = line.data() + line.size();
    if (const auto [read, failed] = std::from_chars(line.data(), end, steps);
        failed != std::errc() || read != end || steps < 1)
      return usage_error(fmt::format("--on-request: '{}' on stdin; give a number of steps a line", line));
    const int64_t start = now_ns();
    for (int64_t i = 0; i < steps && !interrupted(); ++i) HONE_CHECK(step());
    const double mean_ms = static_cast<double>(now_ns() - start) / 1e6 / static_cast<double>(steps);
    if (interrupted()) break;
    HONE_CHECK(check_mapped_files());
    std::cout << fmt::format("{:.6f}", mean_ms) << std::endl;
  }
  if (interrupted()) return Error{ErrorCode::kCancelled, "interrupted"};
  return {};
}

// What is wrong with the line, known before any work.
Status check_line(const BenchLine& options) {
  const lab::BenchOptions& bench = options.bench;
  HONE_CHECK(check_threads(bench.threads));
  HONE_CHECK(check_passes("--disable", options.disabled));
  HONE_ASSIGN(const auto provider, runtime::make_provider(bench.device, {.threads = bench.threads}));
  if (provider->device()->host_visible() && bench.concurrency > provider->threads())
    return usage_error(
        fmt::format("--concurrency {}: there are only {} threads to share, one a plan at least",
                    bench.concurrency, provider->threads()));
  if (!options.against.empty() && bench.concurrency > 1)
    return usage_error("--against compares one plan with one session; leave --concurrency out");
  return {};
}

// --- throughput against latency ---

nlohmann::ordered_json calls_json(const lab::ThroughputCalls& calls) {
  nlohmann::ordered_json json = {{"in_flight", calls.in_flight},
                                 {"latency_ms", latency_json(calls.latency)},
                                 {"throughput_per_s", calls.per_s},
                                 {"runs", calls.latency.runs},
                                 {"contention", contention_json(calls.latency.contention)}};
  json["joules_per_item"] =
      calls.joules_per_item ? nlohmann::ordered_json(*calls.joules_per_item) : nlohmann::ordered_json();
  return json;
}

nlohmann::ordered_json throughput_json(const BenchLine& options, const lab::Throughput& result) {
  auto points = nlohmann::ordered_json::array();
  for (const lab::ThroughputPoint& point : result.points)
    points.push_back({{"batch", point.batch},
                      {"concurrency", point.concurrency},
                      {"threads", point.threads},
                      {"memory", lab::plan_memory_json(point.memory)},
                      {"compute", calls_json(point.compute)},
                      {"with_copies", calls_json(point.with_copies)}});
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"model", options.model.path},
                                 {"device", options.bench.device},
                                 {"sweep", std::move(points)}};
  json["knee"] = nullptr;
  if (result.knee) {
    const lab::ThroughputPoint& knee = result.points[*result.knee];
    json["knee"] = {
        {"batch", knee.batch}, {"concurrency", knee.concurrency}, {"share_of_most", lab::kKneeShare}};
  }
  json["notes"] = result.notes;
  return json;
}

void print_throughput(const BenchLine& options, const lab::Throughput& result) {
  fmt::print("{}: {}, throughput against latency; items are calls × batch\n", options.model.path,
             options.bench.device);
  fmt::print("{:>6}{:>9}{:>9}{:>10}  {:>10}{:>10}{:>12}  {:>10}{:>10}{:>10}{:>12}{:>12}\n", "batch",
             "at once", "threads", "memory", "p50", "p99", "items/s", "in flight", "p50", "p99", "items/s",
             "mJ/item");
  fmt::print("{:>34}  {:^32}  {:^42}\n", "", "in the device's memory", "with copies of inputs and outputs");
  bool pipelined = false;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const lab::ThroughputPoint& point = result.points[i];
    const auto &own = point.compute, &copied = point.with_copies;
    const auto bytes = static_cast<double>(point.memory.total()) * point.memory.plans;
    fmt::print("{:>6}{:>9}{:>9}{:>10}  {:>10}{:>10}{:>12}  {:>10}{:>10}{:>10}{:>12}{:>12}{}\n", point.batch,
               point.concurrency, point.threads, format_bytes(bytes), format_ms(own.latency.p50),
               format_ms(own.latency.p99), plain_number(own.per_s), copied.in_flight,
               format_ms(copied.latency.p50), format_ms(copied.latency.p99), plain_number(copied.per_s),
               copied.joules_per_item ? plain_number(1e3 * *copied.joules_per_item) : "",
               result.knee == i ? "  knee" : "");
    pipelined = pipelined || copied.in_flight > point.concurrency;
  }
  if (pipelined)
    fmt::print(
        "in flight: requests on their way at once; where there are more than plans, one is copied in and one "
        "out while another runs, and a latency is of a request from being given to being taken\n");
  if (result.knee)
    fmt::print(
        "knee: the shortest median latency at {:.0f} % of the greatest throughput or more, copies "
        "included\n",
        100 * lab::kKneeShare);
  ContentionShare most;
  for (const lab::ThroughputPoint& point : result.points)
    for (const lab::ThroughputCalls* calls : {&point.compute, &point.with_copies})
      if (calls->latency.contention.waited >= most.waited) most = calls->latency.contention;
  print_contention(most, "on a quiet one there is more throughput, and the knee may be elsewhere");
  for (const std::string& note : result.notes) fmt::print("note: {}\n", report::clean_utf8(note));
}

// 1 to 32 by doubling where the model leaves its batch open, else the one that it has.
Result<std::vector<int64_t>> batches_of(const BenchLine& options) {
  if (!options.batches.empty()) return numbers_of("--batches", options.batches);
  if (options.batch > 0) return std::vector<int64_t>{options.batch};
  BenchLine one = options;
  one.batch = 1;
  if (batch_symbols(one).ok()) return std::vector<int64_t>{1, 2, 4, 8, 16, 32};
  return std::vector<int64_t>{0};  // as the model says
}

Result<std::vector<int>> concurrencies_of(const BenchLine& options) {
  if (options.concurrencies.empty()) return lab::default_concurrencies(options.bench);
  HONE_ASSIGN(const std::vector<int64_t> given, numbers_of("--concurrencies", options.concurrencies));
  std::vector<int> numbers;
  for (const int64_t number : given) numbers.push_back(static_cast<int>(number));
  return numbers;
}

Status run_sweep(const BenchLine& options) {
  if (options.model.path == "-")
    return usage_error("--sweep needs a model in a file, not from standard input: it is read for each batch");
  if (!options.against.empty() || !options.csv.empty() || !options.inputs.empty() || options.on_request)
    return usage_error(
        "--sweep measures hone alone, on made-up inputs: leave --against, --csv, --input and "
        "--on-request out");
  lab::ThroughputOptions sweep;
  sweep.bench = options.bench;
  sweep.bench.disabled_passes.insert(options.disabled.begin(), options.disabled.end());
  if (!options.no_cache) sweep.bench.timing_cache = runtime::TimingCache::default_path();
  HONE_ASSIGN(sweep.batches, batches_of(options));
  HONE_ASSIGN(sweep.concurrencies, concurrencies_of(options));
  bool is_read = true;  // what cannot be read is told with the model's path
  const auto read_at = [&](int64_t batch) -> Result<graph::Graph> {
    ModelOptions model = options.model;
    BenchLine at = options;
    at.batch = batch;
    if (batch > 0) {
      HONE_ASSIGN(const std::vector<std::string> symbols, batch_symbols(at));
      for (const std::string& symbol : symbols) model.bindings.push_back(fmt::format("{}={}", symbol, batch));
    }
    return load_to_run(model, {}, options.bench.seed);
  };
  const auto graph_of = [&](int64_t batch) {
    auto graph = read_at(batch);
    is_read = graph.ok();
    return graph;
  };
  ProgressBar bar("hone bench");
  sweep.bench.progress = [&bar](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  auto result = lab::measure_throughput(graph_of, sweep);
  if (!result.ok()) return is_read ? result.error().within(options.model.path) : result.error();
  HONE_CHECK(check_mapped_files());
  bar.finish();
  HONE_CHECK(write_json(options.json, throughput_json(options, *result)));
  print_throughput(options, *result);
  return {};
}

// Files first, then what is printed.
Status give_result(const BenchLine& options, const lab::BenchResult& result, nlohmann::ordered_json assumed) {
  HONE_CHECK(check_mapped_files());
  nlohmann::ordered_json json = result_json(options, result);
  json["assumed"] = std::move(assumed);
  HONE_CHECK(write_json(options.json, json));
  if (!options.csv.empty()) HONE_CHECK(write_file(options.csv, csv_of(result)));
  print_result(options, result);
  return {};
}

// --- of a saved plan ---

// What the plan has fixed, or has no model for.
Status check_plan_options(const BenchLine& options) {
  const std::string& path = options.model.path;
  const std::pair<bool, const char*> asked[] = {
      {options.batch > 0, "--batch"},
      {options.sweep || !options.batches.empty() || !options.concurrencies.empty(), "--sweep"},
      {!options.against.empty(), "--against"},
      {!options.disabled.empty(), "--disable"},
      {!options.buckets.empty(), "--buckets"},
      {!options.bench.overlap, "--no-overlap"}};
  for (const auto& [given, name] : asked)
    if (given)
      return usage_error(
          fmt::format("{}: {} is a plan, which is fixed; give the model that it was made from", name, path));
  HONE_ASSIGN(const model::PlanFile file, model::read_plan(path));
  HONE_CHECK(check_names_of(options.bench.inputs, file.graph, path));
  return check_plan_line(options.model, file.about,
                         options.device_option->given() ? &options.bench.device : nullptr,
                         options.bench.threads);
}

Status bench_plan(BenchLine options) {
  HONE_CHECK(apply_memory(options.model));
  HONE_ASSIGN(options.bench.inputs, read_inputs(options.inputs));
  HONE_CHECK(check_plan_options(options));
  if (options.on_request) {
    HONE_ASSIGN(const lab::Workload step, lab::plan_ready_to_run(options.model.path, options.bench));
    return answer_requests(step);
  }
  ProgressBar bar("hone bench");
  options.bench.progress = [&bar](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  HONE_ASSIGN(const lab::BenchResult result, lab::bench_plan(options.model.path, options.bench));
  options.bench.device = result.device;
  bar.finish();
  return give_result(options, result, nlohmann::ordered_json::object());
}

Status run_bench(BenchLine options, Program& program) {
  if (is_given_plan(options.model)) return bench_plan(options);
  // The other runtime computes on the CPU: that is what to compare it with, unless somebody asks for another comparison.
  if (!options.against.empty() && !options.device_option->given()) options.bench.device = "cpu";
  HONE_CHECK(settle_device(&options.bench.device));
  HONE_CHECK(check_line(options));
  const bool sweeps = options.sweep || !options.batches.empty() || !options.concurrencies.empty();
  if (!options.buckets.empty() && sweeps)
    return usage_error(
        "--buckets measures shapes that requests bring, --sweep batches of one shape: give one");
  if (!options.buckets.empty()) return bench_in_buckets(options);
  if (sweeps) return run_sweep(options);
  ModelOptions model = options.model;
  // Both read the model again.
  if (model.path == "-" && (options.batch > 0 || !options.against.empty()))
    return usage_error("--batch and --against need a model in a file, not from standard input");
  if (options.batch > 0) {
    HONE_ASSIGN(const std::vector<std::string> symbols, batch_symbols(options));
    for (const std::string& symbol : symbols)
      model.bindings.push_back(fmt::format("{}={}", symbol, options.batch));
  }
  lab::BenchOptions bench = options.bench;
  HONE_ASSIGN(bench.inputs, read_inputs(options.inputs));
  std::vector<std::string> assumed;
  HONE_ASSIGN(const graph::Graph graph,
              load_to_run(model, shapes_of(bench.inputs), options.bench.seed, &assumed));
  HONE_CHECK(check_names_of(bench.inputs, graph, model.path));
  bench.disabled_passes.insert(options.disabled.begin(), options.disabled.end());
  bench.against_ort = !options.against.empty();
  bench.ort_library = options.ort_library;
  if (!options.no_cache) bench.timing_cache = runtime::TimingCache::default_path();
  ProgressBar bar("hone bench");
  bench.progress = [&bar](double fraction, const std::string& what) {
    bar.update(fraction, what);
    return !interrupted();
  };
  if (options.on_request) {
    const auto step = lab::ready_to_run(graph, bench);
    const Status answered = step.ok() ? answer_requests(*step) : step.error();
    return answered.ok() ? answered : answered.error().within(options.model.path);
  }
  auto result = lab::run_bench(graph, options.model.path, bench);
  if (!result.ok()) {
    HONE_ASSIGN(const auto provider, runtime::make_provider(bench.device, {.threads = bench.threads}));
    return with_what_fits(
        result.error().within(options.model.path), model, shapes_of(bench.inputs), *provider,
        [&](graph::Graph read) { return lab::optimise(std::move(read), *provider, bench.disabled_passes); });
  }
  bar.finish();
  HONE_CHECK(give_result(options, *result, assumed_json(model, assumed)));
  if (!assumed.empty()) fmt::print("with {}\n", report::clean_utf8(assumed_text(model, assumed)));
  for (const lab::PeerResult& peer : result->against)
    if (!peer.numbers.passed) program.exit_code = 1;
  return {};
}

}  // namespace

void add_bench_command(Program& program) {
  auto options = std::make_shared<BenchLine>();
  Command command =
      program.add("bench", "latency percentiles and throughput of a model, optimised, or of a saved plan",
                  [options, &program] { return run_bench(*options, program); });
  options->model.add_to(command);
  options->bench.device = kAnyDevice;
  options->device_option = add_device_to(command, &options->bench.device);
  command.option("--threads N", &options->bench.threads, "threads to use (default: every core)").positive();
  command.option("--batch N", &options->batch, "what the symbolic first extent of the inputs stands for")
      .positive();
  command
      .option("--concurrency N", &options->bench.concurrency, "plans that run at once, sharing the threads")
      .positive()
      .with_default();
  command
      .flag("--sweep", &options->sweep,
            "throughput against latency: every batch with every number of plans at once, with and without "
            "copies of inputs and outputs, and the knee of the curve")
      .excludes("--concurrency");
  command
      .option("--batches LIST", &options->batches,
              "the sweep's batches, as 1,8,32 (default: 1 to 32 by doubling)")
      .excludes("--batch");
  command
      .option("--concurrencies LIST", &options->concurrencies,
              "the sweep's numbers of plans at once, as 1,2 (default: 1 to 4 by doubling)")
      .excludes("--concurrency");
  add_buckets_to(command, &options->buckets);
  command.option("--against ort", &options->against, "another runtime to compare with, interleaved: ort")
      .one_of({"ort"});
  command.option("--ort-library FILE", &options->ort_library,
                 "ONNX Runtime's libonnxruntime.so (default: $HONE_ORT_LIBRARY, the loader's, python3's)");
  command.option("--budget SECONDS", &options->bench.budget_s, "seconds that measuring may take, roughly")
      .positive()
      .with_default();
  command.option("--input NAME=FILE.npy", &options->inputs,
                 "data for an input: NAME=FILE.npy; others are made up");
  command.option("--warmup N", &options->bench.warm_up_runs, "calls before measuring (default: a while)")
      .not_negative();
  command
      .option("--iterations N", &options->bench.runs,
              "calls of each plan to measure (default: as the budget allows)")
      .positive();
  command.option("--csv FILE", &options->csv, "also write the time of every measured call to this file")
      .written();
  command.option("--disable PASS", &options->disabled, "a pass or group that does not run")
      .offers(pass_and_group_names());
  command
      .option("--seed N", &options->bench.seed, "of made-up inputs, and of random operators that have none")
      .with_default();
  command.flag("--no-overlap", &options->bench.overlap,
               "run operators one after another, even where side by side is faster", false);
  command.flag("--no-cache", &options->no_cache,
               "neither read nor keep kernel timings, nor plans of --buckets");
  command.option("--json FILE", &options->json, "also write bench.json to this file").written();
  command
      .flag("--on-request", &options->on_request,
            "say 'ready' when compiled; then run N steps for each line N of stdin and print their mean "
            "in milliseconds")
      .excludes("--json")
      .excludes("--against")
      .excludes("--concurrency")
      .excludes("--budget");
}

}  // namespace hone::apps
