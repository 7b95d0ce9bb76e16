#include "report/json/parts.h"

namespace hone::report::json {

Json estimate(const analyze::Estimate& value) {
  return {{"median", value.median}, {"low", value.low}, {"high", value.high}};
}

Json ledger(const std::vector<analyze::LedgerRow>& rows) {
  Json list = Json::array();
  for (const analyze::LedgerRow& row : rows)
    list.push_back({{"cause", analyze::cause_name(row.cause)},
                    {"rule", row.rule},
                    {"ms", row.ms},
                    {"share", row.share},
                    {"evidence", row.evidence},
                    {"fix", row.fix},
                    {"predicted_gain_ms", row.predicted_gain_ms},
                    {"gain_is_bound", row.gain_is_bound},
                    {"title", row.title},
                    {"caveat", row.caveat}});
  return list;
}

Json top(const std::vector<analyze::TopOperator>& rows) {
  Json list = Json::array();
  for (const analyze::TopOperator& row : rows)
    list.push_back({{"rank", row.rank},
                    {"op", row.kind},
                    {"name", row.name},
                    {"ms", row.ms},
                    {"share", row.share},
                    {"flops", row.flops},
                    {"least_flops", row.least_flops},
                    {"executed_flops", row.executed_flops},
                    {"algorithm", row.algorithm},
                    {"bytes", row.bytes},
                    {"intensity", row.intensity},
                    {"roof", row.roof},
                    {"floor_ms", row.floor_ms},
                    {"fraction_of_roof", row.fraction_of_roof},
                    {"why", row.why}});
  return list;
}

std::string_view verdict(const analyze::Verdict& value) {
  if (value.cause) return analyze::cause_name(*value.cause);
  return value.judged ? "healthy" : "unjudged";
}

Json metrics(const analyze::Analysis& analysis) {
  Json json = Json::object();
  for (const auto& [name, value] : analysis.metrics) json[name] = value;
  return json;
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace hone::report::json
