// The lowerings of the CPU provider, one an operator family (lower_<family>.cpp). Each appends what it offers
// for a node, and nothing for nodes that are not its own.
#pragma once

#include "runtime/lower/lower.h"

namespace hone::runtime::cpu {

void lower_convolution(const LowerContext&, std::vector<Candidate>&);
void lower_matmul(const LowerContext&, std::vector<Candidate>&);
void lower_pointwise(const LowerContext&, std::vector<Candidate>&);
void lower_pooling(const LowerContext&, std::vector<Candidate>&);
void lower_normalization(const LowerContext&, std::vector<Candidate>&);  // softmax, too
void lower_attention(const LowerContext&, std::vector<Candidate>&);
void lower_movement(const LowerContext&, std::vector<Candidate>&);
void lower_indexing(const LowerContext&, std::vector<Candidate>&);
void lower_reduction(const LowerContext&, std::vector<Candidate>&);
void lower_resize(const LowerContext&, std::vector<Candidate>&);
void lower_loss(const LowerContext&, std::vector<Candidate>&);
void lower_optimizer(const LowerContext&, std::vector<Candidate>&);
void lower_recurrent(const LowerContext&, std::vector<Candidate>&);

// All that a node of a plugin's operator may run by (lower_plugin.cpp); an error where the plugin has no kernel for it.
Result<std::vector<Candidate>> plugin_candidates(const LowerContext&);

}  // namespace hone::runtime::cpu
