#include "lab/precision/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "passes/allow_tf32.h"
#include "passes/lower_precision.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

// An interpretation that goes on node by node; values are freed after their last reader.
class SteppedRun {
 public:
  SteppedRun(const Graph& graph, std::span<const Tensor> inputs)
      : graph_(graph), tensors_(graph.values().size()), readers_(graph.values().size(), 0) {
    for (std::size_t i = 0; i < graph.values().size(); ++i) {
      if (graph.values()[i].is_constant()) tensors_[i] = *graph.values()[i].constant;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) tensors_[graph.inputs()[i].index] = inputs[i];
    for (const Node& node : graph.nodes()) {
      for (ValueId input : node.inputs) {
        if (input.valid()) ++readers_[input.index];
      }
    }
    for (ValueId output : graph.outputs()) ++readers_[output.index];
  }

  bool done() const { return next_ == graph_.nodes().size(); }
  const Node& next() const { return graph_.nodes()[next_]; }

  std::vector<Tensor> arguments() const {
    std::vector<Tensor> given;
    for (ValueId input : next().inputs) given.push_back(input.valid() ? tensors_[input.index] : Tensor());
    return given;
  }

  // Runs the next node; what it gave.
  Result<std::vector<Tensor>> step() {
    const Node& node = next();
    auto results = runtime::interpret_node(node, passes::as_multiplied(node, arguments()));
    if (!results.ok()) return results.error().within(fmt::format("node '{}' ({})", node.name, node.op));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid()) tensors_[node.outputs[i].index] = (*results)[i];
    }
    for (ValueId input : node.inputs) {
      if (input.valid() && --readers_[input.index] == 0) tensors_[input.index] = Tensor();
    }
    ++next_;
    return results;
  }

  std::vector<Tensor> outputs() const {
    std::vector<Tensor> given;
    for (ValueId output : graph_.outputs()) given.push_back(tensors_[output.index]);
    return given;
  }

 private:
  const Graph& graph_;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> readers_;
  std::size_t next_ = 0;
};

bool holds_floats(const Tensor& tensor) { return tensor.defined() && is_float(tensor.dtype()); }

// Calls f(begin, end) on pieces of [0, count), several at a time, and gives what each returned: the same pieces on every
// machine, so that sums of them are the same.
template <typename F>
auto in_pieces(int64_t count, const F& f) {
  constexpr int64_t kPiece = 1 << 16;
  std::vector<decltype(f(count, count))> results(static_cast<std::size_t>((count + kPiece - 1) / kPiece));
  kernels::parallel_tasks(
      static_cast<int64_t>(results.size()), kernels::thread_count(), [&](int64_t piece, int) {
        results[static_cast<std::size_t>(piece)] = f(piece * kPiece, std::min(count, (piece + 1) * kPiece));
      });
  return results;
}

void see_largest(std::span<const Tensor> tensors, double& largest) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.dtype() != DType::kF32) continue;
    const Tensor aligned = tensor.aligned();
    const std::span<const float> all = aligned.as<float>();
    for (const float most : in_pieces(tensor.size(), [all](int64_t begin, int64_t end) {
           float most = 0;
           for (int64_t i = begin; i < end; ++i) {
             const float size = std::abs(all[static_cast<std::size_t>(i)]);
             if (std::isfinite(size)) most = std::max(most, size);
           }
           return most;
         }))
      largest = std::max(largest, double{most});
  }
}

struct ResultError {
  double relative = 0;
  int64_t not_finite = 0;
};

struct Squares {
  double errors = 0, wanted = 0;
  int64_t not_finite = 0;
};

Squares squares_of(const Tensor& result, const Tensor& reference, int64_t begin, int64_t end) {
  Squares found;
  for (int64_t i = begin; i < end; ++i) {
    const double wanted = reference.at(i), got = result.at(i);
    if (!std::isfinite(wanted)) continue;
    if (!std::isfinite(got)) {
      ++found.not_finite;
      continue;
    }
    found.errors += (got - wanted) * (got - wanted);
    found.wanted += wanted * wanted;
  }
  return found;
}

ResultError error_of(std::span<const Tensor> results, std::span<const Tensor> reference) {
  double errors = 0, squares = 0;
  ResultError error;
  for (std::size_t k = 0; k < std::min(results.size(), reference.size()); ++k) {
    if (!holds_floats(results[k]) || !holds_floats(reference[k])) continue;
    for (const Squares& piece : in_pieces(reference[k].size(), [&](int64_t begin, int64_t end) {
           return squares_of(results[k], reference[k], begin, end);
         })) {
      errors += piece.errors;
      squares += piece.wanted;
      error.not_finite += piece.not_finite;
    }
  }
  const bool infinite = error.not_finite > 0 || (errors > 0 && squares == 0);
  error.relative = infinite     ? std::numeric_limits<double>::infinity()
                   : errors > 0 ? std::sqrt(errors / squares)
                                : 0;
  return error;
}

