// What hone knows about causes, as data: how much of a row a fix can win, from which share on it is worth a
// finding, the words, the advice and its caveat. Change a threshold or a sentence here and nowhere else.
#pragma once

#include <optional>
#include <string_view>

#include "analyze/advised_changes.h"
#include "analyze/cause.h"
#include "analyze/framework_text.h"
#include "trace/operator_class.h"
#include "trace/trace.h"

namespace hone::analyze {

inline constexpr double kRecorderMatters =
    0.9;  // below this ratio of the step without the recorder to the recorded one, the reader must know both
inline constexpr double kHealthyShare = 0.10;    // nothing recoverable above this share: healthy
inline constexpr double kDispatchFloorUs = 1.0;  // what issuing one operator costs a good executor
// What PyTorch's profiler adds to each operator on the host: 1972 operators a step took 17.4 ms with it and
// 9.9 ms without. Gaps between operators win no more than what they have beyond it.
inline constexpr double kHostRecorderUs = 4.0;
inline constexpr double kSmallOperatorFactor =
    4;                                           // below so many parallel regions an operator is "too small"
inline constexpr double kFasterAlgorithm = 1.2;  // fewer FLOPs by this factor are worth another algorithm
inline constexpr double kNearRoof = 0.8;         // at this fraction of its roof a kernel is done

// What a rule's gain is computed from.
enum class Gain {
  kNone,             // nothing known to do
  kShareOfRow,       // `recoverable` × the row
  kAboveAttainable,  // per operator: time above what a good kernel reaches (attainable_fraction)
  kAboveDispatch,    // gaps beyond kDispatchFloorUs each
  kAboveRecorder,    // gaps beyond that and what the profiler costs
};

// Texts are fmt templates. Those about a row may name {ms} {share} {count} (operators or gaps in it) {gaps}
// (in words) {gap} {whose} (whose work is in it) {kept} {issuing} (what of it no fix wins, and why) {superfluous} (a clause about arithmetic that a faster algorithm spares, or nothing);
// of programs that somebody else wrote {batches} {kernels} {fewer} {one_order} {unnamed} (advice that depends on what the
// program has: program_facts.h); those about one of its operators {name} {kind} {ms} (its part of the row) {op_ms} {bytes} {flops} {avoidable} {fuses_with} {roof}
// {floor} {floor_roof} {fraction} {implementation} {algorithm} (a clause about its algorithm, or nothing).
// Rules of programs on the host, one a cause; those of device programs are in device/rules/.
struct CauseRule {
  Cause cause;
  std::string_view id;  // what programs know its findings by; never changes
  double threshold;     // share of the step from which the row is a finding
  Gain gain;
  double recoverable;  // with kShareOfRow
  std::string_view title;
  std::string_view summary;            // evidence about the row
  std::string_view operator_evidence;  // evidence about each of its largest operators
  FrameworkText fix;
  std::string_view caveat;
  AdvisedChanges changes = {};
};
const CauseRule& rule_of(Cause cause, Subject subject = Subject::kPlan);
// The row of avoidable traffic of a program most of whose is broadcasts that are written out.
const CauseRule& written_broadcasts();
// The row of the floor where too little is known to say how much of the busy time is needed.
const CauseRule& unjudged_busy();

// The fraction of the compute roof that a good kernel reaches with an algorithm of fewer FLOPs, by those
// FLOPs: transforms move data more than they compute. oneDNN's F(4x4,3x3) gains 1.2 to 1.9 times of its 3 to
// 4 (docs/decisions/0005-onednn-version.md).
inline constexpr double kAttainableFastAlgorithm = 0.4;

// What may need fewer FLOPs than the definition of an operator of this class, for sentences.
std::string_view faster_algorithm(trace::OperatorClass op_class);

// The fraction of its roof that a good kernel of this class reaches on real shapes.
double attainable_fraction(trace::OperatorClass op_class);

// Why a device that runs no operator waits while the host is busy with `category`; none if that alone does
// not say.
std::optional<Cause> waiting_cause(trace::Category category);

}  // namespace hone::analyze
