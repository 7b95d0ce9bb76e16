#include "trace/run_folder.h"

#include <ctime>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "trace/perfetto/reader.h"
#include "trace/perfetto/writer.h"
#include "trace/roofs_json.h"

namespace hone::trace {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ObservedRun& run) {
  Json blocks = Json::array();
  for (const ObservedRun::Block& block : run.blocks)
    blocks.push_back({{"number", block.number},
                      {"mode", block.mode},
                      {"start_s", block.start_s},
                      {"seconds", block.seconds}});
  Json json = {{"complete", run.complete}, {"processes", run.processes}, {"seed", run.seed}};
  json["exit_code"] = run.exit_code ? Json(*run.exit_code) : Json(nullptr);
  json["blocks"] = std::move(blocks);
  return json;
}

Json to_json(const RunInfo& info) {
  Json versions = Json::object();
  for (const auto& [name, version] : info.versions) versions[name] = version;
  Json json = {{"schema", kRunSchema}, {"what", info.what},       {"command", info.command},
               {"when", info.when},    {"machine", info.machine}, {"device", info.device},
               {"model", info.model},  {"threads", info.threads}, {"versions", std::move(versions)},
               {"trace", kTraceFile}};
  if (info.roofs) json["roofs"] = roofs_to_json(*info.roofs);
  if (info.observed) json["observed"] = to_json(*info.observed);
  return json;
}

Result<RunInfo> from_json(const Json& json) {
  int schema = json.value("schema", 0);
  if (schema != kRunSchema)
    return unsupported(fmt::format("schema {}; this hone reads schema {}", schema, kRunSchema));
  RunInfo info;
  info.what = json.value("what", "");
  info.command = json.value("command", "");
  info.when = json.value("when", "");
  info.machine = json.value("machine", "");
  info.device = json.value("device", "");
  info.model = json.value("model", "");
  info.threads = json.value("threads", 1);
  if (json.contains("versions"))
    for (const auto& [name, version] : json.at("versions").items())
      info.versions.emplace_back(name, version.get<std::string>());
  if (json.contains("roofs")) {
    HONE_ASSIGN(info.roofs, roofs_from_json(json.at("roofs")));
  }
  return info;
}

}  // namespace

Status write_run_folder(const std::filesystem::path& folder, const RunInfo& info, const Trace& trace) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_perfetto(trace, folder / kTraceFile));
  return write_run_info(folder, info);
}

Status write_run_info(const std::filesystem::path& folder, const RunInfo& info) {
  // Invalid UTF-8 (a command line may hold any bytes) becomes U+FFFD instead of an exception.
  std::string text = to_json(info).dump(2, ' ', false, Json::error_handler_t::replace);
  return write_file(folder / kRunFile, text + "\n");
}

Result<RunInfo> read_run_info(const std::filesystem::path& folder) {
  std::filesystem::path path = folder / kRunFile;
  HONE_ASSIGN(std::string text, read_file(path));
  try {
    Result<RunInfo> info = from_json(Json::parse(text));
    if (!info.ok()) return info.error().within(path.string());
    return info;
  } catch (const nlohmann::json::exception& error) {
    return corrupt(
        fmt::format("{}: is damaged, or of another program ({}); take it away to read {} by itself",
                    path.string(), error.what(), kTraceFile));
  }
}

Result<RunFolder> read_run_folder(const std::filesystem::path& folder) {
  HONE_ASSIGN(RunInfo info, read_run_info(folder));
  HONE_ASSIGN(Trace trace, read_perfetto(folder / kTraceFile));
  return RunFolder{std::move(info), std::move(trace)};
}

bool is_run_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path / kRunFile, ignored) &&
         std::filesystem::is_regular_file(path / kTraceFile, ignored);
}

std::string timestamp_now() {
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char clock[32], offset[8];
  std::string time(clock, std::strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%S", &local));
  std::string zone(offset, std::strftime(offset, sizeof offset, "%z", &local));  // "+0100"
  return zone.size() == 5 ? fmt::format("{}{}:{}", time, zone.substr(0, 3), zone.substr(3)) : time;
}

}  // namespace hone::trace
