// What a provider is like, as passes want to know it.
#pragma once

#include "passes/pass.h"
#include "runtime/provider.h"

namespace hone::lab {

// `provider` must outlive the target.
passes::Target pass_target(const runtime::Provider& provider);

}  // namespace hone::lab
