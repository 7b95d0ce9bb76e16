// Whether a graph can be run on longer inputs than there are data for, and its outputs cut: where no operator lets what
// lies beyond the data reach what is kept. Shown for a pair of extents, operator by operator, never guessed.
//
// The graph is given twice, specialised for the data's extents and for the padded ones, and simplified in the same way:
// what exporters compute from shapes are constants then, and can be compared. The walk keeps one promise of each value:
// at every place within the data's extents the padded run has what the run without padding has there (the box), or the
// value is the same in both. An operator that keeps the promise says which axes of its result are longer; one that mixes
// along a padded axis (a sum over it, a softmax along it, a convolution across it), or that nobody has a rule for
// (padding_rules.cpp), ends the walk with an error that names it. The promise is of the operators' definitions: kernels for
// other extents may add in another order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::graph {

// What an axis is made of, outermost first: [batch · heads] is {4 of 8 padded} {12 of 12}. Neighbours without padding are
// one part, and none is 1 of 1.
struct AxisPart {
  int64_t kept = 1, padded = 1;
  bool longer() const { return kept != padded; }
  friend bool operator==(const AxisPart&, const AxisPart&) = default;
};
using AxisParts = std::vector<AxisPart>;

struct PaddedAxes {
  std::vector<AxisParts> axes;
  bool any_longer() const;
};

// What stands at the places that are longer.
enum class Beyond : uint8_t {
  kAnything,  // and nothing is promised of it
  // Places of the data over again, in any order. Then each place of a longer axis has, in every value, what the run without
  // padding has at the place whose data stand there: rows of a batch do not know where they stand, nor which others there
  // are. More is refused than for kAnything: rows that are causal, constants with another row at each place.
  kRowsOfTheData,
};

// The axes of each output of `padded`. An error names the node that stops the walk, and why, without an end.
Result<std::vector<PaddedAxes>> follow_padding(const Graph& kept, const Graph& padded,
                                               Beyond beyond = Beyond::kAnything);

// The axes of a tensor of the data's extents that is longer where `padded` is. Shapes are of one rank.
PaddedAxes axes_between(const Shape& kept, const Shape& padded);

// `tensor` with its last places along each axis repeated up to `shape`: data that an operator can work on. Each extent
// is at least 1 and at most that of `shape`; not of strings.
Result<Tensor> pad_by_repeating(const Tensor& tensor, const Shape& shape);
// What is kept of an output of the padded graph, which has these axes.
Result<Tensor> cut_padding(const Tensor& output, const PaddedAxes& axes);
// A tensor of the data's extents with its rows over again: place i of a longer axis has what place rows[i] has. An error
// where a part that is longer is not of as many places as there are `rows`, or a row is none of the tensor's.
Result<Tensor> spread_rows(const Tensor& tensor, const PaddedAxes& axes, std::span<const int64_t> rows);

}  // namespace hone::graph
