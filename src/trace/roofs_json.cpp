#include "trace/roofs_json.h"

#include <cmath>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hone::trace {
namespace {

using Json = nlohmann::ordered_json;

template <typename Spread>  // Rate or Duration
Json spread_to_json(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

template <typename Spread>
Spread spread_from_json(const Json& json, const char* field) {
  const Json& object = json.at(field);
  const Spread spread{object.at("median").get<double>(), object.at("low").get<double>(),
                      object.at("high").get<double>()};
  const bool good = std::isfinite(spread.high) && spread.low >= 0 && spread.low <= spread.median &&
                    spread.median <= spread.high;
  if (!good) throw std::domain_error(fmt::format("'{}' is not a measurement with its spread", field));
  return spread;
}

Roofs parse(const Json& json) {
  Roofs roofs;
  roofs.machine = json.at("machine").get<std::string>();
  roofs.threads = json.at("threads").get<int>();
  for (const Json& row : json.at("compute")) {
    const auto dtype = dtype_from_name(row.at("dtype").get<std::string>());
    if (!dtype) throw std::domain_error("'dtype' is not one");
    roofs.compute.push_back({*dtype, row.at("method").get<std::string>(), row.at("threads").get<int>(),
                             spread_from_json<Rate>(row, "flops_per_s")});
  }
  for (const Json& row : json.at("memory"))
    roofs.memory.push_back({row.at("level").get<std::string>(), row.at("operation").get<std::string>(),
                            row.at("threads").get<int>(), row.at("capacity_bytes").get<double>(),
                            spread_from_json<Rate>(row, "bytes_per_s")});
  roofs.barrier = spread_from_json<Duration>(json, "barrier_s");
  roofs.thread_start = spread_from_json<Duration>(json, "thread_start_s");
  return roofs;
}

}  // namespace

Json roofs_to_json(const Roofs& roofs) {
  Json compute = Json::array(), memory = Json::array();
  for (const ComputeRoof& roof : roofs.compute)
    compute.push_back({{"dtype", std::string(dtype_name(roof.dtype))},
                       {"method", roof.method},
                       {"threads", roof.threads},
                       {"flops_per_s", spread_to_json(roof.flops)}});
  for (const MemoryRoof& roof : roofs.memory)
    memory.push_back({{"level", roof.level},
                      {"operation", roof.operation},
                      {"threads", roof.threads},
                      {"capacity_bytes", roof.capacity_bytes},
                      {"bytes_per_s", spread_to_json(roof.bytes)}});
  return {{"machine", roofs.machine},
          {"threads", roofs.threads},
          {"compute", std::move(compute)},
          {"memory", std::move(memory)},
          {"barrier_s", spread_to_json(roofs.barrier)},
          {"thread_start_s", spread_to_json(roofs.thread_start)}};
}

Result<Roofs> roofs_from_json(const Json& json) {
  try {
    return parse(json);
  } catch (const nlohmann::json::exception& error) {
    const std::string_view text =
        error.what();  // "[json.exception.out_of_range.403] key 'machine' not found"
    const std::size_t end = text.find("] ");
    return corrupt(fmt::format("roofs: {}", end == text.npos ? text : text.substr(end + 2)));
  } catch (const std::domain_error& error) {
    return corrupt(fmt::format("roofs: {}", error.what()));
  }
}

}  // namespace hone::trace
