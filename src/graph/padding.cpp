// The walk, and padding and cutting of data. What operators do: padding_rules.cpp.
#include "graph/padding.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "graph/op_table.h"
#include "graph/padding_rules.h"
#include "graph/text.h"

namespace hone::graph {

using padding::Followed;
using padding::RuleContext;

bool PaddedAxes::any_longer() const {
  return std::any_of(axes.begin(), axes.end(), [](const AxisParts& parts) {
    return std::any_of(parts.begin(), parts.end(), [](const AxisPart& part) { return part.longer(); });
  });
}

namespace {

constexpr std::size_t kMostRank = 16;  // of tensors that are padded or cut, parts counted

// Copies the box of `extents` elements from one dense tensor's start to another's. Shapes are of one rank.
void copy_box(const std::byte* from, const Shape& from_shape, std::byte* to, const Shape& to_shape,
              const Shape& extents, std::size_t element) {
  const std::size_t rank = extents.size();
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  Shape from_stride(rank, 1), to_stride(rank, 1), at(rank, 0);
  for (std::size_t i = rank; i-- > 1;) {
    from_stride[i - 1] = from_stride[i] * from_shape[i];
    to_stride[i - 1] = to_stride[i] * to_shape[i];
  }
  const int64_t run = rank == 0 ? 1 : extents.back();
  for (;;) {
    int64_t f = 0, t = 0;
    for (std::size_t i = 0; i < rank; ++i) {
      f += at[i] * from_stride[i];
      t += at[i] * to_stride[i];
    }
    std::memcpy(to + static_cast<std::size_t>(t) * element, from + static_cast<std::size_t>(f) * element,
                static_cast<std::size_t>(run) * element);
    std::size_t axis = rank == 0 ? 0 : rank - 1;
    while (axis > 0 && ++at[axis - 1] == extents[axis - 1]) at[--axis] = 0;
    if (axis == 0) return;
  }
}

// The elements of a tensor of such a shape as bytes of one row an element of `axis`.
int64_t product(std::span<const int64_t> extents) {
  int64_t all = 1;
  for (const int64_t extent : extents) all *= extent;
  return all;
}

Result<Tensor> repeated_along(const Tensor& tensor, std::size_t axis, int64_t extent) {
  Shape shape = tensor.shape();
  shape[axis] = extent;
  HONE_ASSIGN(Tensor longer, Tensor::try_make(tensor.dtype(), shape));
  const std::span<const int64_t> old = tensor.shape();
  const int64_t blocks = product(old.first(axis));
  const std::size_t row =
      static_cast<std::size_t>(product(old.subspan(axis + 1))) * dtype_size(tensor.dtype());
  const auto rows = static_cast<std::size_t>(old[axis]);
  const auto* from = static_cast<const std::byte*>(tensor.data());
  auto* to = static_cast<std::byte*>(longer.data());
  for (int64_t block = 0; block < blocks; ++block) {
    std::memcpy(to, from, rows * row);
    to += rows * row;
    for (auto i = static_cast<int64_t>(rows); i < extent; ++i, to += row)
      std::memcpy(to, from + (rows - 1) * row, row);
    from += rows * row;
  }
  return longer;
}

// Whether `whole` begins with `part`, along every axis.
bool begins_with(const Tensor& whole, const Tensor& part) {
  if (whole.dtype() == DType::kString || whole.rank() != part.rank()) return false;
  for (std::size_t i = 0; i < whole.shape().size(); ++i)
    if (part.shape()[i] > whole.shape()[i]) return false;
  Tensor box(part.dtype(), part.shape());
  copy_box(static_cast<const std::byte*>(whole.data()), whole.shape(), static_cast<std::byte*>(box.data()),
           box.shape(), box.shape(), dtype_size(part.dtype()));
  return same_tensor(box, part);
}

// Whether both are the same row over and over along each axis where they differ.
bool repeats_one_row(const Tensor& kept, const Tensor& padded) {
  Shape one = kept.shape();
  for (std::size_t i = 0; i < one.size(); ++i)
    if (one[i] != padded.shape()[i]) one[i] = 1;
  const auto row = cut_padding(kept, axes_between(one, kept.shape()));
  if (!row.ok()) return false;
  const auto repeats = [&](const Tensor& whole) {
    const auto repeated = pad_by_repeating(*row, whole.shape());
    return repeated.ok() && same_tensor(*repeated, whole);
  };
  return repeats(kept) && repeats(padded);
}

class Walk {
 public:
  Walk(const Graph& kept, const Graph& padded, Beyond beyond)
      : kept_(kept), padded_(padded), beyond_(beyond), of_(padded.values().size()) {}

