// What the environment says to the recorder, read once while the library is loaded and again in the child of a fork:
// later, a thread of the program may be changing the environment while ours reads it.
#pragma once

#include <cstdint>

#include "trace/segments/record.h"

namespace hone::observe::inject {

struct Environment {
  // Of a distributed program, as its launcher says.
  int32_t rank = trace::segments::kNoRank, world_size = 1, local_rank = trace::segments::kNoRank;

  // Where CUPTI may be; empty: not said.
  char cupti[1024] = {}, cuda_home[1024] = {}, cuda_path[1024] = {};

  bool lines = false;  // kLinesVariable

  // For experiments (bench/observe/README.md).
  bool attach_early = false;
  bool driver_calls_always = false, driver_calls_never = false;
  bool flush_cupti = true;

  static Environment read();
};

}  // namespace hone::observe::inject
