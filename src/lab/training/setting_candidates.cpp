#include "lab/training/setting_candidates.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "passes/pipeline.h"

namespace hone::lab {
namespace {

SettingCandidate without(const analyze::PassRow& row, bool is_cure) {
  SettingCandidate candidate{
      fmt::format("without {}", row.name), fmt::format("{} left out", row.name),
      [name = row.name](model::RecipeTrain& train) { train.without_passes.push_back(name); }};
  candidate.is_cure = is_cure;
  if (!is_cure && row.measured_gain_ms) candidate.predicted_ms = -row.measured_gain_ms->median;
  return candidate;
}

SettingCandidate with(const analyze::PassRow& row) {
  SettingCandidate candidate{
      fmt::format("with {}", row.name), fmt::format("{} taken up again", row.name),
      [name = row.name](model::RecipeTrain& train) { std::erase(train.without_passes, name); }};
  if (row.measured_gain_ms) candidate.predicted_ms = row.measured_gain_ms->median;
  return candidate;
}

bool is_precision(const std::string& lossy_pass) { return lossy_pass == "bf16" || lossy_pass == "fp16"; }

SettingCandidate in_precision(const std::string& name, const analyze::PassRow& row) {
  SettingCandidate candidate{fmt::format("precision = {}", name), fmt::format("products in {}", name),
                             [name](model::RecipeTrain& train) { train.precision = name; }};
  candidate.is_asked_for = true;
  if (row.measured_gain_ms)
    candidate.predicted_ms = name == "f32" ? -row.measured_gain_ms->median : row.measured_gain_ms->median;
  return candidate;
}

}  // namespace

std::vector<SettingCandidate> pass_and_kernel_candidates(const model::RecipeTrain& train,
                                                         const std::vector<analyze::PassRow>& experiment,
                                                         bool learns_the_same) {
  std::vector<SettingCandidate> candidates;
  const std::vector<std::string>& left_out = train.without_passes;
  for (const analyze::PassRow& row : experiment) {
    const bool is_left_out = std::find(left_out.begin(), left_out.end(), row.name) != left_out.end();
    const bool slower = row.measured_gain_ms && row.measured_gain_ms->high < 0;
    if (!row.changed) continue;
    if (passes::lossy_limit_of(row.name) != 0) {
      // What fp16 learned in the experiment it learned without a scale for its loss, which the step of a recipe has.
      const bool is_worth_it = row.kept || row.name == "fp16";
      if (is_precision(row.name) && is_worth_it && train.precision == "f32")
        candidates.push_back(in_precision(row.name, row));
      const bool fits_f32 = train.weights == "f32" && train.residual == "f32";
      if (!row.kept && row.name == train.precision && fits_f32 && slower)
        candidates.push_back(in_precision("f32", row));
      continue;
    }
    if (row.kept && is_left_out) candidates.push_back(with(row));
    if (!row.kept && !is_left_out && !learns_the_same) candidates.push_back(without(row, true));
    if (!row.kept && !is_left_out && learns_the_same && slower) candidates.push_back(without(row, false));
  }
  if (train.deterministic)
    candidates.push_back({"deterministic = false", "kernels chosen by measuring",
                          [](model::RecipeTrain& changed) { changed.deterministic = false; }});
  return candidates;
}

std::vector<SettingCandidate> accumulation_candidates(const model::RecipeTrain& train) {
  std::vector<SettingCandidate> candidates;
  std::vector<int64_t> tried = {train.accumulate};
  for (const int64_t parts : {train.accumulate / 2, 2 * train.accumulate, int64_t{1}, 4 * train.accumulate}) {
    const bool is_known = std::find(tried.begin(), tried.end(), parts) != tried.end();
    if (parts < 1 || is_known || train.batch % parts != 0) continue;
    tried.push_back(parts);
    SettingCandidate candidate{
        fmt::format("accumulate = {}", parts),
        fmt::format("the batch of {} in {}", train.batch,
                    counted(static_cast<double>(parts), "micro-batch", "micro-batches")),
        [parts](model::RecipeTrain& changed) { changed.accumulate = parts; }};
    candidate.is_another_program = true;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::string why_not_accumulated(const model::RecipeTrain& train, const TrainingProgram& program) {
  if (!program.model.statistics.empty())
    return "batch normalisations take their statistics from each micro-batch: other micro-batches would be "
           "another training";
  if (train.batch == 1) return "a batch of one sample has no parts";
  return "";
}

}  // namespace hone::lab
