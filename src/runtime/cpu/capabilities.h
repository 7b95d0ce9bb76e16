// What the CPU's kernels take: the provider's one table, made of those that its lowerings read.
#pragma once

#include "graph/capabilities.h"

namespace hone::runtime::cpu {

const graph::Capabilities& capabilities();

}  // namespace hone::runtime::cpu
