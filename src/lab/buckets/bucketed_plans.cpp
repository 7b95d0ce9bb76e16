#include "lab/buckets/bucketed_plans.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/clock.h"
#include "core/memory_budget.h"
#include "graph/specialise.h"
#include "lab/experiment/target.h"
#include "lab/prepared.h"
#include "passes/pipeline.h"
#include "runtime/interpreter.h"

namespace hone::lab {

using graph::Graph;
using graph::ValueId;

namespace {

constexpr std::size_t kMostDecisions = 4096;
constexpr std::size_t kMostMadeAhead = 1024;

graph::TensorType with_extents(graph::TensorType type, const Extents& extents) {
  for (graph::Dim& dim : *type.dims)
    if (const auto found = dim.symbolic() ? extents.find(dim.name()) : extents.end(); found != extents.end())
      dim = found->second;
  return type;
}

std::string extents_text(const Extents& extents) {
  std::string text;
  for (const auto& [symbol, extent] : extents)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol, extent);
  return text;
}

std::size_t bytes_of(const runtime::PlanMemory& memory) {
  return memory.arena_bytes + memory.weights_bytes + memory.host_bytes;
}

Status check_buckets(const Graph& graph, const BucketOptions& options) {
  const std::vector<std::string> symbols = graph.symbols();
  for (const auto& [symbol, buckets] : options.buckets) {
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end())
      return not_found(fmt::format("no input has the symbol '{}'; the model's symbols are {}", symbol,
                                   symbols.empty() ? "none" : fmt::format("{}", fmt::join(symbols, ", "))));
    const bool ascends =
        std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
    if (buckets.empty() || buckets[0] < 1 || !ascends)
      return invalid(fmt::format("the buckets of '{}' do not ascend from 1 or more", symbol));
  }
  return {};
}

}  // namespace

std::vector<int64_t> default_buckets() {
  std::vector<int64_t> buckets;
  for (int64_t extent = 1; extent <= kLargestDefaultBucket; extent *= 2) buckets.push_back(extent);
  return buckets;
}

double Served::padding() const {
  double kept = 1, all = 1;
  for (const ServedSymbol& symbol : symbols) {
    kept *= static_cast<double>(symbol.extent);
    all *= static_cast<double>(symbol.of_plan);
  }
  return all > 0 ? 1 - kept / all : 0;
}

std::string Served::text() const {
  std::string text;
  for (const ServedSymbol& symbol : symbols) {
    text += fmt::format("{}{} = {}", text.empty() ? "plan for " : ", ", symbol.name, symbol.of_plan);
    if (symbol.extent != symbol.of_plan)
      text +=
          fmt::format(" ({} given, {:.0f} % padding)", symbol.extent,
                      100 * (1 - static_cast<double>(symbol.extent) / static_cast<double>(symbol.of_plan)));
    else if (!symbol.exact.empty())
      text += fmt::format(" (exactly: {})", symbol.exact);
  }
  if (text.empty()) text = "plan for the only extents";
  if (made_now)
    text += fmt::format("; {} now, in {:.2f} s", from_file ? "read from its file" : "made", made_s);
  return note.empty() ? text : fmt::format("{}; {}", text, note);
}

// A plan, and what runs of it wait for.
struct BucketedPlans::Bucket {
  explicit Bucket(Extents of) : extents(std::move(of)) {}
  const Extents extents;
  std::mutex mutex;  // held while it is made and while it runs
  std::unique_ptr<runtime::Plan> plan;
  // Under the mutex of the plans together.
  std::size_t bytes = 0;
  int64_t runs = 0;
};

BucketedPlans::BucketedPlans(Graph graph, const runtime::Provider& provider, BucketOptions options)
    : graph_(std::move(graph)),
      provider_(provider),
      options_(std::move(options)),
      kept_plans_(options_.plan_folder.empty() || options_.plan.check_numbers
                      ? std::nullopt
                      : std::optional<KeptPlans>(
                            std::in_place, options_.plan_folder, provider,
                            plans_key(graph_, provider, options_.disabled_passes, options_.plan))) {}
BucketedPlans::~BucketedPlans() = default;

Result<std::unique_ptr<BucketedPlans>> BucketedPlans::make(Graph graph, const runtime::Provider& provider,
                                                           BucketOptions options) {
  if (!graph.states().empty())
    return unsupported(
        "the graph keeps states from run to run, which plans of several buckets could not share; bind its "
        "extents");
  for (const ValueId input : graph.inputs())
    if (!graph.type(input).has_rank())
      return unsupported(fmt::format("input '{}' has type {}: buckets are of inputs whose rank is known",
                                     graph.value(input).name, graph.type(input).text()));
    else
      for (const graph::Dim& dim : *graph.type(input).dims)
        if (!dim.known() && !dim.symbolic())
          return unsupported(
              fmt::format("input '{}' has type {}: an extent without a name is in no bucket; give its shape",
                          graph.value(input).name, graph.type(input).text()));
  HONE_CHECK(check_buckets(graph, options));
  if (options.most_bytes == 0) options.most_bytes = memory_budget() / 2;
  options.most_plans = std::max<std::size_t>(options.most_plans, 1);
  return std::unique_ptr<BucketedPlans>(new BucketedPlans(std::move(graph), provider, std::move(options)));
}

