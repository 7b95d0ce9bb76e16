// What hone knows about causes, as data: how much of a row a fix can win, from which share on it is worth a
// finding, the words, the advice and its caveat. Change a threshold or a sentence here and nowhere else.
#pragma once

#include <optional>
#include <string_view>

#include "analyze/cause.h"
#include "trace/operator_class.h"
#include "trace/trace.h"

namespace hone::analyze {

inline constexpr double kHealthyShare = 0.10;    // nothing recoverable above this share: healthy
inline constexpr double kDispatchFloorUs = 1.0;  // what issuing one operator costs a good executor
inline constexpr double kSmallOperatorFactor =
    4;                                    // below so many parallel regions an operator is "too small"
inline constexpr double kNearRoof = 0.8;  // at this fraction of its roof a kernel is done

// What a rule's gain is computed from.
enum class Gain {
  kNone,             // nothing known to do
  kShareOfRow,       // `recoverable` × the row
  kAboveAttainable,  // per operator: time above what a good kernel reaches (attainable_fraction)
  kAboveDispatch,    // gaps beyond kDispatchFloorUs each
};

// Texts are fmt templates. Of a row: {ms} {share} {count} (operators or gaps in it) {gap}. Of one of its
// operators: {name} {kind} {ms} (its part of the row) {op_ms} {bytes} {flops} {avoidable} {fuses_with} {roof}
// {floor} {fraction} {implementation}.
struct Rule {
  Cause cause;
  double threshold;  // share of the step from which the row is a finding
  Gain gain;
  double recoverable;  // with kShareOfRow
  std::string_view title;
  std::string_view summary;            // evidence about the row
  std::string_view operator_evidence;  // evidence about each of its largest operators
  std::string_view fix;
  std::string_view caveat;
};
const Rule& rule_of(Cause cause);

// The fraction of its roof that a good kernel of this class reaches on real shapes.
double attainable_fraction(trace::OperatorClass op_class);

// Why a device that runs no operator waits while the host is busy with `category`; none if that alone does
// not say.
std::optional<Cause> waiting_cause(trace::Category category);

}  // namespace hone::analyze
