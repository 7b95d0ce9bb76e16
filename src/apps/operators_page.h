// docs/operators.md: the operator table as Markdown, printed from the code (hone show --operators).
#pragma once

#include <string>

#include "graph/custom_operator.h"

namespace hone::apps {

std::string operators_page();
// A table of those that plugins brought; empty where there are none.
std::string plugin_operators_text(const graph::CustomOperators& operators);

}  // namespace hone::apps
