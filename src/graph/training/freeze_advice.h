// What a user is told to freeze where a gradient cannot flow through an operator: words only; which weights lie before it
// is known to who makes the step (step.cpp).
#pragma once

#include <span>
#include <string>
#include <vector>

namespace hone::graph {

// Patterns (optimizer.h) that match all of `frozen` and none of `others`: "encoder.*" where several names of one module share
// it, else the names themselves.
std::vector<std::string> freeze_patterns(std::span<const std::string> frozen,
                                         std::span<const std::string> others);

// "freeze what lies before it, with [model] freeze = [\"encoder.*\"] (6 weights; 2 left to train)". Of many patterns
// the first three and how many more there are. Without `others` nothing would be left to train, and it says so.
std::string freeze_advice(std::span<const std::string> frozen, std::span<const std::string> others);

}  // namespace hone::graph