class SideBySide {
 public:
  SideBySide(const Graph& before, const Graph& after, std::span<const Tensor> inputs,
             const std::set<std::string, std::less<>>& narrowed, const SensitivityOptions& options)
      : after_graph_(after),
        before_(before, inputs),
        after_(after, inputs),
        narrowed_(narrowed),
        options_(options) {
    for (const Node& node : after.nodes()) {
      if (narrowed.contains(node.name)) narrow_nodes_[node.name] = &node;
    }
  }

  Result<Sensitivity> run() {
    while (!after_.done()) {
      if (options_.keep_going && !options_.keep_going())
        return Error{ErrorCode::kCancelled, "interrupted while the operators' precision was measured"};
      const Node& node = after_.next();
      if (!narrowed_.contains(node.name)) {
        HONE_CHECK(after_.step());
        continue;
      }
      HONE_CHECK(reach(node.name));
      HONE_ASSIGN(const std::vector<Tensor> results, after_.step());
      compare(node.name, results);
    }
    found_.outputs = after_.outputs();
    return std::move(found_);
  }

 private:
  // Runs the graph before the pass until it has run `name`.
  Status reach(const std::string& name) {
    if (take_kept(name)) return {};
    while (!reference_.contains(name)) {
      if (before_.done()) return invalid(fmt::format("there is no node '{}' before the pass", name));
      const Node& node = before_.next();
      const auto narrow = narrow_nodes_.find(node.name);
      if (narrow == narrow_nodes_.end()) {
        HONE_CHECK(before_.step());
        continue;
      }
      const std::vector<Tensor> arguments = before_.arguments();
      HONE_ASSIGN(std::vector<Tensor> results, before_.step());
      OperatorError& error = found_.operators[node.name];
      see_largest(arguments, error.largest);
      see_largest(results, error.largest);
      if (options_.alone.contains(node.name)) {
        HONE_ASSIGN(error.alone, run_alone(*narrow->second, arguments, results));
      }
      keep(node.name, results, error.largest);
      reference_[node.name] = std::move(results);
    }
    return {};
  }

  bool take_kept(const std::string& name) {
    if (options_.kept == nullptr || options_.alone.contains(name)) return false;
    const auto found = options_.kept->operators.find(name);
    if (found == options_.kept->operators.end()) return false;
    found_.operators[name].largest = found->second.largest;
    reference_[name] = found->second.results;
    return true;
  }

  void keep(const std::string& name, const std::vector<Tensor>& results, double largest) {
    if (options_.kept == nullptr) return;
    std::size_t bytes = 0;
    for (const Tensor& tensor : results)
      if (tensor.defined()) bytes += static_cast<std::size_t>(tensor.size()) * dtype_size(tensor.dtype());
    if (options_.kept->bytes + bytes > options_.kept->most_bytes) return;
    if (!options_.kept->operators.emplace(name, ReferenceResults::Of{results, largest}).second) return;
    options_.kept->bytes += bytes;
  }

  Result<double> run_alone(const Node& narrow, std::vector<Tensor> arguments,
                           std::span<const Tensor> reference) const {
    for (std::size_t i = 0; i < narrow.inputs.size(); ++i) {
      if (!narrow.has_input(i)) continue;
      const graph::Value& value = after_graph_.value(narrow.inputs[i]);
      if (value.is_constant())
        arguments[i] = *value.constant;
      else if (value.type.dtype != arguments[i].dtype())
        arguments[i] = passes::narrowed(arguments[i], value.type.dtype);
    }
    HONE_ASSIGN(const std::vector<Tensor> results,
                runtime::interpret_node(narrow, passes::as_multiplied(narrow, std::move(arguments))));
    return error_of(results, reference).relative;
  }

  void compare(const std::string& name, std::span<const Tensor> results) {
    const ResultError error = error_of(results, reference_.at(name));
    OperatorError& of = found_.operators[name];
    of.carried = error.relative;
    of.not_finite = error.not_finite;
    if (error.not_finite > 0 && found_.first_not_finite.empty()) found_.first_not_finite = name;
    reference_[name].clear();  // the name stays: it was reached
  }

  const Graph& after_graph_;
  SteppedRun before_, after_;
  const std::set<std::string, std::less<>>& narrowed_;
  const SensitivityOptions& options_;
  std::unordered_map<std::string, const Node*> narrow_nodes_;
  std::unordered_map<std::string, std::vector<Tensor>> reference_;  // results of nodes that were reached
  Sensitivity found_;
};

}  // namespace

Result<Sensitivity> measure_sensitivity(const Graph& before, const Graph& after,
                                        std::span<const Tensor> inputs,
                                        const std::set<std::string, std::less<>>& narrowed,
                                        const SensitivityOptions& options) {
  return SideBySide(before, after, inputs, narrowed, options).run();
}

}  // namespace hone::lab
