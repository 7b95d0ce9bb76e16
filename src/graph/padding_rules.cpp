#include "graph/padding_rules.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>

#include "graph/op_table.h"

namespace hone::graph::padding {

AxisParts fixed_axis(int64_t extent) { return normalised({{extent, extent}}); }

AxisParts normalised(const AxisParts& parts) {
  AxisParts result;
  for (const AxisPart& part : parts) {
    if (part == AxisPart{}) continue;
    if (!result.empty() && !result.back().longer() && !part.longer()) {
      result.back().kept *= part.kept;
      result.back().padded *= part.padded;
    } else {
      result.push_back(part);
    }
  }
  return result;
}

bool RuleContext::longer(std::size_t i, int64_t axis) const {
  const AxisParts& parts = axes(i).axes[static_cast<std::size_t>(axis < 0 ? axis + rank(i) : axis)];
  return std::any_of(parts.begin(), parts.end(), [](const AxisPart& part) { return part.longer(); });
}

Shape RuleContext::kept_shape(std::size_t output) const { return kept.type(in_kept.outputs[output]).shape(); }
Shape RuleContext::padded_shape(std::size_t output) const {
  return padded.type(in_padded.outputs[output]).shape();
}

std::optional<std::vector<int64_t>> RuleContext::numbers(std::size_t i) const {
  if (!has(i)) return std::nullopt;
  const Value &a = kept.value(in_kept.inputs[i]), &b = padded.value(in_padded.inputs[i]);
  if (!a.is_constant() || !b.is_constant() || !same_tensor(*a.constant, *b.constant) ||
      !is_integer(a.type.dtype))
    return std::nullopt;
  return b.constant->to_ints();
}

namespace {

using Axes = Result<std::vector<PaddedAxes>>;

Error along() { return unsupported("works along a padded axis"); }
Error by_extents() { return unsupported("depends on the extents"); }
Axes one(PaddedAxes axes) { return std::vector<PaddedAxes>{std::move(axes)}; }

// Whether inputs from `first` on are the same in both runs.
bool rest_same(const RuleContext& at, std::size_t first) {
  for (std::size_t i = first; i < at.inputs.size(); ++i)
    if (!at.same(i)) return false;
  return true;
}

bool one_output(const RuleContext& at) {
  for (std::size_t i = 1; i < at.in_padded.outputs.size(); ++i)
    if (at.in_padded.outputs[i].valid()) return false;
  return at.in_padded.has_output(0);
}

std::size_t index_of(int64_t axis, int64_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

// --- elementwise ---

// Merges axes of one more operand, aligned at the last. False where they do not fall together.
bool broadcast_into(std::vector<AxisParts>& axes, std::span<const AxisParts> operand) {
  while (axes.size() < operand.size()) axes.insert(axes.begin(), AxisParts{});
  for (std::size_t i = 0; i < operand.size(); ++i) {
    AxisParts& own = axes[axes.size() - operand.size() + i];
    if (operand[i].empty() || own == operand[i]) continue;
    if (!own.empty()) return false;
    own = operand[i];
  }
  return true;
}

Axes elementwise(const RuleContext& at) {
  PaddedAxes result;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (!at.has(i)) continue;
    if (!at.known(i)) return by_extents();
    if (!broadcast_into(result.axes, at.axes(i).axes))
      return unsupported("joins axes that are padded otherwise");
  }
  return one(std::move(result));
}

// Elements of the first input by numbers that are the same in both runs, which may belong to an axis.
Axes like_first(const RuleContext& at) {
  if (!rest_same(at, 1)) return along();
  return one(at.axes(0));
}

// --- along an axis ---

Axes along_attribute_axis(const RuleContext& at) {
  if (at.longer(0, at.in_padded.attributes.integer("axis", -1))) return along();
  return one(at.axes(0));
}

Axes normalised_from_axis(const RuleContext& at) {
  const auto first = index_of(at.in_padded.attributes.integer("axis", -1), at.rank(0));
  for (std::size_t axis = first; axis < at.axes(0).axes.size(); ++axis)
    if (at.longer(0, static_cast<int64_t>(axis))) return along();
  return like_first(at);
}

Axes batch_norm(const RuleContext& at) {
  if (at.in_padded.attributes.integer("training_mode", 0) != 0)
    return unsupported("takes statistics over a padded axis");
  if (at.rank(0) > 1 && at.longer(0, 1)) return along();
  return like_first(at);
}

// Only the first axis may be longer: convolutions, poolings, norms of images, resizing.
Axes each_image(const RuleContext& at) {
  if (!rest_same(at, 1)) return along();
  for (int64_t axis = 1; axis < at.rank(0); ++axis)
    if (at.longer(0, axis)) return along();
  const Shape kept = at.kept_shape();
  PaddedAxes result;
  result.axes.push_back(at.axes(0).axes[0]);
  for (std::size_t i = 1; i < kept.size(); ++i) result.axes.push_back(fixed_axis(kept[i]));
  return one(std::move(result));
}

Axes reduce(const RuleContext& at) {
  const int64_t rank = at.rank(0);
  Ints reduced = at.in_padded.attributes.ints("axes");
  if (at.has(1)) {
    const auto given = at.numbers(1);
    if (!given) return by_extents();
    reduced = *given;
  }
  if (reduced.empty() && at.in_padded.attributes.integer("noop_with_empty_axes", 0) != 0)
    return one(at.axes(0));
  std::vector<bool> gone(static_cast<std::size_t>(rank), reduced.empty());
  for (const int64_t axis : reduced) gone[index_of(axis, rank)] = true;
  PaddedAxes result;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const bool is_gone = gone[static_cast<std::size_t>(axis)];
    if (is_gone && at.longer(0, axis)) return along();
    if (!is_gone) result.axes.push_back(at.axes(0).axes[static_cast<std::size_t>(axis)]);
    if (is_gone && at.in_padded.attributes.integer("keepdims", 1) != 0) result.axes.emplace_back();
  }
  return one(std::move(result));
}

Axes arg_reduce(const RuleContext& at) {
  const auto axis = index_of(at.in_padded.attributes.integer("axis", 0), at.rank(0));
  if (at.longer(0, static_cast<int64_t>(axis))) return along();
  PaddedAxes result = at.axes(0);
  if (at.in_padded.attributes.integer("keepdims", 1) != 0)
    result.axes[axis].clear();
  else
    result.axes.erase(result.axes.begin() + static_cast<std::ptrdiff_t>(axis));
  return one(std::move(result));
}

// --- products ---

Axes matmul(const RuleContext& at) {
  if (!at.known(0) || !at.known(1)) return by_extents();
  std::vector<AxisParts> a = at.axes(0).axes, b = at.axes(1).axes;
  if (a.empty() || b.empty()) return by_extents();
  const std::size_t b_depth = b.size() > 1 ? b.size() - 2 : 0;
  if (at.longer(0, -1) || at.longer(1, static_cast<int64_t>(b_depth))) return along();
  const bool rows = a.size() > 1, columns = b.size() > 1;
  const AxisParts row = rows ? a[a.size() - 2] : AxisParts{}, column = b.back();
  std::vector<AxisParts> result(a.begin(), a.end() - (rows ? 2 : 1));
  if (!broadcast_into(result, std::span(b).first(b_depth)))
    return unsupported("joins axes that are padded otherwise");
  if (rows) result.push_back(row);
  if (columns) result.push_back(column);
  return one({std::move(result)});
}

Axes gemm(const RuleContext& at) {
  if (!at.known(0) || !at.known(1)) return by_extents();
  const std::size_t a_rows = at.in_padded.attributes.integer("transA", 0) != 0 ? 1 : 0;
  const std::size_t b_columns = at.in_padded.attributes.integer("transB", 0) != 0 ? 0 : 1;
  if (at.longer(0, static_cast<int64_t>(1 - a_rows)) || at.longer(1, static_cast<int64_t>(1 - b_columns)))
    return along();
  std::vector<AxisParts> result = {at.axes(0).axes[a_rows], at.axes(1).axes[b_columns]};
  if (at.has(2) && (!at.known(2) || !broadcast_into(result, at.axes(2).axes)))
    return unsupported("joins axes that are padded otherwise");
  return one({std::move(result)});
}

// [batch, heads, length, size] or [batch, length, heads · size] each: batches and heads stand for themselves; a query sees
// all keys unless it is causal, and then row i sees keys up to i, whatever lies behind.
Axes attention(const RuleContext& at) {
  for (const std::size_t i : {0U, 1U, 2U})
    if (!at.known(i) || at.rank(i) != at.rank(0)) return by_extents();
  const bool split = at.rank(0) == 4;
  if ((!split && at.rank(0) != 3) || at.has(4) || at.has(5) || at.has(6)) return along();
  const std::size_t length = split ? 2 : 1;
  const auto& q = at.axes(0).axes;
  const auto &k = at.axes(1).axes, &v = at.axes(2).axes;
  for (const std::size_t i : {0U, 1U, 2U})
    if (at.longer(i, -1) || (split && at.longer(i, 1)) || at.axes(i).axes[0] != q[0]) return along();
  if (at.longer(1, static_cast<int64_t>(length)) || at.longer(2, static_cast<int64_t>(length))) {
    const bool causal = at.in_padded.attributes.integer("is_causal", 0) != 0;
    if (!causal || k[length] != q[length] || v[length] != q[length]) return along();
    if (at.beyond == Beyond::kRowsOfTheData) return unsupported("looks back along an axis of rows");
  }
  if (at.has(3)) {  // aligned at the last axis with [batch, heads, queries, keys]
    const AxisParts heads =
        fixed_axis(split ? at.kept_shape()[1] : at.in_padded.attributes.integer("q_num_heads", 1));
    std::vector<AxisParts> scores = {q[0], heads, q[length], k[length]};
    if (!at.known(3) || at.rank(3) > 4 || !broadcast_into(scores, at.axes(3).axes)) return along();
  }
  PaddedAxes result = at.axes(0);
  result.axes.back() = fixed_axis(at.kept_shape().back());
  return one(std::move(result));
}

// X is [steps, batch, size], states are [directions, batch, hidden]; each row of the batch is a sequence of its own. What
// else there is (weights, peepholes) belongs to all.
Axes recurrent(const RuleContext& at) {
  constexpr std::size_t kLengths = 4, kHidden = 5, kCell = 6;
  if (at.in_padded.attributes.integer("layout", 0) != 0 || at.longer(0, 0) || at.longer(0, 2)) return along();
  const AxisParts batch = at.axes(0).axes[1];
  for (std::size_t i = 1; i < at.inputs.size(); ++i) {
    const bool is_state = i == kHidden || i == kCell;
    if (!at.has(i)) continue;
    if (i != kLengths && !is_state && !at.same(i)) return along();
    if (i == kLengths && at.axes(i).axes[0] != batch) return along();
    if (is_state && (at.axes(i).axes[1] != batch || at.longer(i, 0) || at.longer(i, 2))) return along();
  }
  std::vector<PaddedAxes> results;
  for (std::size_t i = 0; i < at.in_padded.outputs.size(); ++i) {
    PaddedAxes& result = results.emplace_back();
    if (!at.in_padded.outputs[i].valid()) continue;
    for (const int64_t extent : at.kept_shape(i)) result.axes.push_back(fixed_axis(extent));
    result.axes[result.axes.size() - 2] = batch;
  }
  return results;
}

// --- movement ---

Axes transpose(const RuleContext& at) {
  Ints order = at.in_padded.attributes.ints("perm");
  if (order.empty())
    for (int64_t axis = at.rank(0); axis-- > 0;) order.push_back(axis);
  PaddedAxes result;
  for (const int64_t axis : order) result.axes.push_back(at.axes(0).axes[static_cast<std::size_t>(axis)]);
  return one(std::move(result));
}

// The same elements in the same order, under other axes. Shapes are read from the inferred types.
Axes view(const RuleContext& at) {
  auto result = regrouped(at.axes(0), at.kept_shape(), at.padded_shape());
  if (!result) return unsupported("cuts or joins a padded axis");
  return one(*std::move(result));
}

// A longer axis that is new is filled with one element.
Axes expand(const RuleContext& at) {
  const Shape kept = at.kept_shape(), padded = at.padded_shape();
  std::vector<AxisParts> result(kept.size());
  if (!broadcast_into(result, at.axes(0).axes)) return by_extents();
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (result[i].empty()) result[i] = normalised({{kept[i], padded[i]}});
  return one({std::move(result)});
}

Axes concat(const RuleContext& at) {
  if (!at.known(0)) return by_extents();
  const auto axis = index_of(at.in_padded.attributes.integer("axis", 0), at.rank(0));
  PaddedAxes result = at.axes(0);
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (!at.known(i) || at.rank(i) != at.rank(0)) return by_extents();
    if (at.longer(i, static_cast<int64_t>(axis))) return along();
    for (std::size_t k = 0; k < result.axes.size(); ++k)
      if (k != axis && at.axes(i).axes[k] != result.axes[k])
        return unsupported("joins axes that are padded otherwise");
  }
  result.axes[axis] = fixed_axis(at.kept_shape()[axis]);
  return one(std::move(result));
}

