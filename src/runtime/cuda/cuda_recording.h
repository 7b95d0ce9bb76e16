// What a CUDA queue replays: the graph of a sequence. Where somebody listens to marks it is another graph of the same
// commands, made while CUPTI was attached, of which is known which commands are of which mark; or, where CUPTI does not
// serve, no graph: events in a graph tell no times, so the commands are then given one by one.
#pragma once

#include <utility>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/replay_times.h"

namespace hone::runtime {

struct CudaRecording : Recording {
  CudaRecording(CudaQueue& q, Sequence& s, cuda::GraphExec g) : queue(q), sequence(s), graph(std::move(g)) {}
  Status replay() override;
  Status ready_marks() override;

  CudaQueue& queue;
  Sequence& sequence;
  cuda::GraphExec graph;
  cuda::GraphExec marked;          // none as long as nobody has listened
  std::vector<MarkedNodes> nodes;  // of `marked`
};

}  // namespace hone::runtime
