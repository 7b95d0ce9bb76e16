// hone show of a saved plan: what it is for, and the kernel of each node.
#pragma once

#include <string>

#include "core/result.h"

namespace hone::apps {

// The plan's graph as text, or its table; `json` empty: no file. On any machine: nothing of it is made.
Status show_plan(const std::string& path, bool as_text, const std::string& json);

}  // namespace hone::apps
