#include "lab/precision/choose_precision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "core/memory_budget.h"
#include "graph/op_table.h"
#include "graph/product_math.h"
#include "lab/precision/sensitivity.h"
#include "passes/lower_precision.h"

namespace hone::lab {
namespace {

using graph::Node;
using graph::NodeId;
using passes::TypeChoice;

constexpr std::size_t kMostKept = std::size_t{4} << 30;  // bytes of the reference's results between rounds

class Search {
 public:
  Search(const graph::Graph& graph, std::span<const Tensor> inputs, const PrecisionSearch& asked)
      : graph_(graph), inputs_(inputs), asked_(asked) {
    const std::size_t budget = memory_budget(), used = memory_in_use();
    kept_.most_bytes = budget == 0 ? kMostKept : budget > used ? std::min(kMostKept, (budget - used) / 4) : 0;
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) nodes_[graph.nodes()[i].name] = NodeId{i};
  }

  Result<PrecisionDecision> run() {
    for (int round = 1;; ++round) {
      HONE_ASSIGN(LoweredGraph lowered, asked_.lower(decision_.keep_f32));
      types_ = std::move(lowered.types);
      if (round == 1) first_types_ = types_;
      const auto watched = narrowed();
      if (watched.empty()) return finish("no operator is narrowed");
      HONE_CHECK(measure(lowered.graph, watched));
      const NumericReport numbers = asked_.judge(now_.outputs);
      const std::string how =
          fmt::format("{} {}; interpreted, {}", round, round == 1 ? "round" : "rounds", numbers.detail);
      const bool out_of_range = keep_out_of_range();
      if (!out_of_range && numbers.passed) return finish(how);
      const bool last = round == asked_.most_rounds;
      if (last || !asked_.more_time()) {
        if (out_of_range) HONE_CHECK(lower_unmeasured());
        return finish(fmt::format("{}; no {} for another", how, last ? "round" : "time"));
      }
      if (!out_of_range) keep_worst();
    }
  }

 private:
  // What was put back last stays in f32; the errors of the rest in that model are not known.
  Status lower_unmeasured() {
    HONE_ASSIGN(LoweredGraph lowered, asked_.lower(decision_.keep_f32));
    types_ = std::move(lowered.types);
    now_ = {};
    return {};
  }

  // Nodes of the outermost graph: what stands in bodies is not compared.
  std::set<std::string, std::less<>> narrowed() {
    std::set<std::string, std::less<>> names;
    for (const TypeChoice& choice : types_) {
      if (!choice.narrowed || !nodes_.contains(choice.node)) continue;
      names.insert(choice.node);
      type_ = choice.type;
      tf32_ = choice.tf32;
    }
    return names;
  }

  Status measure(const graph::Graph& lowered, const std::set<std::string, std::less<>>& watched) {
    SensitivityOptions options;
    options.keep_going = asked_.keep_going;
    options.kept = &kept_;
    for (const std::string& name :
         watched) {  // alone, on the reference's inputs, a node is off as it was before
      if (!alone_.contains(name)) options.alone.insert(name);
    }
    HONE_ASSIGN(now_, measure_sensitivity(graph_, lowered, inputs_, watched, options));
    for (const auto& [name, error] : now_.operators) {
      if (options.alone.contains(name)) alone_[name] = error.alone;
      largest_[name] = error.largest;
    }
    return {};
  }

  bool keep(const std::string& name, const std::string& why) {
    return now_.operators.contains(name) && decision_.keep_f32.emplace(name, why).second;
  }

  bool keep_out_of_range() {
    if (tf32_) return false;  // its range is that of f32
    const double most = passes::largest_of(type_);
    const std::string_view type = dtype_name(type_);
    bool any = false;
    for (const auto& [name, error] : now_.operators) {
      if (error.largest > most)
        any = keep(name, fmt::format("its numbers reach {:.3g}, beyond {}'s largest, {:.5g}", error.largest,
                                     type, most)) ||
              any;
      else if (error.largest * asked_.headroom > most)
        any = keep(name,
                   fmt::format("its numbers reach {:.3g}, within a factor of {:g} of {}'s largest, {:.5g}",
                               error.largest, asked_.headroom, type, most)) ||
              any;
    }
    return any;
  }