Result<Extents> BucketedPlans::extents_of(std::span<const Tensor> inputs) const {
  HONE_CHECK(runtime::check_inputs(graph_, inputs));  // one symbol, one extent
  Extents extents;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const graph::Dims& dims = *graph_.type(graph_.inputs()[i]).dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis].symbolic()) extents[dims[axis].name()] = inputs[i].shape()[axis];
  }
  return extents;
}

Result<Graph> BucketedPlans::specialised(const Extents& extents) const {
  std::vector<graph::InputFact> facts;
  for (const ValueId input : graph_.inputs())
    facts.push_back({with_extents(graph_.type(input), extents), std::nullopt});
  return graph::specialise(graph_, facts);
}

// What exporters compute from shapes is known then, and attention is found with what its constant mask means.
Result<Graph> BucketedPlans::with_shapes_known(const Extents& extents) const {
  HONE_ASSIGN(Graph graph, specialised(extents));
  passes::PassContext context{runtime::interpret_node, nullptr, pass_target(provider_)};
  context.target.takes.attention = true;  // whether or not there is a kernel for it: this graph is not run
  HONE_ASSIGN(passes::PipelineResult folded,
              passes::run_pipeline(std::move(graph), context,
                                   {.disabled = {}, .only = {"simplify", "recognise"}, .lossy = {}}));
  return std::move(folded.graph);
}

Result<BucketedPlans::Decision> BucketedPlans::decide_anew(const Extents& extents) const {
  Decision decision;
  decision.of_plan = extents;
  std::optional<Graph> kept;
  for (const auto& [name, extent] : extents) {
    ServedSymbol& symbol = decision.symbols.emplace_back(ServedSymbol{name, extent, extent, {}});
    const auto found = options_.buckets.find(name);
    if (found == options_.buckets.end()) continue;
    const auto bucket = std::lower_bound(found->second.begin(), found->second.end(), extent);
    if (bucket != found->second.end() && *bucket == extent) continue;
    if (bucket == found->second.end() || extent < 1) {
      symbol.exact = fmt::format("no bucket of {} is for it", fmt::join(found->second, ", "));
      continue;
    }
    if (!kept) {
      HONE_ASSIGN(kept, with_shapes_known(extents));
    }
    // Beside what is padded already: what leaves two axes alone by themselves might not leave them alone together.
    Extents wanted = decision.of_plan;
    wanted[name] = *bucket;
    const Result<Graph> padded = with_shapes_known(wanted);
    auto axes = padded.ok() ? graph::follow_padding(*kept, *padded) : padded.error();
    if (!axes.ok()) {
      symbol.exact = axes.error().message;
      continue;
    }
    decision.of_plan = std::move(wanted);
    decision.outputs = *std::move(axes);
    symbol.of_plan = *bucket;
  }
  return decision;
}

Result<std::shared_ptr<const BucketedPlans::Decision>> BucketedPlans::decide(const Extents& extents) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = decisions_.find(extents); found != decisions_.end()) return found->second;
  }
  HONE_ASSIGN(Decision decision, decide_anew(extents));
  auto shared = std::make_shared<const Decision>(std::move(decision));
  const std::lock_guard lock(mutex_);
  if (decisions_.size() >= kMostDecisions) decisions_.clear();
  decisions_[extents] = shared;
  return std::shared_ptr<const Decision>(std::move(shared));
}

std::shared_ptr<BucketedPlans::Bucket> BucketedPlans::bucket_of(const Extents& extents) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(buckets_.begin(), buckets_.end(),
                   [&](const std::shared_ptr<Bucket>& bucket) { return bucket->extents == extents; });
  if (found != buckets_.end())
    buckets_.splice(buckets_.begin(), buckets_, found);
  else
    buckets_.push_front(std::make_shared<Bucket>(extents));
  return buckets_.front();
}

// Runs of what goes end first: they hold their bucket.
void BucketedPlans::drop_oldest() {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& bucket : buckets_) bytes += bucket->bytes;
  while (buckets_.size() > 1 && (buckets_.size() > options_.most_plans ||
                                 (options_.most_bytes > 0 && bytes > options_.most_bytes))) {
    bytes -= buckets_.back()->bytes;
    buckets_.pop_back();
  }
}

void BucketedPlans::forget(const Bucket& bucket) {
  const std::lock_guard lock(mutex_);
  std::erase_if(buckets_, [&](const std::shared_ptr<Bucket>& other) { return other.get() == &bucket; });
}

