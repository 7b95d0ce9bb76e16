// What a pass that narrows types decided about each operator, as people read it.
#pragma once

#include <cstddef>
#include <string>

#include "analyze/findings.h"
#include "report/description/grid.h"

namespace hone::report {

// "fp16: 49 operators in f16, 3 stay in f32; the 12 of them that tell most"; empty for a pass that narrows nothing.
std::string precision_sentence(const analyze::PassRow& pass, std::size_t most);
// At most so many rows: what stays in f32 first, then what is off most alone.
Grid precision_grid(const analyze::PassRow& pass, std::size_t most);
// What the columns are.
std::string_view precision_note();

}  // namespace hone::report
