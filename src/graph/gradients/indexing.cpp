// Gradients of gathers and scatters: each the other, backwards.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "graph/gradients/scattered.h"

namespace hone::graph {
namespace {

// `count` axes of `value` from `first` on come before the others.
ValueId brought_forward(GradientContext& c, ValueId value, int64_t first, int64_t count) {
  if (first == 0) return value;
  Ints perm(static_cast<std::size_t>(c.rank_of(value)));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + first, perm.begin() + first + count);
  return c.add("Transpose", {value}, {{"perm", perm}});
}

// The first axis goes to place `axis`.
ValueId brought_back(GradientContext& c, ValueId value, int64_t axis) {
  if (axis == 0) return value;
  Ints perm(static_cast<std::size_t>(c.rank_of(value)));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + axis + 1);
  return c.add("Transpose", {value}, {{"perm", perm}});
}

// `zeros` has the scattered axis first.
ValueId scattered(GradientContext& c, ValueId zeros, ValueId rows, int64_t axis, ValueId indices,
                  int64_t index_rank) {
  const ValueId first = brought_forward(c, rows, axis, index_rank);
  const ValueId places = c.cast(c.add("Unsqueeze", {indices, c.ints({-1})}), DType::kI64);
  return brought_back(c, c.add("ScatterND", {zeros, places, first}, {{"reduction", "add"}}), axis);
}

// Rows go back to where they came from; a row that was read twice gets the sum.
Status gather_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  const TensorType& indices = c.type(c.input(1));
  if (!c.type(x).has_rank() || !indices.has_rank() || !c.type(c.gradient()).has_rank())
    return unsupported("unsupported: the gradient of Gather of tensors whose rank is not known");
  const int64_t given = c.attributes().integer("axis", 0);
  const int64_t axis = given < 0 ? given + c.type(x).rank() : given;
  c.set(0, scattered_into(c, c.gradient(), axis, c.input(1), indices.rank(), x));
  return {};
}

Attributes along_axis(const GradientContext& c, int64_t otherwise = 0) {
  return {{"axis", c.attributes().integer("axis", otherwise)}};
}

Attributes adding(Attributes attributes = {}) {
  attributes.set("reduction", "add");
  return attributes;
}

Status gather_elements_rule(GradientContext& c) {
  c.set(0, c.add("ScatterElements", {c.zeros_like(c.input(0)), c.input(1), c.gradient()},
                 adding(along_axis(c))));
  return {};
}

// Index tuples with the numbers of their batches in front: [b…, q…, batch + k] of [b…, q…, k].
ValueId with_batch_numbers(GradientContext& c, ValueId indices, int64_t batch) {
  const int64_t rank = c.rank_of(indices);
  const ValueId shape = c.shape_of(indices);
  const ValueId ones = c.ints(Ints(1, 1));
  std::vector<ValueId> columns;
  const ValueId tuples = c.add("Concat", {c.add("Slice", {shape, c.ints({0}), c.ints({rank - 1})}), ones},
                               {{"axis", int64_t{0}}});
  for (int64_t axis = 0; axis < batch; ++axis) {
    const ValueId extent = c.add("Gather", {shape, c.integer(axis)});
    const ValueId numbers = c.add("Range", {c.integer(0), extent, c.integer(1)});
    Ints others;
    for (int64_t i = 0; i < rank; ++i)
      if (i != axis) others.push_back(i);
    columns.push_back(c.add("Expand", {c.add("Unsqueeze", {numbers, c.ints(others)}), tuples}));
  }
  columns.push_back(indices);
  return c.add("Concat", std::move(columns), {{"axis", int64_t{-1}}});
}

Status gather_nd_rule(GradientContext& c) {
  const int64_t batch = c.attributes().integer("batch_dims", 0);
  ValueId indices = c.input(1);
  if (batch > 0) {
    if (!c.type(indices).has_rank())
      return unsupported("unsupported: the gradient of GatherND by indices whose rank is not known");
    indices = with_batch_numbers(c, indices, batch);
  }
  c.set(0, c.add("ScatterND", {c.zeros_like(c.input(0)), indices, c.gradient()}, adding()));
  return {};
}

// How updates and their places meet: by elements along an axis, or by slices at index tuples.
struct Scattering {
  bool elements = false;
  Attributes axis;

  // `data` with `updates` at the node's indices, reduced; and what is there.
  ValueId into(GradientContext& c, ValueId data, ValueId updates, const char* reduction) const {
    Attributes attributes = axis;
    attributes.set("reduction", reduction);
    return c.add(elements ? "ScatterElements" : "ScatterND", {data, c.input(1), updates},
                 std::move(attributes));
  }
  ValueId from(GradientContext& c, ValueId data) const {
    return c.add(elements ? "GatherElements" : "GatherND", {data, c.input(1)}, axis);
  }
};

// What became the largest or smallest of its place takes the gradient; equals share it.
Status scattered_extremum(GradientContext& c, const Scattering& s) {
  const ValueId x = c.input(0), updates = c.input(2), y = c.output(0);
  const auto taken = [&](ValueId value, ValueId result) {
    return c.cast(c.add("Equal", {value, result}), c.type(x).dtype);
  };
  const ValueId x_taken = taken(x, y), update_taken = taken(updates, s.from(c, y));
  const ValueId share = c.over(c.gradient(), s.into(c, x_taken, update_taken, "add"));
  if (c.wants(0)) c.set(0, c.times(share, x_taken));
  if (c.wants(2)) c.set(2, c.times(s.from(c, share), update_taken));
  return {};
}

