// The changes that a rule advises and `hone lab -- COMMAND` can make in a PyTorch program from outside: a column of the rules' tables, so that each
// stands beside the advice that it carries out. Names are those of lab/program/change.h and python/hone_apply; analysis makes none of
// them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace hone::analyze {

// The first is what the rule's prediction is about; empty ones are none.
using AdvisedChanges = std::array<std::string_view, 3>;

// What a change would win by itself, over all causes that it is advised against.
struct ChangeGain {
  std::string change;
  double predicted_gain_ms = 0;
};

struct Finding;

// Of the rule that a finding is of, of a program on a device or on the host alone.
std::vector<std::string_view> advised_changes(const Finding& finding, bool on_device);

// By every rule of either table.
std::vector<std::string_view> all_advised_changes();

}  // namespace hone::analyze