Result<std::unique_ptr<runtime::Plan>> BucketedPlans::compile(const Extents& extents) const {
  HONE_ASSIGN(Graph graph, specialised(extents));
  HONE_ASSIGN(const Graph optimised, optimise(std::move(graph), provider_, options_.disabled_passes));
  return runtime::Plan::compile(optimised, provider_, options_.plan);
}

Result<std::unique_ptr<runtime::Plan>> BucketedPlans::find_or_compile(const Extents& extents,
                                                                      Served& served) const {
  if (!kept_plans_) return compile(extents);
  KeptPlans::Found found = kept_plans_->find(extents);
  served.from_file = found.plan != nullptr;
  if (!found.why_not.empty()) served.note = fmt::format("what was kept did not serve: {}", found.why_not);
  if (served.from_file) return std::move(found.plan);
  HONE_ASSIGN(std::unique_ptr<runtime::Plan> plan, compile(extents));
  if (const Status kept = kept_plans_->keep(*plan, extents); !kept.ok())
    served.note = fmt::format("it is not kept for the next start: {}", kept.error().message);
  return plan;
}

Status BucketedPlans::make_plan(Bucket& bucket, Served& served) {
  if (bucket.plan != nullptr) return {};
  const std::lock_guard one_at_a_time(making_);
  const int64_t begin = now_ns();
  HONE_ASSIGN(bucket.plan, find_or_compile(bucket.extents, served));
  served.made_now = true;
  served.made_s = static_cast<double>(now_ns() - begin) / 1e9;
  const std::lock_guard lock(mutex_);
  bucket.bytes = bytes_of(bucket.plan->memory());
  return {};
}

Result<Served> BucketedPlans::make_ahead(const Extents& extents) {
  for (const std::string& symbol : graph_.symbols())
    if (!extents.contains(symbol))
      return invalid(fmt::format("no extent is given for the symbol '{}'", symbol));
  HONE_ASSIGN(const auto decision, decide(extents));
  Served served{.symbols = decision->symbols};
  const std::shared_ptr<Bucket> bucket = bucket_of(decision->of_plan);
  {
    const std::lock_guard lock(bucket->mutex);
    if (Status made = make_plan(*bucket, served); !made.ok()) {
      forget(*bucket);
      return made.error().within(extents_text(bucket->extents));
    }
  }
  drop_oldest();
  return served;
}

Result<std::size_t> BucketedPlans::make_all() {
  std::vector<Extents> all = {{}};
  for (const std::string& symbol : graph_.symbols()) {
    const auto buckets = options_.buckets.find(symbol);
    if (buckets == options_.buckets.end())
      return invalid(fmt::format("the symbol '{}' has no buckets to make plans for", symbol));
    if (all.size() * buckets->second.size() > kMostMadeAhead)
      return invalid(
          fmt::format("there are more than {} combinations of buckets; list fewer", kMostMadeAhead));
    std::vector<Extents> more;
    for (const Extents& before : all)
      for (const int64_t extent : buckets->second) (more.emplace_back(before))[symbol] = extent;
    all = std::move(more);
  }
  for (const Extents& extents : all) HONE_CHECK(make_ahead(extents));
  return all.size();
}

Result<BucketRun> BucketedPlans::run(std::span<const Tensor> inputs) {
  HONE_ASSIGN(const Extents extents, extents_of(inputs));
  HONE_ASSIGN(const auto decision, decide(extents));
  BucketRun run{{}, {.symbols = decision->symbols}};
  std::vector<Tensor> padded;
  for (std::size_t i = 0; i < inputs.size() && !decision->outputs.empty(); ++i) {
    const graph::TensorType type = with_extents(graph_.type(graph_.inputs()[i]), decision->of_plan);
    if (type.shape() == inputs[i].shape()) {
      padded.push_back(inputs[i]);
      continue;
    }
    HONE_ASSIGN(Tensor longer, graph::pad_by_repeating(inputs[i], type.shape()));
    padded.push_back(std::move(longer));
  }
  const std::shared_ptr<Bucket> bucket = bucket_of(decision->of_plan);
  {
    const std::lock_guard lock(bucket->mutex);
    if (Status made = make_plan(*bucket, run.served); !made.ok()) {
      forget(*bucket);
      return made.error().within(extents_text(bucket->extents));
    }
    HONE_ASSIGN(run.outputs,
                bucket->plan->run(decision->outputs.empty() ? inputs : std::span<const Tensor>(padded)));
    run.memory = bucket->plan->memory();
    const std::lock_guard all(mutex_);
    ++bucket->runs;
  }
  drop_oldest();
  for (std::size_t i = 0; i < decision->outputs.size(); ++i) {
    HONE_ASSIGN(run.outputs[i], graph::cut_padding(run.outputs[i], decision->outputs[i]));
  }
  return run;
}

std::vector<BucketedPlans::Kept> BucketedPlans::kept() const {
  const std::lock_guard lock(mutex_);
  std::vector<Kept> kept;
  for (const auto& bucket : buckets_) kept.push_back({bucket->extents, bucket->bytes, bucket->runs});
  return kept;
}

}  // namespace hone::lab
