// What changed between two runs, by how much, and how sure that is. Operators of our own plans are matched by
// name and by the nodes of the user's model they stand for, so that a fused operator is compared with the
// ones it replaced; those of foreign programs by kind, inputs and phase, and where a run has none of the
// same, by kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/advice.h"
#include "analyze/compare_counters.h"
#include "analyze/difference.h"
#include "analyze/findings.h"

namespace hone::analyze {

// One operator, or several that stand for the same part of the model.
struct OperatorChange {
  std::vector<std::string> a;  // operators of the first run; empty: only in the second
  std::vector<std::string> b;
  std::string kind;
  double a_ms = 0;
  double b_ms = 0;
  Difference difference;
};

// An operator that the rank whose ledger is compared does not run in one of the runs, but another rank of
// that run does.
struct ElsewhereChange {
  std::string name;
  std::string kind;
  std::vector<int> a_ranks;  // of the first run, that run it; empty: none
  std::vector<int> b_ranks;
  double a_ms = 0;  // on the rank on which it takes longest
  double b_ms = 0;
  Difference difference;
};

struct CauseChange {
  Cause cause = Cause::kFloor;
  double a_ms = 0;
  double b_ms = 0;
  Difference difference;
};

// What a rule found in the two runs, known by its name: what was mended, what is new.
struct RuleChange {
  std::string rule;
  Cause cause = Cause::kFloor;
  // That the finding is about, or, where it was too short to be found, its row of the ledger; 0: the run does not have it.
  double a_ms = 0;
  double b_ms = 0;
  double a_gain_ms = 0;
  double b_gain_ms = 0;
};

struct Comparison {
  std::string a;
  std::string b;
  Estimate a_ms;
  Estimate b_ms;
  std::optional<Estimate> a_unrecorded_ms = {};  // as StepTime::unrecorded_ms
  std::optional<Estimate> b_unrecorded_ms = {};
  double ratio = 1;             // a ÷ b: above 1, b is faster
  bool comparable = true;       // false: one of them has no verdict, and nothing is said
  bool same_steps = true;       // both were divided into steps in the same way
  double drift = kDeviceDrift;  // share by which recordings of one such program may differ
  Difference difference;
  std::string a_verdict;
  std::string b_verdict;
  Advice a_advice;  // about the verdict of each
  Advice b_advice;
  std::vector<CauseChange> ledger;
  std::vector<RuleChange> findings;       // of either run, largest change of time first
  std::vector<OperatorChange> operators;  // largest change first
  std::vector<KernelChange> kernels;      // whose counters were read in both
  int a_rank = 0;                         // whose ledger and operators are compared
  int b_rank = 0;
  std::vector<ElsewhereChange> elsewhere;  // largest change first; only where both runs have the same ranks
  std::string sentence;
  std::vector<std::string> caveats;
};

// The runs are taken as independent samples: two runs at different times share neither temperature nor
// neighbours, and no statistics can see that. Paired measurement is the lab's gate.
Comparison compare(const Analysis& a, const Analysis& b);

// The two ledgers row by row, in the ledger's order, whatever may be concluded from them.
std::vector<CauseChange> compare_ledgers(const Analysis& a, const Analysis& b);

// "1.98× faster": the pace of `b` against that of `a`; "as fast" where recordings of one program may differ
// as much.
std::string pace(double a_ms, double b_ms);

}  // namespace hone::analyze
