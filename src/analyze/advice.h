// What to do first about a run: the order in which its findings are told, and the first as advice.
#pragma once

#include <string>

#include "analyze/findings.h"

namespace hone::analyze {

// Puts the findings into the order in which every form tells them: those of the verdict's cause first, then by gain;
// of two that win about as much that which asks less (effort.h).
void order_findings(Analysis& analysis);

// What to do about the verdict.
struct Advice {
  std::string fix;  // empty: nothing is to be done
  double predicted_gain_ms = 0;
  bool gain_is_bound = false;  // as LedgerRow::gain_is_bound
  bool is_all = true;          // it wins nearly all that the verdict speaks of
};
// Of findings in their order.
Advice first_advice(const Analysis& analysis);

}  // namespace hone::analyze
