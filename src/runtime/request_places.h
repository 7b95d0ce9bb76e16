// Where inputs and outputs of requests lie while they are on their way (Plan::give), and the queues that carry them: beside
// the plan's own places and its own queue. What is done with them: plan_ahead.cpp.
//
//   page-locked ──in──► second place of inputs ──plan──► the plan's inputs, run, outputs ──plan──► second place of outputs
//                                                                              page-locked ◄──out──┘
//
// A second place is taken again when the copy that reads it is over, so there is one of each on the device, whatever the
// number of requests; page-locked memory is the request's own until it is taken.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "runtime/device.h"

namespace hone::runtime {

// Inputs of a request in one block, so that one copy carries them; outputs, and the word of faults behind them, in another.
struct RequestLayout {
  // Every input and output must have a place.
  explicit RequestLayout(const graph::Graph& graph);

  std::vector<std::size_t> inputs, outputs;  // where each begins in its block
  std::size_t fault = 0;                     // in that of outputs
  std::size_t input_bytes = 0, output_bytes = 0;
  std::size_t bytes() const { return input_bytes + output_bytes; }  // on the device
};

struct RequestPlaces {
  struct PageLocked {
    Memory inputs, outputs;
  };
  // `most` requests may be on their way.
  static Result<std::unique_ptr<RequestPlaces>> make(const RequestLayout& layout, std::size_t most,
                                                     Device& device);

  const PageLocked& page_locked_of(std::size_t run) const { return page_locked[run % page_locked.size()]; }

  // Queues last: they are waited for before memory goes.
  Memory inputs, outputs;  // the device's
  std::vector<PageLocked> page_locked;
  std::unique_ptr<Queue> in, out;
  // When a second place may be written again.
  std::unique_ptr<Event> inputs_read;   // of the plan's queue
  const Event* outputs_left = nullptr;  // of `out`, and the last request's; null: none has been given
};

}  // namespace hone::runtime
