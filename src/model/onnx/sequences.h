// ONNX's sequences of tensors, which the graph does not know. A sequence whose length and positions are known
// when the file is read never enters it: its name stands for a list of values, and the sequence operators
// work on such lists while the file is read (docs/decisions/0011-sequences-while-reading.md). Internal to the
// ONNX reader.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/attributes.h"
#include "core/result.h"
#include "graph/builder.h"

namespace hone::model::onnx {

// Tensors of one element type, in order.
struct Sequence {
  DType dtype = DType::kUndefined;
  std::vector<graph::ValueId> elements;
};
using SequencePtr = std::shared_ptr<const Sequence>;

// What a name of an ONNX graph leads to: a value of the graph (kNoValue where absent) or a sequence.
using Operand = std::variant<graph::ValueId, SequencePtr>;

// More elements than the sequences of any real model have in all, few enough to refuse a hostile one at once.
inline constexpr int64_t kMostSequenceElements = 250'000;

struct SequenceNode {
  std::string op;
  std::string name;         // of the nodes that it becomes, which have it as their provenance
  std::string output_name;  // of the value that it becomes, where it makes one
  Attributes attributes;
  std::vector<Operand> inputs;
};

// Whether the node drops an axis that ONNX's text says it keeps: SplitToSequence with both `split` and
// keepdims = 0. PyTorch's exporter writes unbind() so, and ONNX Runtime (1.31) reads it so; the types that
// are declared in such files are those of ONNX's text.
bool drops_axis_unlike_onnx(const SequenceNode& node);

// Takes `elements` from what sequences may still have in all (ModelContext::sequence_budget).
Status spend_elements(int64_t& budget, std::size_t elements);

bool is_sequence_operator(std::string_view op);

// What the node's output stands for; tensor operators that it takes (Split, Concat, …) are added to
// `builder`. `budget`: how many elements sequences may still have. Code kUnsupported for what is not known
// yet.
Result<Operand> read_sequence_node(graph::GraphBuilder& builder, const SequenceNode& node, int64_t& budget);

}  // namespace hone::model::onnx
