// What to do first about a run: its findings in the order in which they are told, and the first as advice.
#pragma once

#include <string>
#include <vector>

#include "analyze/findings.h"

namespace hone::analyze {

// The findings: those of the verdict's cause first, then by gain.
std::vector<const Finding*> ordered_findings(const Analysis& analysis);

// What to do about the verdict.
struct Advice {
  std::string fix;  // empty: nothing is to be done
  double predicted_gain_ms = 0;
  bool gain_is_bound = false;  // as LedgerRow::gain_is_bound
  bool is_all = true;          // it wins nearly all that the verdict speaks of
};
Advice first_advice(const Analysis& analysis);

}  // namespace hone::analyze
