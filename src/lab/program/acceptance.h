// Whether a run with changes may be believed: the changes were made, the program did not fail, and it computed what it computes without
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/program/computed.h"
#include "lab/program/experiment.h"
#include "lab/program/trial.h"

namespace hone::lab {

struct Acceptance {
  Computed unchanged, again;  // by two runs of the unchanged program
  std::optional<int> status;  // that the unchanged program ends with by itself

  // The change was made; else `tried` says why not.
  bool is_made(const Trial& done, TriedChange& tried) const;
  // And the numbers are the same. `in_force`: all changes of that run, this one, too.
  bool is_sound(const Trial& done, const std::vector<std::string>& in_force, TriedChange& tried) const;
  // And its steps were timed, and it did not end with an error of its own.
  bool accept(const Trial& done, const std::vector<std::string>& in_force, TriedChange& tried) const;
  SameNumbers compare(const Trial& done, const std::vector<std::string>& in_force) const;
  // It ended by itself with an error that the unchanged program does not end with.
  bool has_failed(const Trial& done) const;
};

}  // namespace hone::lab
