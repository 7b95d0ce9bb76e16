// The documentation of explain.json and of the tables that --sql adds, made of their description.
#pragma once

#include <string>

namespace hone::report {

// docs/explain-fields.md.
std::string fields_page();

}  // namespace hone::report
