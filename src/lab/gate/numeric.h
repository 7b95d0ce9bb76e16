// The numerical check: do the outputs of a changed model still come out right? Compares tensors with a
// reference under limits that follow from the class of the change and the dtype. NaN never passes; nor does
// an infinity, unless the caller says that the model makes infinities on purpose.
//
// Where the default limits come from (u is the unit roundoff of the output's dtype):
// - exact: bitwise equal. There is nothing to forgive.
// - reassociating: a sum of k terms in another order differs by about sqrt(k)·u relative to its size, k·u at
//   worst (Higham and Mary, "A New Approach to Probabilistic Rounding Error Analysis", 2019). k is up to some 10^4
//   in real layers, and rounding errors of tens of layers add up as their root: below 10^3·u. f32 and f64 get
//   2048·u in relative L2 norm (1.2e-4, 2.3e-13). Narrow types accumulate in f32 and round once a layer:
//   16·u (f16 7.8e-3, bf16 6.2e-2). Quantised models round to steps of their range: u is taken as 2^-8 for 8
//   bits. What a model rounds to inside bounds its outputs, too, whatever type those have
//   (NumericRules::computed_in).
// - How much of that a narrow or quantised model needs depends on its depth, and it says so itself: the
//   unchanged model, run in its own types, differs from the reference by what its own rounding makes. A change
//   rounds elsewhere, by as much. So where that own error is known (NumericRules::own), four times it is the
//   limit, and the limit of the type is only the most that it can be: errors of two runs of one rounding
//   process differ by less than a factor of two, and four times is wrong arithmetic. Where the unchanged model
//   hits the reference by chance (few elements, none of them near the edge of a step), one step of the type
//   must still be forgiven: 2·u in the L2 norm; 8·u in one element, as the RMS is about a quarter of the range.
// - lossy: the user asked for another computation by its name, and the task's own metric judges it
//   (lossy.h). Each lossy pass brings its own limit; 5 % relative L2, where none is given, only catches what
//   is broken: int8 networks that keep their accuracy stay below it on their logits.
// - max_rel: the largest single error, relative to max(|reference|, RMS of the reference): eight times the L2
//   limit for normal errors would be exceeded once in 10^15 elements; sixteen leaves room for uneven ones. The
//   limits of narrow types have that room already, from the many layers that they allow for: four times.
// - integers and bools are counted, indexed with and branched on: exact in every class.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/numerics.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::lab {

struct NumericLimits {
  double rel_l2 = 0;   // largest ‖out − ref‖ / ‖ref‖
  double max_rel = 0;  // largest |out − ref| / max(|ref|, RMS of ref)
  bool bitwise = false;
  bool matching_infinities_pass = false;  // an infinity where the reference has the same one
};
// By how much one output of the unchanged model, run in its own types, differs from the reference.
struct OwnError {
  double rel_l2 = 0;
  double max_rel = 0;
};

// What outputs are judged by.
struct NumericRules {
  Numerics numerics = Numerics::kReassociating;
  // The coarsest element type that the computation rounds to on the way (coarsest_arithmetic()): outputs
  // agree to no more than that, whatever type they have themselves.
  DType computed_in = DType::kF32;
  double lossy_rel_l2 = 0.05;  // of a lossy change: the pass' own limit
  bool matching_infinities_pass = false;
  std::vector<OwnError> own;  // one an output; empty: not known
};

// For output number `index`, of `dtype`.
NumericLimits limits_for(const NumericRules& rules, DType dtype, std::size_t index = 0);
NumericLimits default_limits(Numerics numerics, DType dtype);

// The type among floats and quantised integers that `graph` computes in, in bodies and groups too, and that
// rounds most coarsely. f32 where nothing computes with floats.
DType coarsest_arithmetic(const graph::Graph& graph);
// Of two such types the one that rounds more coarsely.
DType coarser(DType a, DType b);

struct OutputReport {
  std::string name;
  DType dtype = DType::kUndefined;
  int64_t elements = 0;
  int64_t different = 0;   // elements that are not bitwise (for another dtype: exactly) equal
  int64_t not_finite = 0;  // NaN or infinite elements in output or reference, matching infinities included
  double max_abs_err =
      0;  // these three over the finite elements; the next two infinite where others forbid to pass
  double rel_l2 = 0;
  double max_rel_err = 0;
  int64_t worst_element = -1;  // flat index of the largest relative error
  NumericLimits limits;
  bool passed = false;
  std::string detail;  // in words: why it failed, or how close it is
};

struct NumericReport {
  Numerics numerics = Numerics::kExact;
  std::vector<OutputReport> outputs;
  bool passed = false;
  double max_rel_err = 0;  // of all outputs
  double rel_l2 = 0;       // largest of all outputs
  std::string detail;      // of the first output that failed; else of the one with the largest rel_l2
};

struct ComparedOutput {
  std::string name;
  Tensor output;
  Tensor reference;  // same shape; same dtype, or a wider one where the output is floating point
};

OutputReport compare_output(const ComparedOutput& compared, const NumericLimits& limits);
// What the unchanged model's outputs say of its own rounding, for NumericRules::own.
std::vector<OwnError> own_errors(const NumericReport& unchanged);
// No outputs: not passed.
NumericReport compare_outputs(std::span<const ComparedOutput> outputs, const NumericRules& rules);
// All outputs under the default limits of `numerics`.
NumericReport compare_outputs(std::span<const ComparedOutput> outputs, Numerics numerics,
                              bool matching_infinities_pass = false);

}  // namespace hone::lab
