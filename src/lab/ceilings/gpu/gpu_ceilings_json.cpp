#include "lab/ceilings/gpu/gpu_ceilings_json.h"

#include <nlohmann/json.hpp>

#include "trace/roofs_json.h"

namespace hone::lab {
namespace {

using GpuJson = nlohmann::ordered_json;

constexpr int kGpuSchema = 1;

template <typename Spread>  // Rate or Duration
GpuJson spread_json(const Spread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}
template <typename Spread>
Spread spread_of(const GpuJson& json) {
  return {json.at("median").get<double>(), json.at("low").get<double>(), json.at("high").get<double>()};
}

// A rate with what NVML said meanwhile; null where it said nothing.
GpuJson rate_json(const Rate& rate, const GpuState& state) {
  GpuJson json = spread_json(rate);
  json["sm_mhz"] = state.sm_mhz ? GpuJson(*state.sm_mhz) : GpuJson();
  json["watts"] = state.watts ? GpuJson(*state.watts) : GpuJson();
  return json;
}
GpuState state_of(const GpuJson& json) {
  const auto known = [&](const char* field) {
    return json.at(field).is_null() ? std::nullopt : std::optional(json.at(field).get<double>());
  };
  return {known("sm_mhz"), known("watts")};
}

GpuCeilings parse_gpu_ceilings(const GpuJson& json) {
  GpuCeilings ceilings;
  json.at("device").get_to(ceilings.device);
  json.at("driver").get_to(ceilings.driver);
  json.at("architecture").get_to(ceilings.architecture);
  json.at("multiprocessors").get_to(ceilings.multiprocessors);
  json.at("cublaslt").get_to(ceilings.cublaslt);
  json.at("nvrtc").get_to(ceilings.nvrtc);
  json.at("measured_at").get_to(ceilings.measured_at);
  json.at("quick").get_to(ceilings.quick);
  json.at("seconds").get_to(ceilings.seconds);
  json.at("notes").get_to(ceilings.notes);
  for (const GpuJson& row : json.at("matrix")) {
    const GpuJson &burst = row.at("burst_flops_per_s"), &sustained = row.at("sustained_flops_per_s");
    ceilings.matrix.push_back({row.at("type").get<std::string>(), row.at("size").get<int64_t>(),
                               spread_of<Rate>(burst), spread_of<Rate>(sustained), state_of(burst),
                               state_of(sustained)});
  }
  ceilings.vector_f32 = spread_of<Rate>(json.at("vector_f32_flops_per_s"));
  ceilings.vector_state = state_of(json.at("vector_f32_flops_per_s"));
  for (const GpuJson& row : json.at("memory"))
    ceilings.memory.push_back({row.at("level").get<std::string>(), row.at("operation").get<std::string>(), 1,
                               row.at("capacity_bytes").get<double>(),
                               spread_of<Rate>(row.at("bytes_per_s"))});
  for (const GpuJson& row : json.at("links"))
    ceilings.links.push_back({row.at("to_device").get<bool>(), row.at("pinned").get<bool>(),
                              spread_of<Rate>(row.at("bytes_per_s"))});
  ceilings.launch = spread_of<Duration>(json.at("launch_s"));
  ceilings.graph_node = spread_of<Duration>(json.at("graph_node_s"));
  for (const GpuJson& row : json.at("not_measured"))
    ceilings.not_measured.push_back({row.at("what").get<std::string>(), row.at("why").get<std::string>()});
  return ceilings;
}

}  // namespace

GpuJson gpu_ceilings_json(const GpuCeilings& ceilings) {
  GpuJson matrix = GpuJson::array(), memory = GpuJson::array(), links = GpuJson::array(),
          missing = GpuJson::array();
  for (const MatrixRoof& row : ceilings.matrix)
    matrix.push_back({{"type", row.type},
                      {"size", row.size},
                      {"burst_flops_per_s", rate_json(row.burst, row.burst_state)},
                      {"sustained_flops_per_s", rate_json(row.sustained, row.sustained_state)}});
  for (const MemoryRoof& row : ceilings.memory)
    memory.push_back({{"level", row.level},
                      {"operation", row.operation},
                      {"capacity_bytes", row.capacity_bytes},
                      {"bytes_per_s", spread_json(row.bytes)}});
  for (const LinkRoof& row : ceilings.links)
    links.push_back(
        {{"to_device", row.to_device}, {"pinned", row.pinned}, {"bytes_per_s", spread_json(row.bytes)}});
  for (const GpuCeilings::NotMeasured& row : ceilings.not_measured)
    missing.push_back({{"what", row.what}, {"why", row.why}});
  return {{"schema", kGpuSchema},
          {"device", ceilings.device},
          {"driver", ceilings.driver},
          {"architecture", ceilings.architecture},
          {"multiprocessors", ceilings.multiprocessors},
          {"cublaslt", ceilings.cublaslt},
          {"nvrtc", ceilings.nvrtc},
          {"measured_at", ceilings.measured_at},
          {"quick", ceilings.quick},
          {"seconds", ceilings.seconds},
          {"notes", ceilings.notes},
          {"matrix", std::move(matrix)},
          {"vector_f32_flops_per_s", rate_json(ceilings.vector_f32, ceilings.vector_state)},
          {"memory", std::move(memory)},
          {"links", std::move(links)},
          {"launch_s", spread_json(ceilings.launch)},
          {"graph_node_s", spread_json(ceilings.graph_node)},
          {"not_measured", std::move(missing)},
          {"roofs", trace::roofs_to_json(roofs_of(ceilings))}};
}

// nlohmann's accessors throw on what is missing or of another type; this is where that becomes a Result.
Result<GpuCeilings> gpu_ceilings_from_json(const GpuJson& json) {
  try {
    if (json.at("schema").get<int>() != kGpuSchema) return corrupt("'schema' is another one");
    return parse_gpu_ceilings(json);
  } catch (const nlohmann::json::exception& error) {
    return corrupt(error.what());
  }
}

}  // namespace hone::lab
