#include "analyze/device/diagnosis/verdict.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "analyze/device/gain_numbers.h"
#include "analyze/rules.h"
#include "core/units.h"
#include "trace/kernel_family.h"
#include "trace/link/launches.h"

namespace hone::analyze::device {
namespace {

constexpr double kMostUnknown = 0.5;  // of the device's time, in a step that is called healthy
constexpr double kLittleLess = 0.95;  // no part of a gain is gone where as much is left

// The share of the time of all device work that goes to kernels of which neither name nor operator says what
// they do, as in CUDA graphs recorded as wholes.
double unknown_share(const trace::Trace& trace) {
  double unknown = 0, all = 0;
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    if (!trace::link::is_device_work(trace, row)) continue;
    const auto duration = static_cast<double>(trace.spans.duration_ns[row]);
    all += duration;
    const trace::OperatorId op = trace.spans.op[row];
    const bool costed =
        op.valid() && (trace.operators[op.index].flops > 0 || trace.operators[op.index].bytes() > 0);
    const bool known = trace.kernel(row).work != trace::KernelWork::kUnknown;
    if (!costed && !known) unknown += duration;
  }
  return all > 0 ? unknown / all : 0;
}

// Whether work of this cause inside a step keeps it from being captured as one launch.
bool blocks_capture(Cause cause) {
  constexpr Cause kBlocks[] = {Cause::kHostSync,  Cause::kInput,   Cause::kIo,   Cause::kHostCopy,
                               Cause::kAllocator, Cause::kCompile, Cause::kComm, Cause::kStraggler};
  return std::find(std::begin(kBlocks), std::end(kBlocks), cause) != std::end(kBlocks);
}

class Judge {
 public:
  Judge(const Study& study, const Gains& gains, const std::vector<LedgerRow>& ledger,
        const ProgramTraits& program)
      : study_(study),
        gains_(gains),
        ledger_(ledger),
        own_(study.ranks[study.headline]),
        one_graph_(program.may_be_one_graph()) {}

  Verdict run() const {
    Verdict verdict;
    const LedgerRow* best = worst();
    if (best != nullptr) {
      verdict.recoverable_ms = best->predicted_gain_ms;
      verdict.share = share_of_gain(*best);
    }
    const bool keeps_from_graph = best != nullptr && keeps_from_one_graph(best->cause) &&
                                  verdict.share > kBlocksCaptureShare && launch_is_slow();
    if (verdict.share > kHealthyShare || keeps_from_graph) {
      verdict.cause = best->cause;
      verdict.sentence = sentence_of(*best, keeps_from_graph);
    } else if (const std::string why = why_not_judged(); !why.empty()) {
      verdict.judged = false;
      verdict.sentence = "Not judged: " + why;
    } else {
      verdict.sentence = healthy_sentence();
    }
    return verdict;
  }

 private:
  double share_of_gain(const LedgerRow& row) const {
    const double whole = std::max(gains_.unrecorded_ms(), row.predicted_gain_ms);
    return whole > 0 ? row.predicted_gain_ms / whole : 0;
  }

  const LedgerRow* largest_gain() const {
    const auto at = std::max_element(
        ledger_.begin(), ledger_.end(),
        [](const LedgerRow& a, const LedgerRow& b) { return a.predicted_gain_ms < b.predicted_gain_ms; });
    return at == ledger_.end() ? nullptr : &*at;
  }

  bool keeps_from_one_graph(Cause cause) const { return one_graph_ && blocks_capture(cause); }

  // Where launching wins most: what keeps it from winning first, then by gain.
  bool goes_before(const LedgerRow& a, const LedgerRow& b) const {
    if (keeps_from_one_graph(a.cause) != keeps_from_one_graph(b.cause)) return keeps_from_one_graph(a.cause);
    return a.predicted_gain_ms > b.predicted_gain_ms;
  }

  // Slow launching that has a cause of its own.
  bool launches_in_loops() const {
    for (const LedgerRow& row : ledger_)
      if (row.cause == Cause::kLaunch) return gains_.of_joined_turns(row.cause) > 0.5 * row.predicted_gain_ms;
    return false;
  }

  // The row with the largest gain among those that may stand for the step.
  const LedgerRow* worst() const {
    const bool loops = launches_in_loops();
    const LedgerRow *best = nullptr, *specific = nullptr;
    for (const LedgerRow& row : ledger_) {
      if (best == nullptr || row.predicted_gain_ms > best->predicted_gain_ms) best = &row;
      const double enough = keeps_from_one_graph(row.cause) ? kBlocksCaptureShare : kSpecificShare;
      if (loops && !keeps_from_one_graph(row.cause)) continue;
      if (row.cause != Cause::kLaunch && share_of_gain(row) > enough &&
          (specific == nullptr || goes_before(row, *specific)))
        specific = &row;
    }
    if (best == nullptr || best->cause != Cause::kLaunch || specific == nullptr) return best;
    return share_of_gain(*best) > kHealthyShare ? specific : best;
  }

