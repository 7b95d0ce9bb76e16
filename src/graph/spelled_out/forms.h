// The form of each operator that can be spelled out (spelled_out.h has the table), and what forms are written with. Extents are
// known, unless a form says what it takes less.
//
// Half types: what forms compute they compute in f32, as kernels of one operator would, and round once.
#pragma once

#include <vector>

#include "core/result.h"
#include "graph/emitter.h"
#include "graph/graph.h"

namespace hone::graph {

using SpelledForm = Result<std::vector<ValueId>> (*)(NodeEmitter& emitter, const Node& node,
                                                     const std::vector<ValueId>& inputs);
using SpelledResult = Result<std::vector<ValueId>>;
using SpelledInputs = const std::vector<ValueId>&;

// gradients/attention.cpp, gradients/normalization.cpp: of tensors whose rank is known.
SpelledResult attention_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult attention_gradient_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult normalization_gradient_spelled_out(NodeEmitter&, const Node&, SpelledInputs);

// sequence.cpp
SpelledResult rotary_embedding_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult causal_conv_spelled_out(NodeEmitter&, const Node&, SpelledInputs);

// linear_attention.cpp
SpelledResult linear_attention_spelled_out(NodeEmitter&, const Node&, SpelledInputs);

// norms.cpp: their gradients go through these, too.
SpelledResult lrn_spelled_out(NodeEmitter&, const Node&, SpelledInputs);  // channels alone must be known
SpelledResult norm_of_planes_spelled_out(NodeEmitter&, const Node&, SpelledInputs);  // of known rank
SpelledResult norm_of_windows_spelled_out(NodeEmitter&, const Node&,
                                          SpelledInputs);  // any, but with ceil_mode
// And these have rules of their own.
SpelledResult lp_normalization_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult mean_variance_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult hardmax_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult det_spelled_out(NodeEmitter&, const Node&, SpelledInputs);

// images.cpp
SpelledResult affine_grid_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult center_crop_pad_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult col2im_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult max_unpool_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult deform_conv_spelled_out(NodeEmitter&, const Node&, SpelledInputs);

// fourier.cpp
SpelledResult dft_spelled_out(NodeEmitter&, const Node&, SpelledInputs);
SpelledResult stft_spelled_out(NodeEmitter&, const Node&, SpelledInputs);

namespace spelling {

// The type that tensors of `dtype` are computed in.
constexpr DType wide(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}
inline ValueId widened(NodeEmitter& e, ValueId value) { return e.cast(value, wide(e.type(value).dtype)); }

// The extent, or -1 where it is open, as reshaped() takes one of them. The rank must be known.
int64_t extent_or_open(const TensorType& type, std::size_t axis);
// Whether nothing that is known of a type contradicts these extents, -1 being any.
bool may_have(const TensorType& type, const Shape& extents);

ValueId reshaped(NodeEmitter& e, ValueId value, const Shape& shape);  // -1: what is left
ValueId transposed(NodeEmitter& e, ValueId value, const Ints& perm);
// Elements [begin, end) of an axis that counts from 0.
ValueId sliced(NodeEmitter& e, ValueId value, int64_t axis, int64_t begin, int64_t end);
// Slices of extent 1, as many as the axis has.
std::vector<ValueId> slices(NodeEmitter& e, ValueId value, int64_t axis);
ValueId joined(NodeEmitter& e, std::vector<ValueId> parts, int64_t axis);  // one part: itself
// A constant of f32 or f64, whichever `dtype` is computed in.
ValueId numbers(NodeEmitter& e, DType dtype, Shape shape, const std::vector<double>& values);
// Elements of an integer input that is a constant; an error that names it `what` otherwise.
Result<Ints> known_ints(const NodeEmitter& e, SpelledInputs inputs, std::size_t i, std::string_view what);
// The same of one element.
Result<int64_t> known_int(const NodeEmitter& e, SpelledInputs inputs, std::size_t i, std::string_view what);
// The next position in row-major order; false behind the last one, where it is the first again.
bool next_place(Ints& place, const Shape& extents);

inline bool given(SpelledInputs inputs, std::size_t i) { return i < inputs.size() && inputs[i].valid(); }

}  // namespace spelling
}  // namespace hone::graph
