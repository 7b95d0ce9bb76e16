// The rules of padding.h: what each operator does with axes that are longer.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/padding.h"

namespace hone::graph::padding {

// What the walk knows of a value.
struct Followed {
  // Absent for one that is not the same in both runs nor keeps the promise: a constant computed from extents.
  std::optional<PaddedAxes> axes;
};

// What a rule sees of a node.
struct RuleContext {
  const Graph& kept;
  const Graph& padded;
  const Node& in_kept;
  const Node& in_padded;
  std::vector<const Followed*> inputs;  // null where absent
  Beyond beyond = Beyond::kAnything;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const PaddedAxes& axes(std::size_t i) const { return *inputs[i]->axes; }  // of one that has them
  bool known(std::size_t i) const { return has(i) && inputs[i]->axes.has_value(); }
  bool same(std::size_t i) const { return !has(i) || (known(i) && !axes(i).any_longer()); }
  int64_t rank(std::size_t i) const { return static_cast<int64_t>(axes(i).axes.size()); }
  bool longer(std::size_t i, int64_t axis) const;  // negative axes count from the end
  Shape kept_shape(std::size_t output = 0) const;
  Shape padded_shape(std::size_t output = 0) const;
  // The numbers of a constant input, where they are the same in both runs.
  std::optional<std::vector<int64_t>> numbers(std::size_t input) const;
};

// The axes of each output; an error says why the promise ends, as "works along a padded axis". What the operators do is
// this table; one without a row keeps the promise only where no input is longer.
Result<std::vector<PaddedAxes>> apply_rule(const RuleContext& context);

AxisParts fixed_axis(int64_t extent);
// Parts of one axis in their one form.
AxisParts normalised(const AxisParts& parts);
// The parts of all axes dealt out to axes of such extents; nullopt where they do not fall together.
std::optional<PaddedAxes> regrouped(const PaddedAxes& from, const Shape& kept, const Shape& padded);

}  // namespace hone::graph::padding
