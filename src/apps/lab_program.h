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
  double wait_s = -1;  // as hone profile's, of the baseline; negative: as that has it
  uint64_t seed = 1;
  int top = 5;
};

Status run_lab_program(const LabProgramOptions& options, Program& program);

}  // namespace hone::apps
