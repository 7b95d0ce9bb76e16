// A kernel of the provider that is several, one behind the other: for nodes that one kernel may compute, and where several
// are measured beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/provider.h"

namespace hone::runtime::cuda_kernels {

struct CandidateInTurn {
  Candidate candidate;
  std::vector<std::size_t> inputs, outputs;  // of the node, one for each of the kernel's
};

// The candidate `name`, which makes each of `turns` and gives them to the queue in this order. They have the same scratch, as
// large as the largest wants it: what one leaves there the next one finds. None of them finds faults in the data. `in_place`:
// the input whose buffer output 0 may take over, as far as all of them are concerned.
Candidate in_turn(std::string name, std::vector<CandidateInTurn> turns,
                  std::optional<std::size_t> in_place = std::nullopt);

}  // namespace hone::runtime::cuda_kernels
