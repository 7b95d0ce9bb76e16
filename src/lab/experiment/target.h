// What passes may know of a provider.
#pragma once

#include "passes/pass.h"
#include "runtime/provider.h"

namespace hone::lab {

// The provider's table and its answers about single nodes; it must outlive the result.
passes::Target pass_target(const runtime::Provider& provider);

}  // namespace hone::lab
