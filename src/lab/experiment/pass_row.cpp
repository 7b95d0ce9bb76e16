#include "lab/experiment/pass_row.h"

#include <algorithm>

#include <fmt/core.h>

namespace hone::lab {

using analyze::PassRow;

PassRow make_row(const std::string& group, const passes::PipelineResult& tried) {
  PassRow row;
  row.name = group;
  Numerics numerics = Numerics::kExact, of_all = Numerics::kExact;
  std::string done;
  std::string missed;
  for (const passes::PassReport& report : tried.reports) {
    row.predicted_gain_ms += report.predicted_gain_ms;
    of_all = std::max(of_all, report.numerics);
    if (!report.done.empty()) {
      numerics = std::max(numerics, report.numerics);
      done += fmt::format("{}{}: {} ×", done.empty() ? "" : ", ", report.name, report.done.size());
    }
    for (const passes::Note& note : report.missed) {
      if (missed.empty()) missed = fmt::format("{}: {}", note.node, note.text);
    }
  }
  row.changed = changed(tried);
  row.numerics = std::string(numerics_name(done.empty() ? of_all : numerics));
  row.reason =
      done.empty() ? (missed.empty() ? "found nothing to change" : "changed nothing: " + missed) : done;
  return row;
}

bool changed(const passes::PipelineResult& tried) {
  return std::any_of(tried.reports.begin(), tried.reports.end(),
                     [](const passes::PassReport& report) { return !report.done.empty(); });
}

std::size_t changes_in(const passes::PipelineResult& tried) {
  std::size_t changes = 0;
  for (const passes::PassReport& report : tried.reports) changes += report.done.size();
  return changes;
}

analyze::Estimate gain_of(const PairedResult& speed, double step_ms) {
  const auto gain = [step_ms](double ratio) { return step_ms - step_ms / ratio; };
  return {gain(speed.ratio.median), gain(speed.ratio.low), gain(speed.ratio.high)};
}

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

analyze::PassCombination combine(std::span<PassRow* const> rows, const PairedResult& speed, double step_ms,
                                 const GateDecision& decision) {
  analyze::PassCombination combination;
  combination.measured_gain_ms = gain_of(speed, step_ms);
  combination.kept = decision.kept;
  combination.reason = decision.reason;
  for (PassRow* row : rows) {
    combination.passes.push_back(row->name);
    combination.predicted_gain_ms += row->predicted_gain_ms;
  }
  for (PassRow* row : rows) {
    std::vector<std::string> others;
    for (const std::string& name : combination.passes) {
      if (name != row->name) others.push_back(name);
    }
    row->kept = decision.kept;
    row->reason +=
        decision.kept
            ? fmt::format("; kept together with {}", listed(others))
            : fmt::format("; dropped: {} together with {} either",
                          speed.change == SpeedChange::kSlower ? "slower" : "no difference", listed(others));
  }
  return combination;
}

}  // namespace hone::lab