// The product of the others at its place: of all that are not zero, over the element; nothing beside another zero.
Status scattered_product(GradientContext& c, const Scattering& s) {
  const ValueId x = c.input(0), updates = c.input(2);
  const DType dtype = c.type(x).dtype;
  const ValueId zero = c.scalar(0, x), one = c.scalar(1, x);
  const auto is_zero = [&](ValueId value) { return c.add("Equal", {value, zero}); };
  const auto others = [&](ValueId value) { return c.choose(is_zero(value), one, value); };
  const auto zeros_of = [&](ValueId value) { return c.cast(is_zero(value), dtype); };
  const ValueId product = c.times(c.gradient(), s.into(c, others(x), others(updates), "mul"));
  const ValueId zeros = s.into(c, zeros_of(x), zeros_of(updates), "add");
  const auto flowing = [&](ValueId value, ValueId product_there, ValueId zeros_there) {
    const ValueId alone = c.add("Equal", {c.minus(zeros_there, zeros_of(value)), zero});
    return c.choose(alone, c.over(product_there, others(value)), zero);
  };
  if (c.wants(0)) c.set(0, flowing(x, product, zeros));
  if (c.wants(2)) c.set(2, flowing(updates, s.from(c, product), s.from(c, zeros)));
  return {};
}

// What was written over gets nothing, what was added to everything; updates get what is where they went. Which of
// several updates of one place stays is not defined without a reduction, and each of them gets its gradient.
template <bool elements>
Status scatter_rule(GradientContext& c) {
  const std::string reduction = c.attributes().text("reduction", "none");
  const ValueId g = c.gradient(), indices = c.input(1);
  const Attributes axis = elements ? along_axis(c) : Attributes{};
  if (reduction == "mul") return scattered_product(c, Scattering{elements, axis});
  if (reduction != "none" && reduction != "add") return scattered_extremum(c, Scattering{elements, axis});
  if (c.wants(0))
    c.set(0, reduction == "add" ? g : c.add(c.node().op, {g, indices, c.zeros_like(c.input(2))}, axis));
  if (c.wants(2)) c.set(2, c.add(elements ? "GatherElements" : "GatherND", {g, indices}, axis));
  return {};
}

// Slices go back to where they were; of all elements in a row without an axis.
Status compress_rule(GradientContext& c) {
  const ValueId x = c.input(0);
  if (!c.type(x).has_rank())
    return unsupported("unsupported: the gradient of Compress of a tensor whose rank is not known");
  const ValueId kept = c.add("Reshape", {c.add("NonZero", {c.input(1)}), c.ints({-1})});
  if (c.attributes().has("axis")) {
    HONE_ASSIGN(const int64_t axis, normalize_axis(c.attributes().integer("axis", 0), c.type(x).rank()));
    c.set(0, scattered_into(c, c.gradient(), axis, kept, 1, x));
    return {};
  }
  const ValueId row = c.add("Reshape", {x, c.ints({-1})});
  c.set(0, c.reshaped_to(scattered_into(c, c.gradient(), 0, kept, 1, row), x));
  return {};
}

// off + (on - off) · h: values are [off, on].
Status one_hot_rule(GradientContext& c) {
  if (!c.wants(2)) return {};
  const DType dtype = c.type(c.input(2)).dtype;
  const ValueId unit = c.cast(c.ints({0, 1}), dtype);
  const ValueId hot = c.add("OneHot", {c.input(0), c.input(1), unit}, c.attributes());
  const auto total = [&](ValueId value) {
    return c.add("Unsqueeze", {c.add("ReduceSum", {value}, {{"keepdims", int64_t{0}}}), c.ints({0})});
  };
  const ValueId on = total(c.times(c.gradient(), hot));
  c.set(2, c.add("Concat", {c.minus(total(c.gradient()), on), on}, {{"axis", int64_t{0}}}));
  return {};
}

}  // namespace

ValueId scattered_along(GradientContext& c, ValueId rows, int64_t axis, ValueId indices, int64_t index_rank,
                        int64_t extent) {
  const TensorType& type = c.type(rows);
  Ints shape{extent};  // the scattered axis, then the others
  for (int64_t i = 0; type.has_rank() && i < type.rank(); ++i) {
    if (i >= axis && i < axis + index_rank) continue;
    const Dim& dim = (*type.dims)[static_cast<std::size_t>(i)];
    shape.push_back(dim.known() ? dim.extent() : -1);
  }
  ValueId wanted = c.ints(shape);
  if (std::find(shape.begin(), shape.end(), -1) != shape.end()) {
    Ints others;
    for (int64_t i = 0; i < type.rank(); ++i)
      if (i < axis || i >= axis + index_rank) others.push_back(i);
    wanted = c.add("Concat", {c.ints({extent}), c.add("Gather", {c.shape_of(rows), c.ints(others)})},
                   {{"axis", int64_t{0}}});
  }
  return scattered(c, c.add("Expand", {c.scalar(0, rows), wanted}), rows, axis, indices, index_rank);
}

ValueId scattered_into(GradientContext& c, ValueId rows, int64_t axis, ValueId indices, int64_t index_rank,
                       ValueId like) {
  return scattered(c, brought_forward(c, c.zeros_like(like), axis, 1), rows, axis, indices, index_rank);
}

void add_indexing_gradients(OpTable& table) {
  table.set_gradient("Gather", gather_rule);
  table.set_gradient("GatherElements", gather_elements_rule);
  table.set_gradient("GatherND", gather_nd_rule);
  table.set_gradient("ScatterElements", scatter_rule<true>);
  table.set_gradient("ScatterND", scatter_rule<false>);
  table.set_gradient("Compress", compress_rule);
  table.set_gradient("OneHot", one_hot_rule);
}

}  // namespace hone::graph
