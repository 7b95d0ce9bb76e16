// What splitting a step's batch into micro-batches wins where ranks, or devices, take turns on it. Arithmetic
// over what each of them takes for the whole batch; which numbers these are is gains.cpp's to know.
#pragma once

#include <span>

namespace hone::analyze::device {

// A rank or device that takes turns with others, by what it needs in a step of its own. ms.
struct Stage {
  double device_ms = 0;  // of kernels and copies, the transfers between stages included
  // The part of it that micro-batches do not shrink: kernels which do not fill the device, so that a part of
  // the batch takes them as long as the whole, and which come again with every micro-batch.
  double fixed_ms = 0;
  double host_ms = 0;  // of the host, to issue all that
  // The part of it that comes again with every micro-batch: all but the optimizer.
  double host_again_ms = 0;

  // What the stage takes in all for so many micro-batches: it is done when its device and its host are.
  double ms(int micro_batches) const;
};

struct Pipelining {
  int micro_batches = 1;  // that each part which is handed on now is split into; 1: as it is
  double ms = 0;          // of the step
};

// While the longest stage works on one micro-batch the others work on others; what is left of them is their
// time for one. A stage that has `turns` in a step (rounds, or micro-batches that there are already) has
// parts as small from the beginning. The result is the number of micro-batches, at most
// `most_micro_batches`, that makes the step shortest, the smaller where two do; 1 where none makes it shorter
// than it is, `now_ms`.
Pipelining best_pipelining(std::span<const Stage> stages, int turns, int most_micro_batches, double now_ms);

// The stage that the step then takes as long as; null: there is none.
const Stage* longest_stage(std::span<const Stage> stages, int micro_batches);

}  // namespace hone::analyze::device
