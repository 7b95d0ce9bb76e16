// docs/operators.md: the operator table as Markdown, printed from the code (hone show --operators).
#pragma once

#include <string>

namespace hone::apps {

std::string operators_page();

}  // namespace hone::apps
