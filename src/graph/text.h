// The text form of a graph: readable, and (with full constants) read back to an equal graph.
//
//   graph "net" (%x: f32[N,3,8,8]) {
//     %w: f32[4,3,3,3] = constant hex"…"            // constants: dense(…) for few elements, hex for many
//     %y: f32[N,4,8,8] = Conv(%x, %w) {pads = [1,1,1,1]} "conv1" from ["conv1"]
//     return %y
//   }
//
// An output that is the next value of an input says so: "return %loss, %w_new -> %w".
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::graph {

enum class Constants : uint8_t {
  kFull,    // every element: parse(print(g)) equals g
  kElided,  // few elements shown, the rest "…": for people; does not parse
};

std::string print(const Graph& graph, Constants constants = Constants::kElided);
Result<Graph> parse(std::string_view text);

// The same with the data of large constants beside the text, which then says "constant beside(3)": for files that map
// them. print() adds a tensor for each to `beside`, those that share their memory once.
std::string print(const Graph& graph, std::vector<Tensor>& beside);

// What "beside(i)" stands for: the bytes of tensors in the memory that `owner` keeps alive. Tensors borrow them.
struct DataBeside {
  std::vector<std::span<const std::byte>> blocks;
  std::shared_ptr<const void> owner;
};
Result<Graph> parse(std::string_view text, const DataBeside& beside);

// Equal up to the numbering of values and nodes: same names, types, operators, attributes, constants, order.
bool same_graph(const Graph& a, const Graph& b);
// Equal in structure: as same_graph, but names of values and nodes, and provenance, may differ (rewrite
// tests).
bool equivalent(const Graph& a, const Graph& b);

}  // namespace hone::graph
