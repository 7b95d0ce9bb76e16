// The gradient of Einsum, by way of the matrix products that it is: two operands at a time.
#include "core/einsum.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

struct Term {
  ValueId value;
  EinsumLabels labels;  // one an axis, each once
};

bool has_label(const EinsumLabels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Of `labels`, those for which `wanted` holds.
template <typename F>
EinsumLabels picked(const EinsumLabels& labels, F wanted) {
  EinsumLabels found;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(found), wanted);
  return found;
}

EinsumLabels together(EinsumLabels labels, const EinsumLabels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

class Contraction {
 public:
  Contraction(GradientContext& c, std::vector<Term> terms) : c_(c), terms_(std::move(terms)) {
    for (const Term& term : terms_)
      for (std::size_t axis = 0; axis < term.labels.size(); ++axis) note_extent(term, axis);
    for (Term& term : terms_) drop_broadcast(term);
  }

  ValueId run(const EinsumLabels& output) {
    Term sum = terms_[0];
    for (std::size_t i = 1; i < terms_.size(); ++i) {
      EinsumLabels kept = output;  // labels that are read after this product
      for (std::size_t later = i + 1; later < terms_.size(); ++later)
        kept = together(std::move(kept), terms_[later].labels);
      sum = product(std::move(sum), terms_[i], kept);
    }
    sum = summed_but(std::move(sum), output);
    return in_order(std::move(sum), output).value;
  }

 private:
  struct Extent {
    Dim dim;
    ValueId of;  // an operand that has it
    int64_t axis = 0;
  };

  // An extent of 1 broadcasts: the label has that of the others.
  void note_extent(const Term& term, std::size_t axis) {
    const Dim& dim = (*c_.type(term.value).dims)[axis];
    const auto [at, fresh] = extents_.try_emplace(term.labels[axis]);
    const bool one = at->second.dim.known() && at->second.dim.extent() == 1;
    if (fresh || one) at->second = {dim, term.value, static_cast<int64_t>(axis)};
  }

  void drop_broadcast(Term& term) {
    Ints axes;
    EinsumLabels labels;
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis) {
      const Dim& own = (*c_.type(term.value).dims)[axis];
      const Dim& all = extents_.at(term.labels[axis]).dim;
      const bool broadcast = own.known() && own.extent() == 1 && !(all.known() && all.extent() == 1);
      if (broadcast) {
        axes.push_back(static_cast<int64_t>(axis));
      } else {
        labels.push_back(term.labels[axis]);
      }
    }
    if (axes.empty()) return;
    term = {c_.add("Squeeze", {term.value, c_.ints(axes)}), std::move(labels)};
  }

  Term summed_but(Term term, const EinsumLabels& kept) {
    Ints axes;
    for (std::size_t axis = 0; axis < term.labels.size(); ++axis)
      if (!has_label(kept, term.labels[axis])) axes.push_back(static_cast<int64_t>(axis));
    if (axes.empty()) return term;
    const ValueId sum = c_.add("ReduceSum", {term.value, c_.ints(axes)}, {{"keepdims", int64_t{0}}});
    return {sum, picked(term.labels, [&](int label) { return has_label(kept, label); })};
  }

  Term in_order(Term term, const EinsumLabels& order) {
    Ints perm;
    for (const int label : order)
      perm.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
    if (std::is_sorted(perm.begin(), perm.end())) return term;
    return {c_.add("Transpose", {term.value}, {{"perm", perm}}), order};
  }

  // The extent of several axes as one, i64[1].
  ValueId extent_of(const EinsumLabels& labels) {
    ValueId extent = c_.ints({1});
    for (const int label : labels) {
      const Extent& found = extents_.at(label);
      Attributes range{{"start", found.axis}, {"end", found.axis + 1}};
      const ValueId own =
          found.dim.known() ? c_.ints({found.dim.extent()}) : c_.add("Shape", {found.of}, std::move(range));
      extent = labels.size() == 1 ? own : c_.times(extent, own);
    }
    return extent;
  }

  // Axes joined or taken apart: one for each group of labels.
  ValueId shaped(ValueId value, const std::vector<EinsumLabels>& groups) {
    Ints known;
    std::vector<ValueId> parts;
    for (const EinsumLabels& group : groups) {
      int64_t extent = 1;
      bool certain = true;
      for (const int label : group) {
        const Dim& dim = extents_.at(label).dim;
        certain = certain && dim.known();
        if (dim.known()) extent *= dim.extent();
      }
      if (certain) known.push_back(extent);
    }
    if (known.size() == groups.size())
      return c_.add("Reshape", {value, c_.ints(known)}, {{"allowzero", int64_t{1}}});
    TensorType type = c_.type(value);
    type.dims = Dims{};
    for (const EinsumLabels& group : groups) {
      parts.push_back(extent_of(group));
      type.dims->push_back(group.size() == 1 ? extents_.at(group[0]).dim : Dim());
    }
    const ValueId shape = c_.add("Concat", std::move(parts), {{"axis", int64_t{0}}});
    const ValueId result = c_.add("Reshape", {value, shape}, {{"allowzero", int64_t{1}}});
    c_.refine_type(result, type);
    return result;
  }

  // What both have and `kept` needs are stacks of matrices, what both have and nobody needs is summed over.
  Term product(Term a, Term b, const EinsumLabels& kept) {
    a = summed_but(std::move(a), together(kept, b.labels));
    b = summed_but(std::move(b), together(kept, a.labels));
    const auto shared = [&](int label) { return has_label(b.labels, label); };
    const EinsumLabels both = picked(a.labels, shared);
    const EinsumLabels stacks = picked(both, [&](int label) { return has_label(kept, label); });
    const EinsumLabels inner = picked(both, [&](int label) { return !has_label(kept, label); });
    const EinsumLabels rows = picked(a.labels, [&](int label) { return !shared(label); });
    const EinsumLabels columns = picked(b.labels, [&](int label) { return !has_label(a.labels, label); });
    std::vector<EinsumLabels> left, right, result;
    for (const int label : stacks) left.push_back({label});
    right = result = left;
    left.insert(left.end(), {rows, inner});
    right.insert(right.end(), {inner, columns});
    const EinsumLabels made = together(together(stacks, rows), columns);
    for (const int label : together(rows, columns)) result.push_back({label});
    const ValueId x = shaped(in_order(std::move(a), together(together(stacks, rows), inner)).value, left);
    const ValueId y = shaped(in_order(std::move(b), together(together(stacks, inner), columns)).value, right);
    return {shaped(c_.add("MatMul", {x, y}), result), made};
  }

  GradientContext& c_;
  std::vector<Term> terms_;
  std::map<int, Extent> extents_;
};

Result<std::vector<ValueId>> einsum_by_products(GradientContext& c, const std::vector<ValueId>& inputs) {
  std::vector<int64_t> ranks;
  for (const ValueId input : inputs) ranks.push_back(c.rank_of(input));
  HONE_ASSIGN(const Einsum einsum, parse_einsum(c.attributes().text("equation", ""), ranks));
  std::vector<Term> terms;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EinsumLabels sorted = einsum.operands[i];
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      return unsupported("unsupported: the gradient of Einsum over a diagonal");
    terms.push_back({inputs[i], einsum.operands[i]});
  }
  return std::vector<ValueId>{Contraction(c, std::move(terms)).run(einsum.output)};
}

Status einsum_rule(GradientContext& c) {
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (!c.type(c.input(i)).has_rank())
      return unsupported("unsupported: the gradient of Einsum of tensors whose rank is not known");
  return c.set_through(einsum_by_products);
}

}  // namespace

void add_einsum_gradients(OpTable& table) { table.set_gradient("Einsum", einsum_rule); }

}  // namespace hone::graph
