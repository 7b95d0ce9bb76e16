// The ledger and the findings.
#include <optional>

#include "report/description/analysis.h"
#include "report/description/grids.h"
#include "report/words.h"

namespace hone::report {
namespace {

using analyze::Analysis, analyze::CallingLine, analyze::Finding, analyze::FindingPart, analyze::HostLine,
    analyze::LedgerRow;

const Fields<FindingPart>& part_fields() {
  static const Fields<FindingPart> fields = {
      {"name", Unit::kName, "the operator, kernel or call", &FindingPart::name},
      {"ms", Unit::kMs, "of the step", &FindingPart::ms},
      {"count", Unit::kCount, "works, gaps, waits or calls; 0: nothing to count", &FindingPart::count},
  };
  return fields;
}

const Fields<CallingLine>& calling_line_fields() {
  static const Fields<CallingLine> fields = {
      {"line", Unit::kText, "of the program: `train.py:31`, where a function begins", &CallingLine::line},
      {"package", Unit::kText, "the line of a package that it called for them; may be empty",
       &CallingLine::package},
      {"ms", Unit::kMs, "of the step", &CallingLine::ms},
  };
  return fields;
}

const Fields<HostLine>& host_line_fields() {
  static const Fields<HostLine> fields = {
      {"where", Unit::kText, "function, file and line as people say them", &HostLine::where},
      {"function", Unit::kName, "the function", &HostLine::function},
      {"file", Unit::kText, "path of its source, or of its binary", &HostLine::file},
      {"line", Unit::kInteger, "of the source; 0: not known", &HostLine::line},
      {"share", Unit::kShare, "of the samples", &HostLine::share},
      {"samples", Unit::kCount, "of all lines together", &HostLine::samples},
      {"calls", Unit::kText, "what most samples of the line were in", &HostLine::calls},
      {"waits", Unit::kText, "what most of them waited for", &HostLine::waits},
      {"pid", Unit::kInteger, "of the process", &HostLine::pid},
      {"of", Unit::kText, "whose samples, if not those of the thread that drives the device", &HostLine::of},
  };
  return fields;
}

}  // namespace

const Fields<LedgerRow>& ledger_fields() {
  static const Fields<LedgerRow> fields = {
      Field<LedgerRow>("cause", Unit::kText, "what the time went to", &LedgerRow::cause)
          .show({.heading = "cause",
                 .text = [](const LedgerRow& row,
                            const Analysis& a) { return std::string(row_label(a, row.cause)); }}),
      {"rule", Unit::kText, "whose fix it is, as `rule` of a finding", &LedgerRow::rule},
      Field<LedgerRow>("ms", Unit::kMs, "per step; the rows add up to it", &LedgerRow::ms)
          .show({.heading = "per step"}),
      Field<LedgerRow>("share", Unit::kShare, "of the step", &LedgerRow::share).show({.heading = "share"}),
      {"evidence", Unit::kList, "numbers and names that can be checked", &LedgerRow::evidence},
      {"fix", Unit::kText, "what to do; empty for `floor`", &LedgerRow::fix},
      Field<LedgerRow>("predicted_gain_ms", Unit::kMs, "what the fix should win",
                       &LedgerRow::predicted_gain_ms)
          .show({.heading = "a fix could win",
                 .text = [](const LedgerRow& row,
                            const Analysis& a) { return gain_text(row, a.step.ms.median); }}),
      {"gain_is_bound", Unit::kFlag, "the fix wins that at most; how much cannot be predicted",
       &LedgerRow::gain_is_bound},
      {"title", Unit::kText, "the row as a sentence", &LedgerRow::title},
      {"caveat", Unit::kText, "when the fix wins less; may be empty", &LedgerRow::caveat},
      table_field("lines", "ledger_lines",
                  "lines of the program that the host was at meanwhile, most often first", host_line_fields(),
                  &LedgerRow::lines),
  };
  return fields;
}

const Fields<analyze::ChangeGain>& change_fields() {
  static const Fields<analyze::ChangeGain> fields = {
      {"change", Unit::kText, "its name: `autocast_bf16`", &analyze::ChangeGain::change},
      {"predicted_gain_ms", Unit::kMs,
       "what it should win over all causes: what a finding predicts is of the finding's cause alone",
       &analyze::ChangeGain::predicted_gain_ms},
  };
  return fields;
}

const Fields<Finding>& finding_fields() {
  static const Fields<Finding> fields = {
      {"rule", Unit::kText, "its stable name, by which programs know it: `tf32_products`", &Finding::rule},
      {"cause", Unit::kText, "the cause in the ledger", &Finding::cause},
      {"title", Unit::kText, "what is wrong, as a sentence", &Finding::title},
      {"evidence", Unit::kList, "numbers and names that can be checked", &Finding::evidence},
      {"fix", Unit::kText, "what to do", &Finding::fix},
      {"caveat", Unit::kText, "when that wins less; may be empty", &Finding::caveat},
      {"ms", Unit::kMs, "of the step that it is about", &Finding::ms},
      {"predicted_gain_ms", Unit::kMs, "what the fix should win; null: that is not predicted",
       [](const Finding& row) {
         return row.predicted_gain_ms > 0 ? std::optional(row.predicted_gain_ms) : std::nullopt;
       }},
      {"gain_is_bound", Unit::kFlag, "the fix wins that at most", &Finding::gain_is_bound},
      Field<Finding>(
          "effort", Unit::kText,
          "what the fix asks: a `setting`, `code` of the program written anew, another `model`, or "
          "changes in the code of a `package` that the program calls",
          [](const Finding& row) { return std::string(effort_name(row.effort)); }),
      table_field("called_from", "finding_callers", "lines of the program that called its operators, by time",
                  calling_line_fields(), &Finding::called_from),
      table_field("parts", "finding_parts", "what is behind it, largest first", part_fields(),
                  &Finding::parts),
      table_field("lines", "finding_lines",
                  "lines of the program that the host was at meanwhile, most often first", host_line_fields(),
                  &Finding::lines),
  };
  return fields;
}

Grid ledger_grid(const Analysis& analysis, Form form) {
  return make_grid(ledger_fields(), analysis.ledger, analysis, form);
}

}  // namespace hone::report