  Result<std::vector<PaddedAxes>> run() {
    const Error differ = unsupported("the graph is another one for the padded extents");
    if (kept_.nodes().size() != padded_.nodes().size() || kept_.inputs().size() != padded_.inputs().size() ||
        kept_.outputs().size() != padded_.outputs().size())
      return differ;
    if (!padded_.states().empty()) return unsupported("the graph keeps states from run to run");
    for (std::size_t i = 0; i < padded_.inputs().size(); ++i) {
      const TensorType &k = kept_.type(kept_.inputs()[i]), &p = padded_.type(padded_.inputs()[i]);
      if (!comparable(k, p)) return differ;
      of_[padded_.inputs()[i].index] = {axes_between(k.shape(), p.shape())};
    }
    for (uint32_t i = 0; i < padded_.nodes().size(); ++i) {
      if (!same_node(i)) return differ;
      if (Status followed = follow(i); !followed.ok()) return followed.error();
    }
    std::vector<PaddedAxes> outputs;
    for (std::size_t i = 0; i < padded_.outputs().size(); ++i) {
      const Followed* output = followed(kept_.outputs()[i], padded_.outputs()[i]);
      if (output == nullptr || !output->axes)
        return unsupported(
            fmt::format("output '{}' depends on the extents", padded_.value(padded_.outputs()[i]).name));
      outputs.push_back(*output->axes);
    }
    return outputs;
  }

 private:
  static bool comparable(const TensorType& a, const TensorType& b) {
    return a.is_static() && b.is_static() && a.rank() == b.rank() && a.dtype == b.dtype &&
           a.kind == TypeKind::kTensor && b.kind == TypeKind::kTensor;
  }

  bool same_node(uint32_t index) const {
    const Node &a = kept_.nodes()[index], &b = padded_.nodes()[index];
    return a.op == b.op && a.attributes == b.attributes && a.inputs.size() == b.inputs.size() &&
           a.outputs.size() == b.outputs.size() && a.bodies.size() == b.bodies.size() &&
           std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(),
                      [](ValueId x, ValueId y) { return x.valid() == y.valid(); }) &&
           std::equal(a.bodies.begin(), a.bodies.end(), b.bodies.begin(),
                      [](const auto& x, const auto& y) { return same_graph(*x, *y); });
  }

  // Null where the two do not stand at the same place of their graphs. Constants are compared when first met.
  const Followed* followed(ValueId in_kept, ValueId in_padded) {
    const Value &k = kept_.value(in_kept), &p = padded_.value(in_padded);
    if (k.is_constant() != p.is_constant() || k.producer != p.producer || k.output_index != p.output_index)
      return nullptr;
    if (p.is_constant() && !comparable(k.type, p.type)) return nullptr;
    if (p.is_constant() && same_tensor(*k.constant, *p.constant)) {
      of_[in_padded.index] = {axes_between(k.type.shape(), p.type.shape())};
    } else if (p.is_constant()) {
      const bool keeps = k.type.shape() != p.type.shape() && begins_with(*p.constant, *k.constant) &&
                         (beyond_ == Beyond::kAnything || repeats_one_row(*k.constant, *p.constant));
      of_[in_padded.index] = keeps ? Followed{axes_between(k.type.shape(), p.type.shape())} : Followed{};
    } else if (!p.producer.valid()) {
      const auto place = [](const Graph& graph, ValueId id) {
        return std::find(graph.inputs().begin(), graph.inputs().end(), id) - graph.inputs().begin();
      };
      if (place(kept_, in_kept) != place(padded_, in_padded)) return nullptr;
    }
    return &of_[in_padded.index];
  }

  Status follow(uint32_t index) {
    const Node &a = kept_.nodes()[index], &b = padded_.nodes()[index];
    RuleContext context{kept_, padded_, a, b, {}, beyond_};
    for (std::size_t i = 0; i < b.inputs.size(); ++i) {
      if (a.inputs[i].valid() != b.inputs[i].valid())
        return stopped(b, "has another input for the padded extents");
      const Followed* input = b.inputs[i].valid() ? followed(a.inputs[i], b.inputs[i]) : nullptr;
      if (b.inputs[i].valid() && input == nullptr)
        return stopped(b, "has another input for the padded extents");
      context.inputs.push_back(input);
    }
    for (std::size_t i = 0; i < b.outputs.size(); ++i)
      if (b.outputs[i].valid() && !comparable(kept_.type(a.outputs[i]), padded_.type(b.outputs[i])))
        return stopped(b, "has a result whose shape is not known before it runs");
    const auto results = padding::apply_rule(context);
    if (!results.ok()) return stopped(b, results.error().message);
    for (std::size_t i = 0; i < b.outputs.size(); ++i) {
      if (!b.outputs[i].valid()) continue;
      if (!has_extents((*results)[i], kept_.type(a.outputs[i]).shape(), padded_.type(b.outputs[i]).shape()))
        return stopped(b, "has a result of other extents than its inputs say");
      of_[b.outputs[i].index] = {(*results)[i]};
    }
    return {};
  }

