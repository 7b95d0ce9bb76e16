#include "lab/precision/batch_sample.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/specialise.h"
#include "graph/text.h"
#include "passes/pipeline.h"

namespace hone::lab {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::TensorType;
using graph::ValueId;

constexpr int64_t kLeastRows = 2;

bool begins_with_batch(const TensorType& type, int64_t batch) {
  return type.is_static() && type.rank() > 0 && (*type.dims)[0].extent() == batch;
}

// Every input whose first extent is that of the batch has so many rows.
std::vector<TensorType> types_for(const Graph& graph, int64_t batch, int64_t rows) {
  std::vector<TensorType> types;
  for (const ValueId input : graph.inputs()) {
    TensorType& type = types.emplace_back(graph.type(input));
    if (begins_with_batch(type, batch)) (*type.dims)[0] = rows;
  }
  return types;
}

// The first rows in their order, then any, by a hash of the place (SplitMix64's finaliser).
std::vector<int64_t> scattered(int64_t rows, int64_t batch) {
  std::vector<int64_t> at;
  for (int64_t i = 0; i < batch; ++i) {
    auto hash = static_cast<uint64_t>(i) + 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    at.push_back(i < rows ? i : static_cast<int64_t>((hash ^ (hash >> 31)) % static_cast<uint64_t>(rows)));
  }
  return at;
}

// Constants of two graphs of one structure that stand at the same places and differ.
Status collect_constants(const Graph& of_rows, const Graph& whole,
                         std::map<std::string, BatchSample::OtherConstant, std::less<>>& constants) {
  for (std::size_t i = 0; i < whole.nodes().size(); ++i) {
    const graph::Node &a = of_rows.nodes()[i], &b = whole.nodes()[i];
    for (std::size_t k = 0; k < b.inputs.size(); ++k) {
      if (!b.has_input(k)) continue;
      const graph::Value &small = of_rows.value(a.inputs[k]), &large = whole.value(b.inputs[k]);
      if (!large.is_constant() || same_tensor(*small.constant, *large.constant)) continue;
      const auto [known, fresh] =
          constants.emplace(large.name, BatchSample::OtherConstant{*large.constant, *small.constant});
      if (!fresh && !same_tensor(known->second.of_rows, *small.constant))
        return unsupported(fmt::format("constant '{}' means two things for another batch", large.name));
    }
  }
  return {};
}

}  // namespace

int64_t batch_of(const Graph& graph) {
  for (const ValueId input : graph.inputs()) {
    const TensorType& type = graph.type(input);
    if (type.is_static() && type.rank() >= 2) return (*type.dims)[0].extent();
  }
  return 0;
}

int64_t rows_to_compute(const Graph& graph, double most_flops) {
  const int64_t batch = batch_of(graph);
  double flops = 0;
  for (const graph::Node& node : graph.nodes()) flops += graph::node_cost(graph, node).flops;
  if (batch <= kLeastRows || flops <= most_flops) return 0;
  const auto rows = static_cast<int64_t>(std::floor(most_flops / flops * static_cast<double>(batch)));
  return std::max(rows, kLeastRows);
}

std::string BatchSample::text() const { return fmt::format("{} of {} rows", rows, batch()); }

Result<std::vector<Tensor>> BatchSample::spread(std::span<const Tensor> tensors,
                                                std::span<const graph::PaddedAxes> axes) const {
  std::vector<Tensor> whole;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    HONE_ASSIGN(Tensor of_batch, graph::spread_rows(tensors[i], axes[i], at));
    whole.push_back(std::move(of_batch));
  }
  return whole;
}

Result<std::vector<Tensor>> BatchSample::first_rows(std::span<const Tensor> tensors,
                                                    std::span<const graph::PaddedAxes> axes) {
  std::vector<Tensor> first;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    HONE_ASSIGN(Tensor of_rows, graph::cut_padding(tensors[i], axes[i]));
    first.push_back(std::move(of_rows));
  }
  return first;
}

Result<Graph> BatchSample::for_rows(const Graph& of_batch) const {
  if (constants.empty()) return of_batch;
  GraphBuilder builder(of_batch);
  for (uint32_t i = 0; i < of_batch.values().size(); ++i) {
    const graph::Value& value = of_batch.values()[i];
    const auto other = value.is_constant() ? constants.find(value.name) : constants.end();
    if (other != constants.end() && same_tensor(*value.constant, other->second.of_batch))
      builder.set_constant(ValueId{i}, other->second.of_rows);
  }
  return std::move(builder).finish();
}

Result<BatchSample> sample_batch(const Graph& model, const Graph& whole, int64_t rows,
                                 const passes::PassContext& context) {
  const int64_t batch = batch_of(model);
  if (!whole.states().empty()) return unsupported("the model keeps states from run to run");
  BatchSample sample;
  sample.rows = rows;
  sample.at = scattered(rows, batch);
  HONE_ASSIGN(Graph fewer, graph::retyped(model, types_for(model, batch, rows)));
  passes::PipelineOptions fold;
  fold.only = {"fold_constants"};
  HONE_ASSIGN(passes::PipelineResult folded, passes::run_pipeline(std::move(fewer), context, fold));
  sample.graph = std::move(folded.graph);
  HONE_ASSIGN(sample.outputs, graph::follow_padding(sample.graph, whole, graph::Beyond::kRowsOfTheData));
  for (std::size_t i = 0; i < whole.inputs().size(); ++i)
    sample.inputs.push_back(graph::axes_between(sample.graph.type(sample.graph.inputs()[i]).shape(),
                                                whole.type(whole.inputs()[i]).shape()));
  HONE_CHECK(collect_constants(sample.graph, whole, sample.constants));
  return sample;
}

}  // namespace hone::lab
