#include "trace/roofs_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hone::trace {
namespace {

using Json = nlohmann::ordered_json;

Json rate_to_json(const Rate& rate) {
  return {{"median", rate.median}, {"low", rate.low}, {"high", rate.high}};
}

Rate rate_from_json(const Json& json) {
  return {json.value("median", 0.0), json.value("low", 0.0), json.value("high", 0.0)};
}

Json duration_to_json(const Duration& time) {
  return {{"median", time.median}, {"low", time.low}, {"high", time.high}};
}

Duration duration_from_json(const Json& json, const char* name) {
  if (!json.contains(name)) return {};
  const Json& time = json.at(name);
  return {time.value("median", 0.0), time.value("low", 0.0), time.value("high", 0.0)};
}

Json list(const Json& json, const char* name) { return json.contains(name) ? json.at(name) : Json::array(); }

Roofs parse(const Json& json) {
  Roofs roofs;
  roofs.machine = json.value("machine", "");
  roofs.threads = json.value("threads", 1);
  roofs.barrier = duration_from_json(json, "barrier_s");
  roofs.thread_start = duration_from_json(json, "thread_start_s");
  for (const Json& entry : list(json, "compute")) {
    ComputeRoof roof;
    roof.dtype = dtype_from_name(entry.value("dtype", "f32")).value_or(DType::kUndefined);
    roof.method = entry.value("method", "");
    roof.threads = entry.value("threads", 1);
    roof.flops = rate_from_json(entry.at("flops_per_s"));
    roofs.compute.push_back(std::move(roof));
  }
  for (const Json& entry : list(json, "memory")) {
    MemoryRoof roof;
    roof.level = entry.value("level", "");
    roof.operation = entry.value("operation", "");
    roof.threads = entry.value("threads", 1);
    roof.capacity_bytes = entry.value("capacity_bytes", 0.0);
    roof.bytes = rate_from_json(entry.at("bytes_per_s"));
    roofs.memory.push_back(std::move(roof));
  }
  return roofs;
}

}  // namespace

Json roofs_to_json(const Roofs& roofs) {
  Json compute = Json::array(), memory = Json::array();
  for (const ComputeRoof& roof : roofs.compute)
    compute.push_back({{"dtype", std::string(dtype_name(roof.dtype))},
                       {"method", roof.method},
                       {"threads", roof.threads},
                       {"flops_per_s", rate_to_json(roof.flops)}});
  for (const MemoryRoof& roof : roofs.memory)
    memory.push_back({{"level", roof.level},
                      {"operation", roof.operation},
                      {"threads", roof.threads},
                      {"capacity_bytes", roof.capacity_bytes},
                      {"bytes_per_s", rate_to_json(roof.bytes)}});
  return {{"machine", roofs.machine},
          {"threads", roofs.threads},
          {"compute", std::move(compute)},
          {"memory", std::move(memory)},
          {"barrier_s", duration_to_json(roofs.barrier)},
          {"thread_start_s", duration_to_json(roofs.thread_start)}};
}

Result<Roofs> roofs_from_json(const Json& json) {
  try {
    return parse(json);
  } catch (const nlohmann::json::exception& error) {
    return corrupt(fmt::format("roofs: {}", error.what()));
  }
}

}  // namespace hone::trace
