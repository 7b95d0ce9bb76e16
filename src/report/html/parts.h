// The parts of the page, in the order in which they stand on it. Each returns a whole <section>, or nothing
// where it has nothing to say. `after` is null where there is only one run to show.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/compare.h"
#include "analyze/findings.h"
#include "analyze/program_report.h"
#include "analyze/training/compare_training.h"
#include "analyze/training/training_run.h"
#include "report/description/grid.h"
#include "report/markup.h"

namespace hone::report::html {

// The whole of a name that is shown shortened, within reason; empty where it is shown whole.
std::string title_of(std::string_view name, std::size_t shown);
// A part of the page with a heading of its own; without content it is not there.
struct Section {
  std::string id;
  std::string name;  // in the list of contents
  Markup content;
};
// With its heading and one line that says how to read it. `name`: shorter than the title, for the contents.
Section section(std::string_view id, std::string_view title, std::string_view lead, const Markup& content,
                std::string_view name = {});
// Those that are there, and the list that leads to them.
Markup contents_list(const std::vector<Section>& sections);
Markup all_sections(const std::vector<Section>& sections);
// Text in which a number does not part from its unit at the end of a line, and long words break well.
Markup prose(std::string_view text);
// A sentence that may name code: that is set in code type and stays in one piece where a line has room for
// it.
Markup with_code(std::string_view text);
// A number in a table; `name` stands before it where the page is too narrow for columns. Where it is empty,
// nothing stands there. `sort_by` is what the column is sorted by.
Markup cell(std::string_view name, const std::string& value, std::optional<double> sort_by = {});
// A table of an analysis, which readers may sort; empty without rows.
Markup table(const Grid& grid);
// A chart in both widths: `draw` takes a svg::Canvas.
template <typename Draw>
Markup chart(Draw draw);

// Only in reports of experiments that ran to their end.
Section change_part(const analyze::LabReport& report);
Markup lab_hero(const analyze::LabReport& report);
Markup explain_hero(const analyze::Analysis& analysis);
Section ledger_part(const analyze::Analysis& before, const analyze::Analysis* after);
Section top_part(const analyze::Analysis& before, const analyze::Analysis* after);
Section roofline_part(const Roofs& roofs, const analyze::Analysis& before, const analyze::Analysis* after);
Section timeline_part(const analyze::Analysis& before, const analyze::Analysis* after);
// The legend of the operator classes that occur in the timeline.
Markup class_legend(const analyze::Analysis& before, const analyze::Analysis* after, const Markup& extra);

// A line of evidence. The name of a part of the finding that begins it leads to its place in the timeline of
// step_part.
Markup evidence_line(std::string_view line, const std::vector<analyze::FindingPart>& parts);

// A name that leads to a place in that timeline.
Markup place_link(const analyze::TimelinePlace& place, const Markup& name);

// Of recipes only.
Section learning_part(const analyze::LabReport& report);

// In explanations only; empty where the analysis has nothing of the kind.
Section findings_part(const analyze::Analysis& analysis);
Section step_part(const analyze::Analysis& analysis);
Section kernels_part(const analyze::Analysis& analysis);
Section counters_part(const analyze::Analysis& analysis);
Section ranks_part(const analyze::Analysis& analysis);
Section late_rank_part(const analyze::Analysis& analysis);
Section metrics_part(const analyze::Analysis& analysis);
Section sampled_part(const analyze::Analysis& analysis);
Section memory_part(const analyze::Analysis& analysis);
Section path_part(const analyze::Analysis& analysis);

Markup compare_hero(const analyze::Comparison& comparison);
Section compare_causes_part(const analyze::Comparison& comparison);
Section compare_findings_part(const analyze::Comparison& comparison);
Section compare_operators_part(const analyze::Comparison& comparison);
Section compare_counters_part(const analyze::Comparison& comparison);
Section compare_elsewhere_part(const analyze::Comparison& comparison);

// Of loops on somebody else's program.
Markup program_hero(const analyze::ProgramReport& report);
Section changes_part(const analyze::ProgramReport& report);
Section lines_part(const analyze::ProgramReport& report);
Section losses_part(const analyze::ProgramReport& report);
Section repeat_part(const analyze::ProgramReport& report);

// Of a training run.
Markup training_hero(const analyze::TrainingRun& run);
Section learning_part(const analyze::TrainingRun& run);
Section pace_part(const analyze::TrainingRun& run);
Section no_steps_part(const analyze::TrainingRun& run);  // where no step of it was recorded
Section training_memory_part(const analyze::TrainingRun& run);
Section recipe_part(const analyze::TrainingRun& run);
Section training_facts_part(const analyze::TrainingRun& run);

Markup compare_training_hero(const analyze::TrainingComparison& comparison);
Section compare_training_time_part(const analyze::TrainingComparison& comparison);
Section compare_training_learning_part(const analyze::TrainingComparison& comparison,
                                       std::span<const analyze::TrainingRun> a,
                                       std::span<const analyze::TrainingRun> b);
Section compare_training_recipe_part(const analyze::TrainingComparison& comparison);

// A line of a <dl>; nothing where there is no value.
Markup fact(std::string_view name, const std::string& value);
Markup card(std::string_view title, const Markup& content);
Markup environment_facts(const analyze::Environment& where, const Roofs& roofs,
                         const analyze::RoofsOrigin& origin);

Section passes_part(const analyze::LabReport& report);
// Of passes that narrow types.
Section precision_part(const analyze::LabReport& report);
Section numerics_part(const analyze::LabReport& report);
Section facts_part(const analyze::LabReport& report);
Markup warnings_part(const std::vector<std::string>& warnings);

// Two panels of which one is shown, switched without script. The second is shown first.
Markup tabs(std::string_view id, std::string_view first_name, const Markup& first,
            std::string_view second_name, const Markup& second);

// The page's style sheet and script (style.cpp, script.cpp): raw strings in sources of their own rather than
// files embedded by CMake, so that the library builds anywhere without a generator step.
std::string style();
std::string_view script();
std::string_view timeline_script();  // of step_part (timeline/script.cpp)

}  // namespace hone::report::html

#include "report/svg/chart.h"

template <typename Draw>
hone::report::Markup hone::report::html::chart(Draw draw) {
  return draw(svg::kWide) + draw(svg::kCompact);
}
