#include "lab/ceilings/roofs_json.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

namespace hone::lab {
namespace {

constexpr int kSchema = 1;

template <typename Spread>
nlohmann::json spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

template <typename Spread>
Spread spread_from(const nlohmann::json& json, const char* field) {
  const nlohmann::json& object = json.at(field);
  const Spread spread{object.at("median").get<double>(), object.at("low").get<double>(),
                      object.at("high").get<double>()};
  const bool good = std::isfinite(spread.high) && spread.low > 0 && spread.low <= spread.median &&
                    spread.median <= spread.high;
  if (!good) throw std::domain_error(fmt::format("'{}' is not a measurement with its spread", field));
  return spread;
}

Roofs parse_roofs(const nlohmann::json& json) {
  Roofs roofs;
  roofs.machine = json.at("machine").get<std::string>();
  roofs.threads = json.at("threads").get<int>();
  for (const auto& row : json.at("compute")) {
    const auto dtype = dtype_from_name(row.at("dtype").get<std::string>());
    if (!dtype) throw std::domain_error("'dtype' is not one");
    roofs.compute.push_back({*dtype, row.at("method").get<std::string>(), row.at("threads").get<int>(),
                             spread_from<Rate>(row, "flops_per_s")});
  }
  for (const auto& row : json.at("memory"))
    roofs.memory.push_back({row.at("level").get<std::string>(), row.at("operation").get<std::string>(),
                            row.at("threads").get<int>(), row.at("capacity_bytes").get<double>(),
                            spread_from<Rate>(row, "bytes_per_s")});
  if (roofs.compute.empty() || roofs.memory.empty()) throw std::domain_error("there are no roofs in it");
  roofs.barrier = spread_from<Duration>(json, "barrier_s");
  roofs.thread_start = spread_from<Duration>(json, "thread_start_s");
  return roofs;
}

// nlohmann's accessors throw on what is missing or of another type; this is where that becomes a Result.
template <typename F>
auto guarded(const F& parse) -> Result<decltype(parse())> {
  try {
    return parse();
  } catch (const nlohmann::json::exception& error) {
    return corrupt(error.what());
  } catch (const std::domain_error& error) {
    return corrupt(error.what());
  }
}

}  // namespace

nlohmann::json roofs_json(const Roofs& roofs) {
  nlohmann::json compute = nlohmann::json::array(), memory = nlohmann::json::array();
  for (const ComputeRoof& row : roofs.compute)
    compute.push_back({{"dtype", dtype_name(row.dtype)},
                       {"method", row.method},
                       {"threads", row.threads},
                       {"flops_per_s", spread_json(row.flops)}});
  for (const MemoryRoof& row : roofs.memory)
    memory.push_back({{"level", row.level},
                      {"operation", row.operation},
                      {"threads", row.threads},
                      {"capacity_bytes", row.capacity_bytes},
                      {"bytes_per_s", spread_json(row.bytes)}});
  return {{"machine", roofs.machine},
          {"threads", roofs.threads},
          {"compute", compute},
          {"memory", memory},
          {"barrier_s", spread_json(roofs.barrier)},
          {"thread_start_s", spread_json(roofs.thread_start)}};
}

Result<Roofs> roofs_from_json(const nlohmann::json& json) {
  return guarded([&] { return parse_roofs(json); });
}

nlohmann::json ceilings_json(const Ceilings& ceilings) {
  return {
      {"schema", kSchema},           {"measured_at", ceilings.measured_at}, {"quick", ceilings.quick},
      {"seconds", ceilings.seconds}, {"repetitions", ceilings.repetitions}, {"disturbed", ceilings.disturbed},
      {"notes", ceilings.notes},     {"roofs", roofs_json(ceilings.roofs)}};
}

Result<Ceilings> ceilings_from_json(const nlohmann::json& json) {
  return guarded([&] {
    if (json.at("schema").get<int>() != kSchema) throw std::domain_error("'schema' is another one");
    Ceilings ceilings;
    ceilings.roofs = parse_roofs(json.at("roofs"));
    ceilings.quick = json.at("quick").get<bool>();
    ceilings.seconds = json.at("seconds").get<double>();
    ceilings.repetitions = json.at("repetitions").get<int>();
    ceilings.disturbed = json.at("disturbed").get<int>();
    ceilings.measured_at = json.at("measured_at").get<std::string>();
    ceilings.notes = json.at("notes").get<std::vector<std::string>>();
    return ceilings;
  });
}

}  // namespace hone::lab