  std::string sentence_of(const LedgerRow& row, bool keeps_from_graph) const {
    const LedgerRow* largest = largest_gain();
    std::string text = fmt::format(
        "{} is the {}: {} of the {} step ({}); fixing it {} {}{}.", cause_title(row.cause),
        &row == largest ? "largest recoverable cost" : "cost to remove first", in_step(row.ms),
        in_step(step()), format_percent(row.share), row.gain_is_bound ? "wins at most" : "should win about",
        in_step(row.predicted_gain_ms), recorder_matters() ? " of the " + unrecorded_text() : "");
    if (!gains_.can_predict())
      text += fmt::format(" How much of that is uncertain: the replayed step is off by {}.",
                          format_percent(gains_.error()));
    const bool keeps = keeps_from_graph || (&row != largest && keeps_from_one_graph(row.cause));
    if (!keeps && &row == largest) return text;
    const std::optional<double> graph = gains_.of_graph_after(row.cause);
    if (keeps)
      text +=
          " It also keeps the step from being launched as one graph" +
          (graph && worth_saying(*graph) ? fmt::format(", which would then win another {}.", in_step(*graph))
                                         : ".");
    else if (graph && !worth_saying(*graph))
      text += " Launch overhead goes with it.";
    else if (graph && one_graph_)
      text += fmt::format(
          " {}aunching the step as one graph would then win another {}.",
          *graph < kLittleLess * largest->predicted_gain_ms ? "Launch overhead goes with it in part: l" : "L",
          in_step(*graph));
    return text;
  }

  // Why a step in which nothing wins much cannot be called healthy, either; empty: it can.
  std::string why_not_judged() const {
    if (!gains_.has_launches() && idle_share() > kHealthyShare)
      return fmt::format(
          "the device was idle for {} of the {} step, and the trace does not say why: it has no launches "
          "of the host.",
          format_percent(idle_share()), in_step(step()));
    if (!study_.roofs.known())
      return fmt::format(
          "the device is busy for {} of the {} step, and without its roofs nothing says how fast its kernels "
          "could be. Nothing else could win back more than {:g} %.",
          format_percent(1 - idle_share()), in_step(step()), kHealthyShare * 100);
    if (const double unknown = unknown_share(*study_.trace); unknown > kMostUnknown)
      return fmt::format(
          "{} of the device's time went to work of which neither name nor operator says what it is. Nothing "
          "else could win back more than {:g} % of the {} step.",
          format_percent(unknown), kHealthyShare * 100, in_step(step()));
    return {};
  }

  std::string healthy_sentence() const {
    if (costed_share() < kJudgedShare)
      return fmt::format(
          "Healthy as far as the trace shows: nothing in it could win back more than {:g} % of the {} step. "
          "For {} of the device's time it says which kernels ran, but not on what (no operators, or no "
          "shapes), so how fast they could be is not judged.",
          kHealthyShare * 100, in_step(step()), format_percent(1 - costed_share()));
    return fmt::format("Healthy: no single cause could win back more than {:g} % of the {}.",
                       kHealthyShare * 100,
                       recorder_matters() ? unrecorded_text() : in_step(step()) + " step");
  }

  double step() const { return own_.typical.ms; }
  // As the ledger writes it.
  std::string in_step(double ms) const { return fixed_ms(ms, step()); }

  // The part of the device's computing whose work is known.
  double costed_share() const {
    double all = 0, costed = 0;
    for (const BusyInterval& interval : own_.occupancy.busy) {
      const Work& work = study_.timelines[study_.headline].works[interval.work];
      if (!own_.typical.counts(interval.window) || work.kind == WorkKind::kCollective) continue;
      all += interval.ns();
      const bool copy = work.kind == WorkKind::kCopyToDevice || work.kind == WorkKind::kCopyToHost;
      if (copy || (work.op != kNothing && own_.split.uses.rows[work.op].floor_ns > 0))
        costed += interval.ns();
    }
    return all > 0 ? costed / all : 1;
  }

  double idle_share() const {
    double share = 0;
    for (const LedgerRow& row : ledger_) share += is_busy(row.cause) ? 0 : row.share;
    return share;
  }

  // Where it was measured, the step that is told is the one without the recorder.
  bool recorder_matters() const { return gains_.recorder_slows() && !gains_.measured(); }
  std::string unrecorded_text() const {
    return fmt::format("{} that a step takes without the recorder", in_step(gains_.unrecorded_ms()));
  }

  const LedgerRow* launch() const {
    const auto at = std::find_if(ledger_.begin(), ledger_.end(),
                                 [](const LedgerRow& row) { return row.cause == Cause::kLaunch; });
    return at == ledger_.end() ? nullptr : &*at;
  }
  bool worth_saying(double gain) const { return gain >= kWorthSaying * gains_.unrecorded_ms(); }
  bool launch_is_slow() const { return launch() != nullptr && share_of_gain(*launch()) > kHealthyShare; }

  const Study& study_;
  const Gains& gains_;
  const std::vector<LedgerRow>& ledger_;
  const RankStudy& own_;
  bool one_graph_;  // what keeps the step from being launched as one is worth removing for that, too
};

}  // namespace

Verdict judge(const Study& study, const Gains& gains, const std::vector<LedgerRow>& ledger,
              const ProgramTraits& program) {
  return Judge(study, gains, ledger, program).run();
}

}  // namespace hone::analyze::device
