// Which kernels a provider has for an operator, found by asking it: small example nodes are built until the
// operator's type inference accepts one, and the provider is asked for candidates. For documentation; nothing
// runs.
#pragma once

#include <set>
#include <string>

#include "graph/op_table.h"
#include "runtime/provider.h"

namespace hone::lab {

// Whose candidates there are besides the reference ("hone", "oneDNN"); empty: none for any example. Examples
// are of f32 tensors of rank 1 to 4, with constant weights, and of bools and integers; operators with bodies
// and of more than five inputs have no examples.
std::set<std::string> kernel_families(const graph::OpEntry& entry, const runtime::Provider& provider);

// Whether an operator without a kernel is replaced by others in a graph for the provider (passes/spell_out.h), because it has
// kernels for all of these: asked of an example of f32. Throws std::logic_error where there is none for an operator with such a form.
bool runs_in_parts(const graph::OpEntry& entry, const runtime::Provider& provider);

}  // namespace hone::lab
