// What is said beside the error of a model that a device has no memory for.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "apps/model_options.h"
#include "core/result.h"
#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::apps {

// What a command makes of a model before it is planned.
using MakeReady = std::function<Result<graph::Graph>(graph::Graph)>;

// `failed`, with the largest batch that has room in the same line, where it was the device's memory that lacked and the batch of
// the model is open: the symbol that its first input begins with. `shapes` are those of given data.
Error with_what_fits(Error failed, const ModelOptions& options, std::map<std::string, Shape> shapes,
                     const runtime::Provider& provider, const MakeReady& make_ready);

}  // namespace hone::apps
