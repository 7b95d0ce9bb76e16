#include "report/html.h"

#include <fmt/format.h>

#include "core/version.h"
#include "report/counter_words.h"
#include "report/html/parts.h"
#include "report/program_words.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report {
namespace {

std::string page(std::string_view title, const Markup& body, std::string_view more_script = {}) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<main>{}</main>\n<script>{}{}</script>\n</"
      "body>\n</html>\n",
      Markup::text(title).bytes(), html::style(), body.bytes(), html::script(), more_script);
}

Markup footer(std::string_view version, std::string_view roofs) {
  return tag(
      "footer",
      fmt::format(
          "Written by hone{}{}. Floor: the larger of FLOPs ÷ compute roof and compulsory bytes ÷ "
          "bandwidth roof, summed over operators; FLOPs are those of the cheapest known algorithm, so the "
          "floor is the same whatever kernels run. Roofs: {}.",
          version.empty() ? "" : " ", version, roofs));
}

}  // namespace

std::string lab_html(const analyze::LabReport& report) {
  const analyze::Analysis* const after = has_result(report) ? &report.optimised : nullptr;
  const std::vector<html::Section> sections = {
      html::change_part(report),
      html::ledger_part(report.baseline, after),
      html::top_part(report.baseline, after),
      html::counters_part(counted_side(report)),
      html::roofline_part(report.roofs, report.baseline, after),
      html::timeline_part(report.baseline, after),
      html::passes_part(report),
      html::precision_part(report),
      html::learning_part(report),
      html::numerics_part(report),
      html::facts_part(report),
  };
  Markup body = html::lab_hero(report) + html::contents_list(sections);
  body += html::warnings_part(lab_warnings(report)) + html::all_sections(sections);
  body += footer(report.environment.hone_version, "measured on this machine");
  return page(fmt::format("{} · hone lab", shortened(clean_utf8(report.model.name), 60)), body);
}

std::string explain_html(const analyze::Analysis& analysis, const Roofs& roofs) {
  const std::vector<html::Section> sections = {
      html::ledger_part(analysis, nullptr),
      html::findings_part(analysis),
      html::step_part(analysis),
      html::ranks_part(analysis),
      html::late_rank_part(analysis),
      html::top_part(analysis, nullptr),
      html::kernels_part(analysis),
      html::counters_part(analysis),
      html::roofline_part(roofs, analysis, nullptr),
      html::metrics_part(analysis),
      html::sampled_part(analysis),
      html::memory_part(analysis),
      html::path_part(analysis),
  };
  Markup body = html::explain_hero(analysis) + html::contents_list(sections);
  body += html::warnings_part(analysis.warnings) + html::all_sections(sections);
  const std::string& known = analysis.roofs_source.empty() ? roofs.machine : analysis.roofs_source;
  body += footer(kVersion, known.empty() ? "none" : known);
  return page(fmt::format("{} · hone explain", shortened(clean_utf8(analysis.source), 60)), body,
              html::timeline_script());
}

std::string program_html(const analyze::ProgramReport& report) {
  const std::vector<html::Section> sections = {
      html::lines_part(report),
      html::changes_part(report),
      html::losses_part(report),
      html::ledger_part(report.baseline, nullptr),
      html::findings_part(report.baseline),
      html::top_part(report.baseline, nullptr),
      html::repeat_part(report),
  };
  Markup body = html::program_hero(report) + html::contents_list(sections);
  body += html::warnings_part(report.baseline.warnings) + html::all_sections(sections);
  body += footer(kVersion, report.baseline.roofs_source.empty() ? "none" : report.baseline.roofs_source);
  return page(fmt::format("{} · hone lab", shortened(command_text(report), 60)), body);
}

std::string training_html(const analyze::TrainingRun& run) {
  std::vector<html::Section> sections = {html::learning_part(run), html::pace_part(run)};
  if (run.recorded) {
    sections.push_back(html::ledger_part(*run.recorded, nullptr));
    sections.push_back(html::metrics_part(*run.recorded));
    sections.push_back(html::top_part(*run.recorded, nullptr));
    sections.push_back(html::roofline_part(run.roofs, *run.recorded, nullptr));
    sections.push_back(html::timeline_part(*run.recorded, nullptr));
  } else {
    sections.push_back(html::no_steps_part(run));
  }
  sections.push_back(html::training_memory_part(run));
  sections.push_back(html::recipe_part(run));
  sections.push_back(html::training_facts_part(run));
  Markup body = html::training_hero(run) + html::contents_list(sections);
  if (run.recorded) body += html::warnings_part(run.recorded->warnings);
  body += html::all_sections(sections) + footer(kVersion, "measured on the machine that ran it");
  return page(fmt::format("{} · hone train", shortened(clean_utf8(run.name), 60)), body);
}

std::string compare_html(const analyze::Comparison& comparison) {
  const std::vector<html::Section> sections = {
      html::compare_causes_part(comparison),    html::compare_findings_part(comparison),
      html::compare_counters_part(comparison),  html::compare_elsewhere_part(comparison),
      html::compare_operators_part(comparison),
  };
  Markup body = html::compare_hero(comparison) + html::contents_list(sections);
  body += html::warnings_part(comparison.caveats) + html::all_sections(sections);
  body += tag("footer", fmt::format("Written by hone {}. The recordings are treated as independent samples; "
                                    "statistics cannot see what else the machines were doing.",
                                    kVersion));
  return page("hone compare", body);
}

std::string compare_training_html(const analyze::TrainingComparison& comparison,
                                  std::span<const analyze::TrainingRun> a,
                                  std::span<const analyze::TrainingRun> b) {
  const std::vector<html::Section> sections = {
      html::compare_training_time_part(comparison),
      html::compare_training_learning_part(comparison, a, b),
      html::compare_training_recipe_part(comparison),
  };
  Markup body = html::compare_training_hero(comparison) + html::contents_list(sections);
  body += html::warnings_part(comparison.caveats) + html::all_sections(sections);
  body += tag(
      "footer",
      fmt::format("Written by hone {}. Intervals and tests are at 95 %; each row's test stands alone, and "
                  "the verdict goes by the first row of learning.",
                  kVersion));
  return page("hone compare", body);
}

}  // namespace hone::report
