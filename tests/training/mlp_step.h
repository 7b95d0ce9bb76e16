// A small training problem, twice: as one graph (forward, loss, backward, two optimizers, dropout from a
// stream of random numbers), and as a loop written by hand in f64. Not what training looks like to a user:
// the least that has every kind of state.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor.h"
#include "graph/graph.h"

namespace hone::training {

constexpr int64_t kBatch = 12, kIn = 5, kHidden = 9, kOut = 3;
constexpr float kRate = 0.02F, kDecay = 0.05F, kMomentum = 0.8F, kDropped = 0.25F;
constexpr int64_t kSeed = 1234;

// y = W2·dropout(tanh(W1·x + b1)) + b2; loss = mean((y - t)²). AdamW updates W1 and b1; SGD with Nesterov's
// momentum and weight decay W2 and b2. Output 0 is the loss; every input but x, t and the seed is a state.
graph::Graph mlp_step(DType dtype);

// The values that mlp_step() begins with, for each of its inputs, in order.
std::vector<Tensor> initial_values(const graph::Graph& step);

// The same by hand: the loss of each step, and what the states are after the last, in the order of the
// graph's pairs (integers as numbers).
struct ByHand {
  std::vector<double> losses;
  std::vector<std::vector<double>> states;
};
ByHand train_by_hand(const graph::Graph& step, int steps);

}  // namespace hone::training
