// A program without steps, in words: its hottest lines, and what it took of the machine.
#pragma once

#include <string>

#include "analyze/hot_lines.h"

namespace hone::report {

std::string hot_lines_text(const analyze::HotLines& hot);

}  // namespace hone::report
