#include "analyze/device/gains.h"

#include <algorithm>

#include "analyze/device/device_rules.h"

namespace hone::analyze::device {
namespace {

bool& without(Change& change, Activity activity) {
  return change.without[static_cast<std::size_t>(activity)];
}

}  // namespace

Gains::Gains(const Study& study)
    : study_(study), replay_(*study.trace, study.timelines, study.activities, study.meetings) {
  Change change;
  change.recorder_ns = kRecorderNs;
  base_ms_ = replay_.step_ms(change);
}

double Gains::with(Change change) const {
  change.recorder_ns = kRecorderNs;
  return std::max(0.0, base_ms_ - replay_.step_ms(change));
}

std::vector<std::vector<double>> Gains::targets(Cause cause, const Reason* reason) const {
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < study_.ranks.size(); ++rank) {
    std::vector<double> ns;
    const std::vector<WorkSplit>& splits = study_.ranks[rank].split.works;
    for (std::size_t i = 0; i < splits.size(); ++i) {
      const bool changes = splits[i].cause == cause && (reason == nullptr || splits[i].reason == *reason);
      ns.push_back(changes ? splits[i].target_ns : static_cast<double>(study_.timelines[rank].works[i].ns()));
    }
    all.push_back(std::move(ns));
  }
  return all;
}

double Gains::of(Cause cause, Reason reason) const {
  if (!is_busy(cause) || reason == Reason::kNone) return of(cause);
  Change change;
  change.work_ns = targets(cause, &reason);
  return with(std::move(change));
}

double Gains::of(Cause cause) const {
  Change change;
  switch (cause) {
    case Cause::kFloor:
      return 0;
    case Cause::kPrecision:
    case Cause::kLayout:
    case Cause::kAvoidableTraffic:
    case Cause::kKernelInefficiency:
      change.work_ns = targets(cause, nullptr);
      break;
    case Cause::kLaunch:
      change.launches_free = true;
      break;
    case Cause::kHostSync:
      without(change, Activity::kWait) = true;
      break;
    case Cause::kInput:
      without(change, Activity::kInput) = true;
      break;
    case Cause::kIo:
      without(change, Activity::kIo) = true;
      break;
    case Cause::kHostCopy:
      without(change, Activity::kCopy) = true;
      change.copies_ahead = true;
      break;
    case Cause::kAllocator:
      without(change, Activity::kAllocate) = true;
      break;
    case Cause::kCompile:
      without(change, Activity::kCompile) = true;
      break;
    case Cause::kHostOther:
      without(change, Activity::kOther) = true;
      break;
    case Cause::kComm:
      change.collectives_free = true;
      break;
    case Cause::kStraggler:
    case Cause::kBubble:
      change.ranks_level = true;
      break;
  }
  return with(std::move(change));
}

double Gains::recorded_sync_ms() const {
  Change change;
  without(change, Activity::kWait) = true;
  return std::max(0.0, replay_.step_ms() - replay_.step_ms(change));
}

}  // namespace hone::analyze::device