Axes split(const RuleContext& at) {
  const auto axis = index_of(at.in_padded.attributes.integer("axis", 0), at.rank(0));
  if (at.longer(0, static_cast<int64_t>(axis)) || !rest_same(at, 1)) return along();
  std::vector<PaddedAxes> results;
  for (std::size_t i = 0; i < at.in_padded.outputs.size(); ++i) {
    PaddedAxes& result = results.emplace_back(at.axes(0));
    if (at.in_padded.outputs[i].valid()) result.axes[axis] = fixed_axis(at.kept_shape(i)[axis]);
  }
  return results;
}

constexpr int64_t kToTheEnd = std::numeric_limits<int32_t>::max();

// A padded axis may be taken whole, or from places that data have in both runs.
Axes slice(const RuleContext& at) {
  const int64_t rank = at.rank(0);
  const auto starts = at.numbers(1), ends = at.numbers(2);
  const auto axes = at.has(3) ? at.numbers(3) : std::optional(std::vector<int64_t>());
  const auto steps = at.has(4) ? at.numbers(4) : std::optional(std::vector<int64_t>());
  if (!starts || !ends || !axes || !steps) return by_extents();
  const Shape kept = at.kept_shape();
  PaddedAxes result = at.axes(0);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = at.has(3) ? index_of((*axes)[i], rank) : i;
    const int64_t start = (*starts)[i], end = (*ends)[i], step = at.has(4) ? (*steps)[i] : 1;
    AxisParts& parts = result.axes[axis];
    if (at.longer(0, static_cast<int64_t>(axis))) {
      const bool whole = start == 0 && step == 1 && end >= kToTheEnd;
      if (whole) continue;
      if (start < 0 || end < start || step < 1 || parts.size() != 1 || end > parts[0].kept) return along();
    }
    parts = fixed_axis(kept[axis]);
  }
  return one(std::move(result));
}

