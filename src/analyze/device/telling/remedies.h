// What helps against copies and collectives: words that depend on what an account consists of, where one text
// for all of its kind would give half of its readers advice for another program. The other fixes are data, in
// device_rules.cpp.
#pragma once

#include <string>
#include <vector>

#include "analyze/device/accounts.h"

namespace hone::analyze::device {

// By the direction in which the copies go.
std::string copy_remedy(const std::vector<const Part*>& parts);

// By what the collectives do. Of a job of which ranks are missing nobody knows how much of it is waiting.
std::string exchange_remedy(const std::vector<const Part*>& parts, bool all_ranks);

}  // namespace hone::analyze::device
