// What fusing neighbours would save: Operator::fuses_with and Operator::avoidable_bytes of a foreign trace.
#pragma once

#include <span>
#include <vector>

#include "trace/aten/cost.h"
#include "trace/link/launches.h"
#include "trace/trace.h"

namespace hone::trace::link {

// A row of the operator table as the pass over executions needs it, by index of the row.
struct RowTensors {
  aten::ResultTensor result;               // what it makes; 0 elements: not known
  std::vector<aten::ResultTensor> inputs;  // tensors that it reads
  bool in_place = false;                   // its result takes the place of its first input
};

// An operator could be fused with one that ran just before on the same stream and made a tensor of the number
// of elements and type that it reads, if both work element by element or along rows (pointwise, casts,
// normalisation, softmax and other reductions). The trace has no identities of tensors, so the latest such
// result counts as the one that is read.
//
// avoidable_bytes: that tensor's bytes, which would not be read again; twice where the operator works in
// place on it, for then nobody sees what the first one wrote. It is a lower bound: whether the others'
// results are needed later (for the backward pass) is not known. A row whose executions differ gets the mean.
void find_fusible(Trace& trace, std::span<const DeviceWork> work, std::span<const RowTensors> rows);

}  // namespace hone::trace::link