Axes gather(const RuleContext& at) {
  if (!at.known(0) || !at.known(1)) return by_extents();
  const auto axis = index_of(at.in_padded.attributes.integer("axis", 0), at.rank(0));
  const auto& data = at.axes(0).axes;
  if (at.longer(0, static_cast<int64_t>(axis))) {
    const auto places = at.numbers(1);
    const bool in_data = places && data[axis].size() == 1 &&
                         std::all_of(places->begin(), places->end(),
                                     [&](int64_t p) { return p >= 0 && p < data[axis][0].kept; });
    if (!in_data) return along();
  }
  PaddedAxes result;
  result.axes.assign(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  result.axes.insert(result.axes.end(), at.axes(1).axes.begin(), at.axes(1).axes.end());
  result.axes.insert(result.axes.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  return one(std::move(result));
}

// --- the table ---

using Rule = Axes (*)(const RuleContext&);

struct Row {
  std::string_view op;
  Rule rule;
  bool shape_operands = false;  // inputs from the second on are shapes, read by inference: they may differ
  bool many_results = false;    // the rule says of each what becomes of it
};

constexpr std::array kRules = {
    Row{"QuantizeLinear", like_first},
    Row{"DequantizeLinear", like_first},
    Row{"Softmax", along_attribute_axis},
    Row{"LogSoftmax", along_attribute_axis},
    Row{"Hardmax", along_attribute_axis},
    Row{"LpNormalization", along_attribute_axis},
    Row{"LayerNormalization", normalised_from_axis},
    Row{"RMSNormalization", normalised_from_axis},
    Row{"BatchNormalization", batch_norm},
    Row{"InstanceNormalization", each_image},
    Row{"GroupNormalization", each_image},
    Row{"LRN", each_image},
    Row{"Conv", each_image},
    Row{"ConvTranspose", each_image},
    Row{"MaxPool", each_image},
    Row{"AveragePool", each_image},
    Row{"LpPool", each_image},
    Row{"GlobalMaxPool", each_image},
    Row{"GlobalAveragePool", each_image},
    Row{"GlobalLpPool", each_image},
    Row{"DepthToSpace", each_image},
    Row{"SpaceToDepth", each_image},
    Row{"ReduceMax", reduce},
    Row{"ReduceMean", reduce},
    Row{"ReduceMin", reduce},
    Row{"ReduceProd", reduce},
    Row{"ReduceSum", reduce},
    Row{"ReduceSumSquare", reduce},
    Row{"ReduceL1", reduce},
    Row{"ReduceL2", reduce},
    Row{"ReduceLogSum", reduce},
    Row{"ReduceLogSumExp", reduce},
    Row{"ArgMax", arg_reduce},
    Row{"ArgMin", arg_reduce},
    Row{"MatMul", matmul},
    Row{"Gemm", gemm},
    Row{"Attention", attention},
    Row{"LSTM", recurrent, false, true},
    Row{"GRU", recurrent, false, true},
    Row{"RNN", recurrent, false, true},
    Row{"Transpose", transpose},
    Row{"Identity", view},
    Row{"Flatten", view},
    Row{"Reshape", view, true},
    Row{"Squeeze", view, true},
    Row{"Unsqueeze", view, true},
    Row{"Expand", expand, true},
    Row{"Concat", concat},
    Row{"Split", split, false, true},
    Row{"Slice", slice},
    Row{"Gather", gather},
};

// Elementwise operators need no row: their class says it. But for those that look at all elements at once.
std::optional<Row> row_of(const Node& node) {
  const auto* const row =
      std::find_if(kRules.begin(), kRules.end(), [&](const Row& r) { return r.op == node.op; });
  if (row != kRules.end()) return *row;
  const OpEntry* const entry = op_table().find(node.op);
  const bool pointwise =
      entry != nullptr && entry->op_class == OpClass::kPointwise && entry->max_outputs == 1 && entry->pure;
  return pointwise ? std::optional(Row{entry->name, elementwise}) : std::nullopt;
}

// The same inputs give the same results, whatever the operator is.
Axes results_without_padding(const RuleContext& at) {
  std::vector<PaddedAxes> results(at.in_padded.outputs.size());
  if (!is_pure(at.in_padded)) return unsupported("does not give the same result twice");
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!at.in_padded.outputs[i].valid()) continue;
    if (at.kept_shape(i) != at.padded_shape(i)) return by_extents();
    for (const int64_t extent : at.kept_shape(i)) results[i].axes.push_back(fixed_axis(extent));
  }
  return results;
}

}  // namespace

