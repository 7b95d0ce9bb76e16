#include "report/html.h"

#include <fmt/format.h>

#include "core/version.h"
#include "report/html/parts.h"
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
  Markup body = html::lab_hero(report);
  body += html::warnings_part(lab_warnings(report));
  body += html::ledger_part(report.baseline, &report.optimised);
  body += html::top_part(report.baseline, &report.optimised);
  body += html::roofline_part(report.roofs, report.baseline, &report.optimised);
  body += html::timeline_part(report.baseline, &report.optimised);
  body += html::passes_part(report);
  body += html::numerics_part(report);
  body += html::facts_part(report);
  body += footer(report.environment.hone_version, "measured on this machine");
  return page(fmt::format("{} · hone lab", shortened(clean_utf8(report.model.name), 60)), body);
}

std::string explain_html(const analyze::Analysis& analysis, const Roofs& roofs) {
  Markup body = html::explain_hero(analysis);
  body += html::warnings_part(analysis.warnings);
  body += html::ledger_part(analysis, nullptr);
  body += html::findings_part(analysis);
  body += html::step_part(analysis);
  body += html::ranks_part(analysis);
  body += html::late_rank_part(analysis);
  body += html::top_part(analysis, nullptr);
  body += html::kernels_part(analysis);
  body += html::roofline_part(roofs, analysis, nullptr);
  body += html::metrics_part(analysis);
  body += html::path_part(analysis);
  const std::string& known = analysis.roofs_source.empty() ? roofs.machine : analysis.roofs_source;
  body += footer(kVersion, known.empty() ? "none" : known);
  return page(fmt::format("{} · hone explain", shortened(clean_utf8(analysis.source), 60)), body,
              html::timeline_script());
}

std::string compare_html(const analyze::Comparison& comparison) {
  Markup body = html::compare_hero(comparison);
  body += html::warnings_part(comparison.caveats);
  body += html::compare_causes_part(comparison);
  body += html::compare_elsewhere_part(comparison);
  body += html::compare_operators_part(comparison);
  body += tag("footer",
              fmt::format("Written by hone {}. The recordings are taken as independent samples: what the "
                          "machines did meanwhile, no statistics can see.",
                          kVersion));
  return page("hone compare", body);
}

}  // namespace hone::report
