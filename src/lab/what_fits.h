// Of a model that a device has no memory for: the largest batch that it has. By what plans would take, without taking it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"
#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::lab {

// The model with so many samples at once, as it would be planned.
using GraphOfBatch = std::function<Result<graph::Graph>(int64_t batch)>;

// "a batch of 12 would fit (9.8 GiB)", or that not even one does. Empty where `batch` has room, where the device's memory is the
// host's, and where nothing was found within so many seconds.
std::string what_would_fit(const GraphOfBatch& graph_of, int64_t batch, const runtime::Provider& provider,
                           double seconds = 10);

}  // namespace hone::lab
