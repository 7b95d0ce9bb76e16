// hone lab -- COMMAND: the loop on a program that is not hone's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/command.h"
#include "core/result.h"

namespace hone::apps {

struct LabProgramOptions {
  std::vector<std::string> command;
  std::string out, json;
  std::vector<std::string> tried;  // whatever the baseline advises
  double budget_s = 900;
  uint64_t seed = 1;
  int top = 5;
};

Status run_lab_program(const LabProgramOptions& options, Program& program);

}  // namespace hone::apps