  // The operators that are off most alone, twice as many each time; where results are not finite, the first that gives
  // such.
  void keep_worst() {
    if (const std::string& first = now_.first_not_finite; !first.empty()) {
      const int64_t count = now_.operators.at(first).not_finite;
      keep_with_sources(
          first, fmt::format("it is the first to give what is no number or infinite: {} results", count));
      return;
    }
    std::vector<std::pair<double, std::string>> worst;
    for (const auto& [name, error] : now_.operators) worst.emplace_back(alone_.at(name), name);
    std::sort(worst.begin(), worst.end(), std::greater<>());
    const std::size_t count = std::min(worst.size(), at_once_);
    at_once_ *= 2;
    for (std::size_t i = 0; i < count; ++i)
      keep_with_sources(
          worst[i].second,
          fmt::format("alone it is off by {:.1e}, and the model by more than the limit", worst[i].first));
  }

  // With the operators that store what `name` reads: its error alone is also that of its rounded inputs.
  void keep_with_sources(const std::string& name, const std::string& why) {
    keep(name, why);
    const std::string for_whom = fmt::format("'{}' reads it, which stays in f32", name);
    std::vector<NodeId> stack{nodes_.at(name)};
    while (!stack.empty()) {
      const Node& node = graph_.node(stack.back());
      stack.pop_back();
      for (graph::ValueId input : node.inputs) {
        const NodeId producer = input.valid() ? graph_.value(input).producer : NodeId{};
        if (!producer.valid() || !keep(graph_.node(producer).name, for_whom)) continue;
        if (only_moves(graph_.node(producer))) stack.push_back(producer);
      }
    }
  }

  static bool only_moves(const Node& node) {
    const graph::OpEntry* entry = graph::find_entry(node);
    return entry != nullptr &&
           (entry->op_class == graph::OpClass::kView || entry->op_class == graph::OpClass::kMovement);
  }

  // A row for each choice of the first round: what other operators do in f32 by now may leave an operator with f32 to read.
  PrecisionDecision finish(std::string how) {
    decision_.how = std::move(how);
    for (const TypeChoice& first : first_types_) {
      const auto now = std::find_if(types_.begin(), types_.end(),
                                    [&](const TypeChoice& choice) { return choice.node == first.node; });
      decision_.rows.push_back(row_of(now != types_.end() ? *now : left_alone(first)));
    }
    return std::move(decision_);
  }

  TypeChoice left_alone(const TypeChoice& first) const {
    const auto kept = decision_.keep_f32.find(first.node);
    const std::string why =
        kept != decision_.keep_f32.end() ? kept->second : std::string("what it reads stays in f32");
    return {first.node, first.op, DType::kF32, false, why};
  }

  analyze::OperatorPrecision row_of(const TypeChoice& choice) const {
    analyze::OperatorPrecision row;
    row.node = choice.node;
    row.op = choice.op;
    row.type = choice.tf32 ? graph::kTf32Math : dtype_name(choice.type);
    row.kept_f32 = !choice.narrowed;
    row.why = choice.why;
    if (const auto known = alone_.find(choice.node); known != alone_.end()) row.rel_err = known->second;
    if (const auto known = largest_.find(choice.node); known != largest_.end()) row.largest = known->second;
    const auto now = now_.operators.find(choice.node);
    if (choice.narrowed && now != now_.operators.end()) row.carried_rel_err = now->second.carried;
    return row;
  }

  const graph::Graph& graph_;
  std::span<const Tensor> inputs_;
  const PrecisionSearch& asked_;
  std::unordered_map<std::string, NodeId> nodes_;
  std::vector<TypeChoice> types_, first_types_;                 // of the last round, of the first
  DType type_ = DType::kF16;                                    // the narrow one
  ReferenceResults kept_;                                       // of all rounds
  bool tf32_ = false;                                           // none: f32, rounded before it is multiplied
  Sensitivity now_;                                             // of the last round
  std::map<std::string, double, std::less<>> alone_, largest_;  // of all rounds
  std::size_t at_once_ = 1;
  PrecisionDecision decision_;
};

}  // namespace

Result<PrecisionDecision> choose_precision(const graph::Graph& graph, std::span<const Tensor> inputs,
                                           const PrecisionSearch& search) {
  return Search(graph, inputs, search).run();
}

}  // namespace hone::lab
