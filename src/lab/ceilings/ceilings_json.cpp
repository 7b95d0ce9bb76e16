#include "lab/ceilings/ceilings_json.h"

#include <nlohmann/json.hpp>

#include "trace/roofs_json.h"

namespace hone::lab {
namespace {

constexpr int kSchema = 1;

Result<Ceilings> parse(const nlohmann::ordered_json& json) {
  if (json.at("schema").get<int>() != kSchema) return corrupt("'schema' is another one");
  Ceilings ceilings;
  HONE_ASSIGN(ceilings.roofs, trace::roofs_from_json(json.at("roofs")));
  if (ceilings.roofs.compute.empty() || ceilings.roofs.memory.empty())
    return corrupt("there are no roofs in it");
  ceilings.quick = json.at("quick").get<bool>();
  ceilings.seconds = json.at("seconds").get<double>();
  ceilings.repetitions = json.at("repetitions").get<int>();
  ceilings.disturbed = json.at("disturbed").get<int>();
  ceilings.measured_at = json.at("measured_at").get<std::string>();
  ceilings.doubtful = json.value("doubtful", std::vector<std::string>());
  ceilings.notes = json.at("notes").get<std::vector<std::string>>();
  return ceilings;
}

}  // namespace

nlohmann::ordered_json ceilings_json(const Ceilings& ceilings) {
  return {{"schema", kSchema},
          {"measured_at", ceilings.measured_at},
          {"quick", ceilings.quick},
          {"seconds", ceilings.seconds},
          {"repetitions", ceilings.repetitions},
          {"disturbed", ceilings.disturbed},
          {"doubtful", ceilings.doubtful},
          {"notes", ceilings.notes},
          {"roofs", trace::roofs_to_json(ceilings.roofs)}};
}

// nlohmann's accessors throw on what is missing or of another type; this is where that becomes a Result.
Result<Ceilings> ceilings_from_json(const nlohmann::ordered_json& json) {
  try {
    return parse(json);
  } catch (const nlohmann::json::exception& error) {
    return corrupt(error.what());
  }
}

}  // namespace hone::lab
