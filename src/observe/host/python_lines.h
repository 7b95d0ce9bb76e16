// Lines of Python's code by its tables (Objects/locations.md from 3.11 on, Objects/lnotab_notes.txt before).
#pragma once

#include <cstdint>
#include <string_view>

#include "observe/host/python_layout.h"

namespace hone::observe {

// The line of the instruction at that distance from the beginning of its code, in bytes. `first_line` where the table does
// not say.
int32_t python_line(LineTable form, std::string_view table, int32_t first_line, uint32_t instruction_bytes);

}  // namespace hone::observe
