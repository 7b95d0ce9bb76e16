#include "analyze/device/change_gains.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

using Times = std::vector<std::vector<double>>;  // by rank and work, in ns

constexpr std::string_view kBf16 = "autocast_bf16";

// A pass over images that reaches this part of its roof takes half of the time in half of the bytes.
constexpr double kByItsBytes = 0.35;

bool advises_first(const DeviceRule& row, std::string_view change) { return row.changes.front() == change; }

bool is_product_too_wide(const DeviceRule& row) {
  return row.cause == Cause::kPrecision && advises_first(row, kBf16);
}

class ChangeReplay {
 public:
  ChangeReplay(const Study& study, const Accounts& accounts, const Gains& gains)
      : study_(study), accounts_(accounts), gains_(gains) {}

  double gain_ms(std::string_view change) const {
    double by_host = 0;
    for (const Cause cause : all_causes()) by_host += of_other_models(cause, change);
    const bool narrows = change == kBf16;
    Times added;
    if (narrows)
      added = gains_.casts_ns([](const WorkSplit& split) { return is_product_too_wide(row_of(split.rule)); });
    return gains_.of_works(times(change, narrows), std::move(added)) + by_host;
  }

 private:
  // Of rules whose gain is none of other times of works: the largest of a cause, as one may be a part of another. None wins more than
  // the time that it has.
  double of_other_models(Cause cause, std::string_view change) const {
    const Account& account = accounts_[static_cast<std::size_t>(cause)];
    double most = 0;
    for (int i = 0; i < kRuleCount; ++i) {
      const DeviceRule& row = row_of(static_cast<Rule>(i));
      const bool models = row.gain == GainModel::kJoinedTurns || row.gain == GainModel::kCause;
      const double ms = row.cause == cause ? account.of(row.rule) : 0;
      if (ms > 0 && models && advises_first(row, change))
        most = std::max(most, std::min(ms, gains_.of(row.rule)));
    }
    return most;
  }

  Times times(std::string_view change, bool narrows) const {
    Times all;
    for (std::size_t rank = 0; rank < study_.ranks.size(); ++rank) {
      std::vector<double> ns;
      const RankTimeline& timeline = study_.timelines[rank];
      for (std::size_t i = 0; i < timeline.works.size(); ++i) {
        const Work& work = timeline.works[i];
        const WorkSplit& split = study_.ranks[rank].split.works[i];
        const DeviceRule& row = row_of(split.rule);
        if (narrows)
          ns.push_back(in_16_bits(rank, work, split, row));
        else
          ns.push_back(advises_first(row, change) && row.gain == GainModel::kWorks
                           ? split.target_ns
                           : static_cast<double>(work.ns()));
      }
      all.push_back(std::move(ns));
    }
    return all;
  }

  double in_16_bits(std::size_t rank, const Work& work, const WorkSplit& split, const DeviceRule& row) const {
    const auto ns = static_cast<double>(work.ns());
    if (work.op == kNothing) return is_product_too_wide(row) ? split.target_ns : ns;
    const OperatorUses& uses = study_.ranks[rank].split.uses;
    const OperatorUse& use = uses.rows[work.op];
    const trace::Operator& op = study_.trace->operators[work.op];
    const double reached = use.roof_ns > 0 ? use.roof_ns * uses.part(work) / ns : 0;
    if (is_product_too_wide(row)) {
      if (!use.is_product || use.floor_ns <= 0) return split.target_ns;
      const double good = op.what == trace::OperatorKind::kAttention
                              ? kGoodAttention
                              : std::clamp(reached, 0.2, kGoodNarrowProduct);
      return std::min(split.target_ns, use.floor_ns * uses.part(work) / good);
    }
    const bool of_model = op.phase != trace::Phase::kOptimizer;
    const bool passes_images = !use.is_product && use.memory_bound && is_image(use.inputs);
    return of_model && op.dtype == DType::kF32 && passes_images && reached >= kByItsBytes ? ns / 2 : ns;
  }

  const Study& study_;
  const Accounts& accounts_;
  const Gains& gains_;
};

std::vector<std::string_view> changes_of(const Accounts& accounts) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kRuleCount; ++i) {
    const DeviceRule& row = row_of(static_cast<Rule>(i));
    const std::string_view name = row.changes.front();
    if (name.empty() || accounts[static_cast<std::size_t>(row.cause)].of(row.rule) <= 0) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace

std::vector<ChangeGain> change_gains(const Study& study, const Accounts& accounts, const Gains& gains) {
  std::vector<ChangeGain> all;
  if (study.trace->meta.framework != trace::Framework::kPyTorch || !gains.can_predict()) return all;
  const ChangeReplay replay(study, accounts, gains);
  for (const std::string_view change : changes_of(accounts))
    all.push_back({std::string(change), std::min(gains.unrecorded_ms(), replay.gain_ms(change))});
  std::stable_sort(all.begin(), all.end(), [](const ChangeGain& a, const ChangeGain& b) {
    return a.predicted_gain_ms > b.predicted_gain_ms;
  });
  return all;
}

}  // namespace hone::analyze::device