Result<std::vector<PaddedAxes>> apply_rule(const RuleContext& at) {
  bool any_longer = false, all_known = true;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    if (!at.has(i)) continue;
    all_known = all_known && at.known(i);
    any_longer = any_longer || !at.same(i);
  }
  if (all_known && !any_longer && rest_same(at, 0)) {
    // Expand and its like may still be given other extents: their rules say what follows.
    const auto results = results_without_padding(at);
    if (results.ok()) return results;
  }
  const std::optional<Row> row = row_of(at.in_padded);
  if (!row) return unsupported("is not known to keep a padded axis apart");
  if (at.inputs.empty() || !at.known(0)) return by_extents();
  for (std::size_t i = 1; i < at.inputs.size() && !row->shape_operands; ++i)
    if (at.has(i) && !at.known(i)) return by_extents();
  if (!row->many_results && !one_output(at))
    return unsupported("has results that are not known to keep a padded axis apart");
  return row->rule(at);
}

std::optional<PaddedAxes> regrouped(const PaddedAxes& from, const Shape& kept, const Shape& padded) {
  AxisParts parts;
  for (const AxisParts& axis : from.axes) parts.insert(parts.end(), axis.begin(), axis.end());
  std::reverse(parts.begin(), parts.end());  // the first is taken from the back
  PaddedAxes result;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    AxisPart wanted{kept[i], padded[i]};
    AxisParts axis;
    while (wanted != AxisPart{}) {
      if (parts.empty() || wanted.kept == 0 || wanted.padded == 0) return std::nullopt;
      AxisPart part = parts.back();
      parts.pop_back();
      if (part.kept == 0 || part.padded == 0) return std::nullopt;
      if (!part.longer() && (wanted.kept % part.kept != 0 || wanted.padded % part.kept != 0)) {
        // A fixed part goes in two where its first half fills the axis.
        const int64_t half = wanted.kept;
        if (wanted.longer() || part.kept % half != 0) return std::nullopt;
        parts.push_back({part.kept / half, part.kept / half});
        part = {half, half};
      }
      if (wanted.kept % part.kept != 0 || wanted.padded % part.padded != 0) return std::nullopt;
      wanted.kept /= part.kept;
      wanted.padded /= part.padded;
      axis.push_back(part);
    }
    result.axes.push_back(normalised(axis));
  }
  for (const AxisPart& part : parts)
    if (part != AxisPart{}) return std::nullopt;
  return result;
}

}  // namespace hone::graph::padding
