// What pointwise programs compute: one row an operator, which lowering reads and the provider's capabilities
// are made from.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/capabilities.h"
#include "graph/graph.h"
#include "kernels/pointwise/program.h"

namespace hone::runtime {

// A node whose instructions are to be added to a program.
struct PointwiseCall {
  kernels::PointwiseProgram& program;
  const graph::Node& node;
  std::span<const int> operands;           // the instructions that make its inputs; -1 where one is absent
  std::span<const Tensor* const> scalars;  // the data of inputs that are known numbers; null for others
  DType result;                            // element type
};

// Adds the node's instructions and returns the last one's index; -1 if the program cannot compute it.
using AddInstructions = int (*)(const PointwiseCall& call);

struct PointwiseParameter {
  std::string_view attribute;
  float otherwise = 0;
};

struct PointwiseRow {
  std::string_view op;
  // What the operator is, where it is one instruction (alpha and beta come from attributes); otherwise the
  // instruction whose types it takes.
  kernels::PointwiseOp instruction;
  PointwiseParameter alpha = {};
  PointwiseParameter beta = {};
  AddInstructions add = nullptr;  // null: the one instruction
  bool optional_operands = false;
  bool per_axis = false;       // operands after the first may be one number along attribute "axis"
  graph::DTypeSet types = {};  // of a group's operands; empty: those that the instruction holds as they are
};

std::span<const PointwiseRow> pointwise_table();
const PointwiseRow* find_pointwise(std::string_view op);  // null: no row
int add_instructions(const PointwiseRow& row, const PointwiseCall& call);

// What groups may hold: types are those that a program holds as they are, so that fusing changes no number.
std::vector<graph::PointwiseCapability> pointwise_capabilities();

}  // namespace hone::runtime
