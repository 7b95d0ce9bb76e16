#include "lab/program/acceptance.h"

#include <algorithm>

#include <fmt/format.h>

namespace hone::lab {
namespace {

constexpr std::string_view kNothingSeen = "neither losses nor outputs were seen with the change";

// The widest of what is in force, as it said in a run.
Effect widest_effect(const Trial& done, const std::vector<std::string>& in_force) {
  Effect widest = Effect::kNone;
  for (const std::string& each : in_force) {
    const AppliedChange* said = done.said(each);
    widest = std::max(widest, said != nullptr && said->draws ? Effect::kOrder : find_change(each)->effect);
  }
  return widest;
}

bool trains_otherwise(const TriedChange& tried) {
  return tried.candidate.change->effect == Effect::kTraining;
}

}  // namespace

bool Acceptance::is_made(const Trial& done, TriedChange& tried) const {
  const std::string name(tried.candidate.change->name);
  const AppliedChange* said = done.said(name);
  if (said == nullptr || said->status != AppliedChange::Status::kApplied) {
    const bool failed = said != nullptr && said->status == AppliedChange::Status::kFailed;
    tried.outcome = failed ? Outcome::kCrashed : Outcome::kRefused;
    tried.why = said != nullptr ? said->text : "the program does nothing that it would change";
    return false;
  }
  tried.text = said->text;
  tried.edits.clear();
  for (const AppliedChange& each : done.changes)
    if (each.name == name && each.edit) tried.edits.push_back(*each.edit);
  return true;
}

bool Acceptance::is_sound(const Trial& done, const std::vector<std::string>& in_force,
                          TriedChange& tried) const {
  if (!is_made(done, tried)) return false;
  if (trains_otherwise(tried)) return true;
  if (done.computed.empty()) return true;  // it may have ended before; accept() tells
  tried.numbers = compare(done, in_force);
  tried.computed = done.computed;
  if (tried.numbers.same) return true;
  tried.outcome = Outcome::kOtherNumbers;
  tried.why = tried.numbers.sentence;
  return false;
}

bool Acceptance::accept(const Trial& done, const std::vector<std::string>& in_force,
                        TriedChange& tried) const {
  if (!is_sound(done, in_force, tried)) return false;
  if (!done.measured()) {
    tried.outcome = Outcome::kCrashed;
    tried.why = done.why_none;
    return false;
  }
  // One that fails is not to be had for being quick.
  if (has_failed(done)) {
    tried.outcome = Outcome::kCrashed;
    tried.why = fmt::format("it ended with exit status {}", *done.exit_status);
    return false;
  }
  if (!done.computed.empty() || trains_otherwise(tried)) return true;
  tried.outcome = Outcome::kOtherNumbers;
  tried.why = kNothingSeen;
  return false;
}

SameNumbers Acceptance::compare(const Trial& done, const std::vector<std::string>& in_force) const {
  return compare_numbers(unchanged, again, done.computed, widest_effect(done, in_force));
}

bool Acceptance::has_failed(const Trial& done) const {
  return done.exit_status.value_or(0) != 0 && done.exit_status != status;
}

}  // namespace hone::lab
