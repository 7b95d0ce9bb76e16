// Sentences that every form of the report shares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/compare.h"
#include "analyze/findings.h"

namespace hone::report {

enum class Tone : uint8_t { kBad, kNeutral, kGood };
struct LabHeadline {
  std::string headline;    // "2.01× faster with fuse_activation and layout."
  std::string rest;        // "resnet50 takes 20.6 ms instead of 41.3 ms; its outputs agree …"
  Tone tone = Tone::kBad;  // good: faster, and the numbers came out right; neutral: no difference
};
// Of a recipe: what is won against hone train with the recipe as given.
LabHeadline lab_headline(const analyze::LabReport& report);
// Of a recipe, what comes second: what passes win, of which hone train makes those that are not lossy by itself. Empty for
// others.
std::string passes_sentence(const analyze::LabReport& report);

// Whether there is a result that was measured against the baseline: not where nothing was kept, nor where the
// experiment was interrupted. Forms of the report show no "after" without one.
bool has_result(const analyze::LabReport& report);

// "largest relative error 3.2e-02 (limit 1.3e-01)": of the output that comes nearest to its limit.
std::string largest_error_text(const analyze::LabReport& report);
// On which rows of the batch numbers were computed, where the batch is large: a sentence or two; else empty.
std::string reference_rows_text(const analyze::LabReport& report);

// A step before and after, in milliseconds. Where there are paired runs: the step before as those took it, and
// that divided by their speed-up, with its interval; so the two times and the speed-up never contradict each
// other, however busy the machine. Else as profiled.
analyze::Estimate step_before(const analyze::LabReport& report);
analyze::Estimate step_after(const analyze::LabReport& report);

// The steps before and after by cause, from those paired runs: their times, divided as the steps that were
// recorded between the runs divide. The rows add up to the two steps. Empty for an interrupted experiment.
struct CauseTimes {
  analyze::Cause cause = analyze::Cause::kFloor;
  double before_ms = 0, after_ms = 0;
};
std::vector<CauseTimes> causes_before_and_after(const analyze::LabReport& report);
std::string_view causes_note();

// "measured 3 hours ago in 2 s; 12 of 90 repetitions were disturbed by other programs"; empty where nothing is
// known.
std::string roofs_origin_text(const analyze::RoofsOrigin& origin);
// Why these roofs may be too low; empty where there is no doubt.
std::string roofs_doubt(const analyze::RoofsOrigin& origin);

// All warnings of an experiment: its own, and those of its two profiles, each once.
std::vector<std::string> lab_warnings(const analyze::LabReport& report);

// "The experiment took 41 s: choosing kernels 12.3 s, paired runs 19.0 s, …"; empty without phases.
std::string phases_sentence(const analyze::LabReport& report);

// An operator of a foreign program is named by its kind and its inputs: "aten::mm bf16[16384,768] …". The two
// apart; a name that does not begin with its kind has no inputs.
struct OperatorName {
  std::string head;
  std::string inputs;
};
OperatorName operator_name(std::string_view name, std::string_view kind);

// What changed, in words: "conv1 + bn1 → conv1", "mm (3 shapes)", "(new) …", "… (gone)"; the rest,
// where that does not fit, as `detail`.
struct ChangeName {
  std::string head;
  std::string detail;
};
ChangeName change_name(const analyze::OperatorChange& change);

// "unfused optimizer", or "… (gone)", "… (new)" where one of the runs does not have it.
std::string rule_change_name(const analyze::RuleChange& change);
// What the names of rules in a comparison are, and where they are explained.
std::string_view rule_changes_note();

// The name of a ledger's row: of busy time that no roof judges, not "floor".
std::string_view row_label(const analyze::Analysis& analysis, analyze::Cause cause);

// "44 %", ">999 %": how much of its roof an operator reaches, which caches or wrong roofs let exceed 1.
std::string roof_share(const analyze::TopOperator& row);

// How many of the operators, largest change first, change by so much of the step that a row of them says
// something.
std::size_t changed_operators(const analyze::Comparison& comparison);

// "The 5 operators that take the most time"; of several ranks it is that of one: "… on rank 1".
std::string most_time(std::size_t shown, std::string_view noun);
// What the rows of the top table are: "operator", "range". Empty: kernels, which another table lists.
std::string_view top_noun(const analyze::Analysis& analysis);
std::string most_time(std::size_t shown, std::string_view noun, const analyze::Analysis& analysis);

// "sure", "likely", "too few steps"; empty where no difference can be told.
std::string_view certainty_words(analyze::Certainty certainty);

// "+1.20 ms", "-0.30 ms".
std::string signed_ms(double ms, double largest);

// "kept", "dropped", "undecided", "did not fire".
std::string pass_outcome(const analyze::PassRow& pass);
bool fired(const analyze::PassRow& pass);  // changed the graph
// Of what fired; none where nothing foretold it.
std::optional<double> predicted_gain(const analyze::PassRow& pass);
// The combination whose last pass is `pass`; null for none.
const analyze::PassCombination* combination_after(const analyze::LabReport& report,
                                                  const analyze::PassRow& pass);
// "simplify, recognise and merge, measured as one. Kept: 1.06× (1.03–1.09)"
std::string combination_text(const analyze::PassCombination& combination);
// Whether there is a sum to show beside what the paired runs of the whole measured.
bool has_kept_gain(const analyze::LabReport& report);
// "predictions added up; measured: the result against the baseline in paired runs"
std::string_view kept_gain_note();

// What the fix of a row could win, "≤ " before what it wins at most; empty where it would read as nothing
// beside a step of `step_ms`.
std::string gain_text(const analyze::LedgerRow& row, double step_ms);

// What the process took at its peak.
std::string peak_text(const analyze::LabReport& report);

// Whether the report is of a training step rather than of a model.
bool is_training(const analyze::LabReport& report);

// What "before" stands for, so that nobody takes it for another runtime's time.
std::string_view baseline_note(const analyze::LabReport& report);

// Which runs the speed-up, the steps and their parts are of.
std::string_view speedup_note();

// "The steps recorded between the paired runs are 2.18× (2.10 to 2.25) apart; by the paired runs they take 41.20 ms
// and 15.49 ms."; empty where that range and the speed-up's meet.
std::string quotient_note(const analyze::LabReport& report);

// Which FLOPs are counted where.
std::string_view kernel_flops_note();

}  // namespace hone::report
