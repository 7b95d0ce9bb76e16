// The types of what `hone.explain()` of the Python package returns: a class for each table and object of explain.json,
// with its fields' types and meanings, made of the same description (decision 17).
#pragma once

#include <string>

namespace hone::report {

// A Python module. Its classes derive from `Record` of the module `_record` beside it; the last one, `Fields`, is of
// explain.json itself.
std::string python_types();

}  // namespace hone::report
