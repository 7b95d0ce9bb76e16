// What gathers and scatters read and write, read from their nodes once for all providers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "kernels/movement/gather_desc.h"
#include "runtime/lower/lower.h"

namespace hone::runtime {

using NodeGather = std::variant<kernels::GatherDesc, kernels::ElementsDesc, kernels::GatherNDDesc>;

// Of Gather, GatherElements, GatherND, and of ScatterElements and ScatterND that reduce nothing, or as `reduction` says;
// nullopt for other operators, for elements of no size, where nothing is read or written, and where shapes do not fit.
std::optional<NodeGather> gather_of_node(const LowerContext& context, std::string_view reduction = "none");

// What is wrong where an index is out of range.
std::string index_error(const LowerContext& context);

}  // namespace hone::runtime
