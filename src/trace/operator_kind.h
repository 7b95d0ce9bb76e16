// Which operator of a framework a row of the operator table is, as far as analysis tells operators apart:
// recognised once by its name when the row is added (Trace::add_operator), from one table of names
// (operator_kind.cpp). What kind of work it does is another matter: operator_class.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "trace/name_patterns.h"

namespace hone::trace {

enum class OperatorKind : uint8_t {
  kOther,
  // element by element, in a new tensor or in place (Operator::in_place)
  kAdd,
  kSub,
  kMul,
  kDiv,
  kAddcmul,
  kAddcdiv,
  kComparison,  // asks something of each element: eq, lt, isnan, …
  kLogical,     // joins or inverts answers
  kAbs,
  // products
  kMm,
  kAddmm,
  kBmm,
  kBaddbmm,
  kMv,
  kAddmv,
  kConvolution,  // that says by an argument whether it is transposed
  kConvolutionBackward,
  kTransposedConvolution,
  kAttention,  // in one operator
  kSoftmax,
  kEmbedding,
  // moving data
  kCopy,  // of one tensor onto another, converting types and orders
  kOtherCopy,
  kCat,
  kFill,  // with one value
  kClone,
  kRepeat,
  kScatter,
  kIndexPut,
  // to an answer for the host
  kAllOrAny,
  kReadValue,  // item, equal, …: the host waits for a value
  kReadSize,   // nonzero, masked_select, unique: the host waits for the size of the result
  // over lists of tensors
  kUpdate,     // of parameters, in one fused call
  kLists,      // _foreach_…
  kFused,      // of several tensors or operators, neither of the two
  kListCopy,   // _foreach_copy_
  kGenerated,  // by a compiler that fuses: what it computes is in its name
};
inline constexpr int kOperatorKindCount = static_cast<int>(OperatorKind::kGenerated) + 1;

std::string_view operator_kind_name(OperatorKind kind);  // "product of matrices"; "other"

// By the framework's full name: "aten::add_" and "aten::add" are both kAdd.
OperatorKind operator_kind(std::string_view name);
// The table, for tests.
std::span<const NamePattern<OperatorKind>> operator_kind_table();

// Whether the operator writes to its first argument by its name: "aten::add_".
bool is_in_place(std::string_view name);

// The name without the framework's namespace: "aten::addmm" → "addmm".
std::string_view operator_word(std::string_view name);

}  // namespace hone::trace
