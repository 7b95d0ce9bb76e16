#include "passes/recognise_attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "passes/attention_pattern.h"
#include "passes/strided_view.h"

namespace hone::passes {
namespace {

// One operand: heads × rows × columns of each batch, found in `source`.
struct Operand {
  ValueId source;
  int64_t batch = 1, heads = 1, rows = 1, columns = 1;
  int64_t offset = 0;      // in elements, of the first row in `source`
  int64_t row_length = 1;  // of `source`: heads · columns, or more where other operands lie in the same rows
  double scale = 1;        // taken out of the source
};

// Reads a view of [B,H,T,D] or [B·H,T,D] as rows of [B,T,L], each holding H·D elements somewhere; nullopt if
// it lies otherwise. Heads repeated for grouped queries count once.
std::optional<Operand> rows_of(const GraphBuilder& builder, const StridedView& view) {
  const std::size_t rank = view.axes.size();
  StrideAxis lead;
  for (std::size_t i = 0; i + 2 < rank; ++i)
    lead.insert(lead.end(), view.axes[i].begin(), view.axes[i].end());
  const StrideAxis& rows = view.axes[rank - 2];
  const StrideAxis& columns = view.axes[rank - 1];
  Operand operand{view.source, 1, 1, extent_of(rows), extent_of(columns), view.offset, 0, 1};
  if (rows.size() > 1 || columns.size() > 1 || (!columns.empty() && columns[0].stride != 1))
    return std::nullopt;
  if (!lead.empty() && lead.back().stride == 0) lead.pop_back();  // repeated heads
  if (!lead.empty() && lead.back().stride == operand.columns &&
      (rows.empty() || rows[0].stride != operand.columns)) {
    operand.heads = lead.back().extent;
    lead.pop_back();
  }
  operand.row_length = rows.empty() ? operand.heads * operand.columns : rows[0].stride;
  if (lead.size() > 1 || (lead.size() == 1 && lead[0].stride != operand.rows * operand.row_length))
    return std::nullopt;
  if (!lead.empty()) operand.batch = lead[0].extent;
  const int64_t size = element_count(builder.type(view.source).shape());
  const int64_t width = operand.heads * operand.columns;
  const bool whole = size == operand.batch * operand.rows * operand.row_length &&
                     operand.row_length % width == 0 && operand.offset % width == 0 &&
                     operand.offset + width <= operand.row_length;
  return whole ? std::optional(operand) : std::nullopt;
}

class AttentionRecogniser {
 public:
  AttentionRecogniser(const graph::Graph& graph, const Target& target) : builder_(graph), target_(target) {}

