// What is left of an analysis that gives no verdict: what was measured, and nothing that is to be done about it.
#pragma once

#include <string>

#include "analyze/findings.h"

namespace hone::analyze {

// `sentence` says why, and what to do to get one. No row promises anything or advises, and nothing is found.
void withhold_verdict(std::string sentence, Analysis& analysis);

}  // namespace hone::analyze
