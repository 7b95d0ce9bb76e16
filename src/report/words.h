// Sentences that every form of the report shares.
#pragma once

#include <string>

#include "analyze/findings.h"

namespace hone::report {

struct LabVerdict {
  std::string headline;  // "2.01× faster."
  std::string rest;      // "resnet50 takes 20.6 ms instead of 41.3 ms; its outputs agree …"
  bool good = false;     // faster, and the numbers came out right
};
LabVerdict lab_verdict(const analyze::LabReport& report);

// "kept", "dropped", "did not fire".
std::string pass_outcome(const analyze::PassRow& pass);

}  // namespace hone::report