  // What rules say, against what was inferred.
  static bool has_extents(const PaddedAxes& axes, const Shape& kept, const Shape& padded) {
    if (axes.axes.size() != kept.size()) return false;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      int64_t k = 1, p = 1;
      for (const AxisPart& part : axes.axes[i]) k *= part.kept, p *= part.padded;
      if (k != kept[i] || p != padded[i]) return false;
    }
    return true;
  }

  static Error stopped(const Node& node, const std::string& why) {
    return unsupported(fmt::format("node '{}' ({}) {}", node.name, node.op, why));
  }

  const Graph& kept_;
  const Graph& padded_;
  const Beyond beyond_;
  std::vector<Followed> of_;  // of each value of padded_
};

}  // namespace

Result<std::vector<PaddedAxes>> follow_padding(const Graph& kept, const Graph& padded, Beyond beyond) {
  return Walk(kept, padded, beyond).run();
}

PaddedAxes axes_between(const Shape& kept, const Shape& padded) {
  PaddedAxes axes;
  for (std::size_t i = 0; i < kept.size(); ++i)
    axes.axes.push_back(padding::normalised({{kept[i], padded[i]}}));
  return axes;
}

Result<Tensor> pad_by_repeating(const Tensor& tensor, const Shape& shape) {
  if (tensor.dtype() == DType::kString || tensor.shape().size() != shape.size())
    return invalid(fmt::format("{}{} cannot be padded to {}", dtype_name(tensor.dtype()),
                               shape_text(tensor.shape()), shape_text(shape)));
  Tensor padded = tensor;
  // From the last axis: each element is then copied few times while the tensor is small.
  for (std::size_t i = shape.size(); i-- > 0;) {
    const int64_t extent = padded.shape()[i];
    if (extent == shape[i]) continue;
    if (extent < 1 || extent > shape[i])
      return invalid(
          fmt::format("shape {} cannot be padded to {}", shape_text(tensor.shape()), shape_text(shape)));
    HONE_ASSIGN(padded, repeated_along(padded, i, shape[i]));
  }
  return padded;
}

Result<Tensor> cut_padding(const Tensor& output, const PaddedAxes& axes) {
  if (!axes.any_longer()) return output;
  Shape from, box, result;
  for (const AxisParts& parts : axes.axes) {
    int64_t extent = 1;
    for (const AxisPart& part : parts) {
      from.push_back(part.padded);
      box.push_back(part.kept);
      extent *= part.kept;
    }
    result.push_back(extent);
  }
  if (output.dtype() == DType::kString || from.size() > kMostRank || product(from) != output.size())
    return invalid(fmt::format("{}{} cannot be cut", dtype_name(output.dtype()), shape_text(output.shape())));
  HONE_ASSIGN(Tensor cut, Tensor::try_make(output.dtype(), result));
  copy_box(static_cast<const std::byte*>(output.data()), from, static_cast<std::byte*>(cut.data()), box, box,
           dtype_size(output.dtype()));
  return cut;
}

Result<Tensor> spread_rows(const Tensor& tensor, const PaddedAxes& axes, std::span<const int64_t> rows) {
  Shape from, result, places;
  std::vector<bool> by_rows;
  for (const AxisParts& parts : axes.axes) {
    int64_t extent = 1;
    for (const AxisPart& part : parts) {
      from.push_back(part.kept);
      places.push_back(part.padded);
      by_rows.push_back(part.longer());
      extent *= part.padded;
      const bool fits =
          part.padded == static_cast<int64_t>(rows.size()) &&
          std::all_of(rows.begin(), rows.end(), [&](int64_t row) { return row >= 0 && row < part.kept; });
      if (part.longer() && !fits) return invalid("an axis is not of the rows that are spread");
    }
    result.push_back(extent);
  }
  if (tensor.dtype() == DType::kString || from.size() > kMostRank || product(from) != tensor.size())
    return invalid(
        fmt::format("rows of {}{} cannot be spread", dtype_name(tensor.dtype()), shape_text(tensor.shape())));
  HONE_ASSIGN(Tensor spread, Tensor::try_make(tensor.dtype(), result));
  // What lies behind the last axis of rows is moved at once.
  std::size_t outer = by_rows.size();
  while (outer > 0 && !by_rows[outer - 1]) --outer;
  const std::size_t run =
      static_cast<std::size_t>(product(std::span(from).subspan(outer))) * dtype_size(tensor.dtype());
  const auto* data = static_cast<const std::byte*>(tensor.data());
  auto* to = static_cast<std::byte*>(spread.data());
  const int64_t runs = product(std::span(places).first(outer));
  for (int64_t i = 0; i < runs; ++i, to += run) {
    int64_t rest = i, source = 0, stride = 1;
    for (std::size_t part = outer; part-- > 0; rest /= places[part], stride *= from[part]) {
      const int64_t place = rest % places[part];
      source += stride * (by_rows[part] ? rows[static_cast<std::size_t>(place)] : place);
    }
    std::memcpy(to, data + static_cast<std::size_t>(source) * run, run);
  }
  return spread;
}

}  // namespace hone::graph