  Result<PassOutcome> run(const graph::Graph& graph) {
    for (uint32_t i = 0; i < graph.nodes().size(); ++i) {
      const NodeId id{i};
      if (!builder_.erased(id) && builder_.node(id).op == "Softmax") visit(id);
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  void visit(NodeId softmax) {
    const std::string name = builder_.node(softmax).name;
    auto match = match_attention(builder_, softmax);
    if (auto* why = std::get_if<std::string>(&match)) {
      if (!why->empty()) outcome_.missed.push_back({name, "not recognised as attention: " + *why});
      return;
    }
    const AttentionPattern& pattern = std::get<AttentionPattern>(match);
    builder_.replacing(pattern.nodes);
    const std::string why = rewrite(pattern, name);
    builder_.replacing({});
    if (!why.empty()) outcome_.missed.push_back({name, "not recognised as attention: " + why});
  }

  // The nearest ancestor that holds the operand's rows. Scalars in between are taken out where `scalable`. An
  // ancestor whose rows hold other operands, too, or that has one head a batch where heads may be folded into
  // the batch, only if there is no better.
  std::optional<Operand> find_rows(ValueId value, bool transposed, bool scalable) const {
    std::optional<Operand> second;
    for (StridedView& view : views_of(builder_, value)) {
      const std::size_t rank = view.axes.size();
      if (transposed) std::swap(view.axes[rank - 1], view.axes[rank - 2]);
      auto operand = rows_of(builder_, view);
      if (!operand || (rank == 4 && operand->batch != batch_)) continue;
      if (scalable) operand->source = without_scale(builder_, operand->source, operand->scale);
      operand->source = without_reshapes(operand->source);
      if (scalable) operand->source = without_scale(builder_, operand->source, operand->scale);
      const bool exact = operand->row_length == operand->heads * operand->columns;
      if (exact && (rank == 4 || operand->heads > 1)) return operand;
      if (!second) second = operand;
    }
    return second;
  }

  ValueId without_reshapes(ValueId value) const {
    for (;;) {
      const auto before = produced_by(builder_, value, "Reshape");
      if (!before) return value;
      value = builder_.node(*before).inputs[0];
    }
  }

  std::string rewrite(const AttentionPattern& pattern, const std::string& name) {
    const Shape q_shape = builder_.type(pattern.q).shape();
    const Shape k_shape = builder_.type(pattern.k_transposed).shape();
    const Shape v_shape = builder_.type(pattern.v).is_static() ? builder_.type(pattern.v).shape() : Shape{};
    const std::size_t rank = q_shape.size();
    const bool same_lead = rank == k_shape.size() && rank == v_shape.size() && rank <= 4 &&
                           std::equal(q_shape.begin(), q_shape.end() - 2, k_shape.begin()) &&
                           std::equal(q_shape.begin(), q_shape.end() - 2, v_shape.begin());
    if (!same_lead) return "Q, K and V differ in batch or heads";
    heads_ = rank == 4 ? q_shape[1] : q_shape[0];
    batch_ = rank == 4 ? q_shape[0] : 1;
    queries_ = q_shape[rank - 2];
    keys_ = k_shape[rank - 1];
    value_dim_ = v_shape[rank - 1];
    const auto q = find_rows(pattern.q, false, true);
    const auto k = find_rows(pattern.k_transposed, true, true);
    const auto v = find_rows(pattern.v, false, false);
    const bool rows = q && k && v && q->batch == k->batch && q->batch == v->batch && k->heads == v->heads &&
                      q->batch * q->heads == batch_ * heads_ && q->heads % k->heads == 0;
    if (rows) {
      batch_ = q->batch;
      heads_ = q->heads;
    }
    const bool runs =
        rows ? has_kernel(rows_shape(*q), rows_shape(*k), rows_shape(*v), pattern, q->heads, k->heads)
             : has_kernel({batch_, heads_, queries_, q_shape.back()}, {batch_, heads_, keys_, q_shape.back()},
                          {batch_, heads_, keys_, value_dim_}, pattern, 0, 0);
    if (!runs) return "the target has no kernel for it";
    Attributes attributes;
    ValueId mask;
    if (auto why = combine_masks(pattern, name, attributes, mask); !why.empty()) return why;
    return rows ? rewrite_rows(pattern, name, *q, *k, *v, attributes, mask)
                : rewrite_planes(pattern, name, attributes, mask);
  }

  // --- the target's word ---

  static Shape rows_shape(const Operand& operand) {
    return {operand.batch, operand.rows, operand.heads * operand.columns};
  }

  // Asked about the node alone, before anything is built; heads are 0 where they are an axis.
  bool has_kernel(const Shape& q, const Shape& k, const Shape& v, const AttentionPattern& pattern,
                  int64_t heads, int64_t kv_heads) const {
    if (!target_.runs) return true;
    const DType dtype = builder_.type(pattern.q).dtype;
    GraphBuilder alone("attention");
    std::vector<ValueId> inputs;
    for (const Shape& shape : {q, k, v})
      inputs.push_back(alone.input("operand", graph::tensor_type(dtype, shape)));
    Attributes attributes;
    if (heads > 0) attributes.set("q_num_heads", heads).set("kv_num_heads", kv_heads);
    ValueId combined;
    for (const AttentionMask& mask : pattern.masks) {
      if (is_causal(mask)) {
        attributes.set("is_causal", int64_t{1});
        continue;
      }
      const auto shape = mask_shape(mask.added.valid() ? mask.added : mask.condition, mask.scores_shape);
      if (!shape) return true;  // combine_masks says what does not fit
      const DType type = builder_.type(mask.added.valid() ? mask.added : mask.otherwise).dtype;
      const ValueId added = alone.input("mask", graph::tensor_type(type, *shape));
      combined = combined.valid() ? alone.add("Add", {combined, added}) : added;
    }
    if (combined.valid()) inputs.push_back(combined);
    alone.output(alone.add("Attention", inputs, attributes, "attention"));
    const auto graph = std::move(alone).finish();
    return graph.ok() && target_.runs(*graph, graph->nodes().back());
  }

  // --- masks ---

  std::string combine_masks(const AttentionPattern& pattern, const std::string& name, Attributes& attributes,
                            ValueId& combined) {
    for (const AttentionMask& mask : pattern.masks) {
      if (is_causal(mask)) {
        attributes.set("is_causal", int64_t{1});
        continue;
      }
      const ValueId value = mask.added.valid() ? mask.added : mask.condition;
      const auto shape = mask_shape(value, mask.scores_shape);
      if (!shape)
        return fmt::format("its mask {} does not fit {} heads of {} queries and {} keys",
                           builder_.type(value).text(), heads_, queries_, keys_);
      ValueId added = mask.added;
      if (!added.valid()) {
        const ValueId zero =
            builder_.constant(name + ".zero", Tensor::zeros(builder_.type(mask.otherwise).dtype, {}));
        added = builder_.add(
            "Where",
            {mask.condition, mask.keep_when ? zero : mask.otherwise, mask.keep_when ? mask.otherwise : zero},
            {}, name + ".mask");
      }
      if (builder_.type(added).shape() != *shape) added = reshaped(added, *shape, name + ".mask");
      combined = combined.valid() ? builder_.add("Add", {combined, added}, {}, name + ".masks") : added;
    }
    return "";
  }

  // The shape under which a mask broadcasts to [B,H,T,S].
  std::optional<Shape> mask_shape(ValueId value, const Shape& scores) const {
    const graph::TensorType& type = builder_.type(value);
    if (!type.is_static() || type.rank() > static_cast<int64_t>(scores.size()) || type.rank() < 1)
      return std::nullopt;
    Shape shape = type.shape();
    if (shape.back() != keys_) return std::nullopt;  // a shorter last extent would mean padding to Attention
    if (shape.size() == 1) return shape;
    const int64_t own = shape[shape.size() - 2];
    if (own != 1 && own != queries_) return std::nullopt;
    const int64_t lead = element_count(std::span(shape).first(shape.size() - 2));
    if (lead == 1) return Shape{own, keys_};
    shape.insert(shape.begin(), scores.size() - shape.size(), 1);
    if (shape.size() == 4 && (shape[0] == 1 || shape[0] == batch_) && (shape[1] == 1 || shape[1] == heads_))
      return shape;
    if (lead == batch_ * heads_) return Shape{batch_, heads_, own, keys_};
    return std::nullopt;
  }

  // A constant that lets query i see keys 0…i and no others.
  bool is_causal(const AttentionMask& mask) const {
    const Tensor* data = constant_data(builder_, mask.added.valid() ? mask.added : mask.condition);
    if (data == nullptr || data->rank() < 2 || data->size() != queries_ * keys_ ||
        data->shape()[static_cast<std::size_t>(data->rank() - 1)] != keys_ || queries_ < 2)
      return false;
    for (int64_t i = 0; i < queries_; ++i) {
      for (int64_t j = 0; j < keys_; ++j) {
        const double x = data->at(i * keys_ + j);
        const bool seen = mask.added.valid() ? x == 0 : (x != 0) == mask.keep_when;
        if (seen != (j <= i) || (!seen && mask.added.valid() && !(x <= kNever))) return false;
      }
    }
    return true;
  }

  // --- operands [B,T,H·D] ---

  std::string rewrite_rows(const AttentionPattern& pattern, const std::string& name, const Operand& q,
                           const Operand& k, const Operand& v, Attributes attributes, ValueId mask) {
    attributes.set("scale", static_cast<float>(pattern.scale * q.scale * k.scale));
    attributes.set("q_num_heads", q.heads).set("kv_num_heads", k.heads);
    std::vector<ValueId> inputs{rows_value(q), rows_value(k), rows_value(v)};
    if (mask.valid()) inputs.push_back(mask);
    const ValueId attention = builder_.add("Attention", inputs, attributes, name);
    // [B,T,H,D] back to where the model puts it: most models bring it to [B,T,H·D] themselves.
    ValueId end = pattern.result;
    for (const ValueId candidate : consumers(pattern.result)) {
      const auto view = view_through(pattern.result, candidate);
      const auto wanted =
          view ? regroup(*view, std::vector<int64_t>{batch_, queries_, heads_, value_dim_}) : std::nullopt;
      // Element (b, t, h, d) of the candidate is element (b, h, t, d) of the pattern's result.
      std::vector<StrideAxis> order = dense_axes(std::vector<int64_t>{batch_, heads_, queries_, value_dim_});
      std::swap(order[1], order[2]);
      if (wanted && *wanted == order) end = candidate;
    }
    ValueId result = attention;
    if (end == pattern.result) {
      result = reshaped(result, {batch_, queries_, heads_, value_dim_}, name + ".heads");
      result = builder_.add("Transpose", {result}, {{"perm", Ints{0, 2, 1, 3}}}, name + ".heads_first");
    }
    finish(pattern, name, reshaped(result, builder_.type(end).shape(), name + ".shape"), end,
           "rows of all heads");
    return "";
  }

  // The operand as [B, rows, heads·columns]; where other operands share its rows, one Split gives them all.
  ValueId rows_value(const Operand& operand) {
    const int64_t width = operand.heads * operand.columns;
    const std::string name = builder_.value(operand.source).name;
    const ValueId rows =
        reshaped(operand.source, {operand.batch, operand.rows, operand.row_length}, name + ".rows");
    if (operand.row_length == width) return rows;
    std::vector<ValueId>& parts = splits_[{operand.source.index, operand.row_length, width}];
    if (parts.empty()) {
      const auto count = static_cast<std::size_t>(operand.row_length / width);
      const ValueId sizes = builder_.constant(
          name + ".parts", Tensor::i64({static_cast<int64_t>(count)}, std::vector<int64_t>(count, width)));
      parts = builder_.add_many("Split", {rows, sizes}, count, {{"axis", int64_t{2}}}, name + ".split");
    }
    return parts[static_cast<std::size_t>(operand.offset / width)];
  }

  // Values that are views of `value`, each the only reader's result of the one before.
  std::vector<ValueId> consumers(ValueId value) const {
    std::vector<ValueId> found;
    for (int step = 0; step < 4; ++step) {
      const auto reader = only_reader(builder_, value);
      if (!reader) break;
      const Node& node = builder_.node(*reader);
      if ((node.op != "Transpose" && node.op != "Reshape") || node.inputs[0] != value) break;
      value = node.outputs[0];
      found.push_back(value);
    }
    return found;
  }

  std::optional<std::vector<StrideAxis>> view_through(ValueId source, ValueId value) const {
    for (const StridedView& view : views_of(builder_, value)) {
      if (view.source == source) return view.axes;
    }
    return std::nullopt;
  }

  // --- operands [B,H,T,D] ---

  std::string rewrite_planes(const AttentionPattern& pattern, const std::string& name, Attributes attributes,
                             ValueId mask) {
    const Shape q_shape = builder_.type(pattern.q).shape();
    const int64_t width = q_shape.back();
    attributes.set("scale", static_cast<float>(pattern.scale));
    std::vector<ValueId> inputs{
        reshaped(pattern.q, {batch_, heads_, queries_, width}, name + ".q"),
        reshaped(untransposed(pattern.k_transposed, name), {batch_, heads_, keys_, width}, name + ".k"),
        reshaped(pattern.v, {batch_, heads_, keys_, value_dim_}, name + ".v")};
    if (mask.valid()) inputs.push_back(mask);
    const ValueId attention = builder_.add("Attention", inputs, attributes, name);
    finish(pattern, name, reshaped(attention, builder_.type(pattern.result).shape(), name + ".shape"),
           pattern.result, "heads apart");
    return "";
  }

  // [lead…, D, S] → [lead…, S, D], by undoing the transpose that made it where there is one.
  ValueId untransposed(ValueId value, const std::string& name) {
    const int64_t rank = builder_.type(value).rank();
    Ints perm;
    for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
    ValueId source = value;
    if (const auto before = produced_by(builder_, value, "Transpose");
        before && builder_.node(*before).attributes.has("perm")) {
      perm = builder_.node(*before).attributes.ints("perm");
      source = builder_.node(*before).inputs[0];
    }
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    if (std::is_sorted(perm.begin(), perm.end())) return source;
    return builder_.add("Transpose", {source}, {{"perm", perm}}, name + ".keys");
  }

  // --- shared ---

  ValueId reshaped(ValueId value, const Shape& shape, const std::string& name) {
    if (builder_.type(value).shape() == shape) return value;
    const ValueId target =
        builder_.constant(name + ".shape", Tensor::i64({static_cast<int64_t>(shape.size())}, shape));
    return builder_.add("Reshape", {value, target}, {}, name);
  }

  void finish(const AttentionPattern& pattern, const std::string& name, ValueId result, ValueId end,
              const char* how) {
    builder_.replace_all_uses(end, result);
    std::string what = fmt::format("{} operators recognised as Attention, {}", pattern.nodes.size(), how);
    outcome_.done.push_back({name, std::move(what)});
  }

  GraphBuilder builder_;
  const Target& target_;
  PassOutcome outcome_;
  std::map<std::tuple<uint32_t, int64_t, int64_t>, std::vector<ValueId>> splits_;
  int64_t batch_ = 1, heads_ = 1, queries_ = 1, keys_ = 1, value_dim_ = 1;  // of the attention at hand
};

}  // namespace

Result<PassOutcome> recognise_attention(const graph::Graph& graph, const PassContext& context) {
  if (!context.target.takes.attention) return PassOutcome{graph, {}, {}};
  return AttentionRecogniser(graph, context.target).run(graph);
}

}  // namespace hone::passes
