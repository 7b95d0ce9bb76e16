// What the operator families share: arithmetic on extents, axes, checks of inputs, whole inference rules that
// many operators have, and cost functions. No operator's own rule lives here.
#pragma once

#include <string_view>

#include "core/result.h"
#include "graph/op_table.h"

namespace hone::graph::infer {

// --- extents: numbers where both are known; a symbol where the other side changes nothing; else unknown ---
Dim sum(const Dim& a, const Dim& b);
Dim product(const Dim& a, const Dim& b);
Dim product(const Dims& dims, std::size_t first, std::size_t last);  // of [first, last); 1 where empty
Dim quotient(const Dim& a, int64_t divisor);                         // unknown where it does not divide

// `count` extents that are not known.
Dims unknown_dims(int64_t count);
// The extents that an integer input (a shape) gives: numbers where it is a constant, else as many unknown
// ones as it has elements; nullopt where not even that is known.
std::optional<Dims> dims_input(const InferContext& context, std::size_t input);

// --- axes and attributes ---
// The attribute made non-negative for `rank`.
Result<int64_t> axis(const InferContext& context, std::string_view attribute, int64_t otherwise,
                     int64_t rank);
// `axes` made non-negative, sorted; an error for one out of range or named twice.
Result<Ints> normalized_axes(Ints axes, int64_t rank);
// An attribute that holds ONNX's number of an element type.
Result<DType> dtype_attribute(const InferContext& context, std::string_view attribute, DType otherwise);

// --- checks; what is not known (undefined dtype, no rank) passes ---
bool is_numeric(DType dtype);         // integers and floats of 8 bits and more, no bool
bool is_byte(DType dtype);            // i8, u8
bool is_general_float(DType dtype);   // f16, bf16, f32, f64
bool is_signed_numeric(DType dtype);  // signed integers and general floats
Status expect_dtype(const InferContext& context, std::size_t input, bool (*allowed)(DType),
                    std::string_view what);  // what: "a floating-point type"
Status expect_same_dtype(const InferContext& context, std::size_t a, std::size_t b);
Status expect_rank(const InferContext& context, std::size_t input, int64_t rank);
// Of attribute "math" (graph/product_math.h): a word that is known, where there is one.
Status check_product_math(const InferContext& context);
Status expect_rank_at_least(const InferContext& context, std::size_t input, int64_t rank);

// --- whole rules ---
// Output 0 has the type of input 0, layout included. A rule as it stands.
Status same_as_first(InferContext& context);
// The same, for one class of element types.
Status same_as_first_float(InferContext& context);
Status same_as_first_numeric(InferContext& context);
// The broadcast of the inputs [first, last), with `dtype`. One layout: inputs must agree in it, but for plain
// ones that hold one number, or one a channel.
Result<TensorType> broadcast(const InferContext& context, std::size_t first, std::size_t last, DType dtype);
// All inputs of one dtype, output 0 their broadcast. Rules as they stand.
Status broadcast_all(InferContext& context);
Status broadcast_numeric(InferContext& context);
// The same with a bool output.
Status broadcast_to_bool(InferContext& context);
// Shape after reducing `axes` (normalized).
Dims reduced(const Dims& dims, const Ints& axes, bool keepdims);

// --- cost ---
double elements(const TensorType& type);  // 0 when not static
template <int flops>
double per_output(const CostContext& context) {
  return flops * elements(context.out(0));
}
template <int flops>
double per_input(const CostContext& context) {
  return flops * elements(context.in(0));
}
// What reads the shape of its input and not its elements: the output alone.
void written_bytes(const CostContext& context, Cost& cost);
// Views move nothing.
void no_bytes(const CostContext& context, Cost& cost);

}  // namespace hone::graph::infer
