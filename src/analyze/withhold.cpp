#include "analyze/withhold.h"

#include <utility>

namespace hone::analyze {

void withhold_verdict(std::string sentence, Analysis& analysis) {
  analysis.verdict = {};
  analysis.verdict.judged = analysis.verdict.given = false;
  analysis.verdict.sentence = std::move(sentence);
  for (LedgerRow& row : analysis.ledger) {
    row.predicted_gain_ms = 0;
    row.gain_is_bound = false;
    row.fix.clear();
    row.caveat.clear();
  }
  analysis.findings.clear();
  analysis.changes.clear();
}

}  // namespace hone::analyze
