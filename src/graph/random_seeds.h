// Seeds of random operators. ONNX lets a node go without one, which then draws other numbers in every runtime
// and every run. Who runs a graph draws one seed for all of them, tells the user, and the run can be
// repeated. A training step takes the numbers from a stream that goes on from step to step: state of the
// graph.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::graph {

// Nodes, in sub-graphs too, that draw random numbers and have no seed. A Dropout that is known not to train
// draws none.
std::size_t count_unseeded(const Graph& graph);

// The same graph with ONNX's random operators as hone's own: seeds that the model gives stay what they are,
// nodes without one get seeds that `seed` makes, one each. In the body of a Loop each iteration takes other
// numbers. An error for a node without a seed elsewhere in a body that repeats: it would repeat its numbers.
Result<Graph> give_seeds(const Graph& graph, uint64_t seed);

// For who writes ONNX: makes `node`, a copy of one of `graph`, ONNX's random operator again. Whether it did:
// its seed must be known, and its numbers the first of their stream. With `in_body`, an offset that the body
// computes will do, too: iterations draw different numbers, which ONNX can only say by giving no seed.
bool to_onnx_random(const Graph& graph, Node& node, bool in_body);

// A stream of random numbers as state: each step goes on where the step before has ended, so a step that is
// replayed as it was recorded draws fresh numbers. Adds the inputs "<name>.seed", which stays as written, and
// "<name>.offset", the numbers used so far (both i64[]).
class RandomStream {
 public:
  RandomStream(GraphBuilder& builder, const std::string& name);

  ValueId seed() const { return seed_; }
  // Where the next `count` numbers begin: the offset input of the operator that draws them.
  ValueId take(int64_t count);
  // Pairs the offset with its next value, offset + all that was taken. To be called once, at the end: behind
  // the gradients, which draw the same numbers again, so that the offset can be overwritten in place.
  void finish();

 private:
  GraphBuilder& builder_;
  std::string name_;
  ValueId seed_;
  ValueId offset_;
  int64_t taken_ = 0;
};

// The same graph with ONNX's random operators drawing from one such stream, named "random": the training
// form. Seeds that the model gives are not kept. The numbers that each draws must be known; operators in
// bodies are an error. Without any the graph stays as it is.
Result<Graph> with_random_stream(const Graph& graph);

}  // namespace hone::graph
