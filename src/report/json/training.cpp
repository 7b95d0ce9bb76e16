// A comparison of trainings as JSON, schema 1.
#include <cmath>

#include "report/json.h"
#include "report/json/parts.h"

namespace hone::report {
namespace {

using json::Json;

Json finite_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json test_json(const std::optional<MeansTest>& test) {
  if (!test) return nullptr;
  return {{"kind", test->paired ? "paired" : "welch"},
          {"difference", finite_json(test->difference)},
          {"low", finite_json(test->low)},
          {"high", finite_json(test->high)},
          {"p", finite_json(test->p)},
          {"freedom", finite_json(test->freedom)},
          {"detectable", finite_json(test->detectable)}};
}

Json difference_json(const analyze::Difference& difference) {
  const analyze::Estimate& change = difference.change_ms;
  return {{"median", finite_json(change.median)},
          {"low", finite_json(change.low)},
          {"high", finite_json(change.high)}};
}

Json time_json(const analyze::TimeChange& time) {
  return {{"a", finite_json(time.a_ms)},
          {"b", finite_json(time.b_ms)},
          {"change_ms", difference_json(time.difference)},
          {"test", test_json(time.test)},
          {"certainty", analyze::certainty_name(time.certainty)}};
}

Json numbers_json(const analyze::LearningNumber& row) {
  return {{"id", row.id},
          {"name", row.name},
          {"larger_is_better", row.larger_is_better},
          {"a", row.a},
          {"b", row.b},
          {"a_mean", finite_json(row.a_mean())},
          {"b_mean", finite_json(row.b_mean())},
          {"test", test_json(row.test)},
          {"change", analyze::learning_change_name(row.change)}};
}

}  // namespace

std::string compare_training_json(const analyze::TrainingComparison& c) {
  Json out = {{"schema", 1}, {"what", "training"},           {"a", c.a},
              {"b", c.b},    {"step_ms", time_json(c.step)}, {"input_wait_ms", time_json(c.wait)}};
  out["ledger"] = Json::array();
  for (const analyze::CauseChange& row : c.ledger)
    out["ledger"].push_back({{"cause", analyze::cause_name(row.cause)},
                             {"a_ms", finite_json(row.a_ms)},
                             {"b_ms", finite_json(row.b_ms)},
                             {"change_ms", difference_json(row.difference)},
                             {"certainty", analyze::certainty_name(row.difference.certainty)}});
  out["operators"] = Json::array();
  for (const analyze::OperatorChange& row : c.operators)
    out["operators"].push_back({{"a", row.a},
                                {"b", row.b},
                                {"kind", row.kind},
                                {"a_ms", finite_json(row.a_ms)},
                                {"b_ms", finite_json(row.b_ms)},
                                {"change_ms", difference_json(row.difference)},
                                {"certainty", analyze::certainty_name(row.difference.certainty)}});
  out["learning"] = {{"change", analyze::learning_change_name(c.learning)},
                     {"same_losses", c.same_losses},
                     {"compared_steps", c.compared_steps}};
  out["learning"]["numbers"] = Json::array();
  for (const analyze::LearningNumber& row : c.numbers)
    out["learning"]["numbers"].push_back(numbers_json(row));
  out["recipe"] = Json::array();
  for (const analyze::RecipeChange& row : c.recipe)
    out["recipe"].push_back({{"key", row.key},
                             {"a", row.a.empty() ? Json(nullptr) : Json(row.a)},
                             {"b", row.b.empty() ? Json(nullptr) : Json(row.b)}});
  out["time_sentence"] = c.time_sentence;
  out["learning_sentence"] = c.learning_sentence;
  out["caveats"] = c.caveats;
  return json::dump(out);
}

}  // namespace hone::report
