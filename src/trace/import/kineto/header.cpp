#include "trace/import/kineto/header.h"

#include <algorithm>

#include <fmt/format.h>
#include <simdjson.h>

#include "trace/import/kineto/mend.h"

namespace hone::trace::kineto {
namespace {

namespace dom = simdjson::dom;

std::optional<int64_t> integer(const dom::element& element) {
  int64_t value = 0;
  double real = 0;
  if (element.get(value) == simdjson::SUCCESS) return value;
  if (element.get(real) == simdjson::SUCCESS && std::abs(real) < 9e18) return static_cast<int64_t>(real);
  return std::nullopt;
}

std::optional<int64_t> integer(const dom::object& object, std::string_view key) {
  dom::element element;
  return object.at_key(key).get(element) == simdjson::SUCCESS ? integer(element) : std::nullopt;
}

std::string text(const dom::object& object, std::string_view key) {
  std::string_view value;
  return object.at_key(key).get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
}

int small(std::optional<int64_t> value) {
  return static_cast<int>(std::clamp<int64_t>(value.value_or(0), 0, 1'000'000));
}

void read_devices(const dom::element& value, std::vector<DeviceInfo>& devices) {
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return;
  for (const dom::element each : list) {
    dom::object object;
    if (each.get(object) != simdjson::SUCCESS) continue;
    DeviceInfo device;
    device.index = small(integer(object, "id"));
    device.name = text(object, "name");
    device.memory_bytes =
        static_cast<double>(std::max<int64_t>(integer(object, "totalGlobalMem").value_or(0), 0));
    device.multiprocessors = small(integer(object, "numSms"));
    device.compute_major = small(integer(object, "computeMajor"));
    device.compute_minor = small(integer(object, "computeMinor"));
    devices.push_back(std::move(device));
  }
}

void read_groups(const dom::object& info, std::vector<ProcessGroup>& groups) {
  dom::array list;
  if (info.at_key("pg_config").get(list) != simdjson::SUCCESS) return;
  for (const dom::element each : list) {
    dom::object object;
    if (each.get(object) != simdjson::SUCCESS) continue;
    ProcessGroup group;
    group.name = text(object, "pg_name");
    group.description = text(object, "pg_desc");
    dom::array ranks;
    if (object.at_key("ranks").get(ranks) == simdjson::SUCCESS)
      for (const dom::element rank : ranks) group.ranks.push_back(small(integer(rank)));
    groups.push_back(std::move(group));
  }
}

void read_distributed(const dom::element& value, Header& header) {
  dom::object info;
  if (value.get(info) != simdjson::SUCCESS) return;
  header.backend = text(info, "backend");
  if (const auto rank = integer(info, "rank"); rank && *rank >= 0 && *rank < 1'000'000)
    header.rank = static_cast<int>(*rank);
  header.world_size = std::max(small(integer(info, "world_size")), 1);
  if (const std::string version = text(info, "nccl_version"); !version.empty())
    header.notes.emplace_back("NCCL", version);
  read_groups(info, header.groups);
}

// Milliseconds of single steps, by how they ran.
void read_steps(const dom::element& value, std::vector<BlockSteps>& steps) {
  constexpr std::size_t kMost = 1000;
  constexpr double kMostMs = 1e9;
  dom::object object;
  if (value.get(object) != simdjson::SUCCESS) return;
  for (const auto& [key, mode] :
       {std::pair("untouched_ms", BlockMode::kUntouched), std::pair("left_alone_ms", BlockMode::kLeftAlone),
        std::pair("recorded_ms", BlockMode::kOperators)}) {
    dom::array list;
    if (object.at_key(key).get(list) != simdjson::SUCCESS) continue;
    for (const dom::element each : list) {
      double ms = 0;
      if (each.get(ms) != simdjson::SUCCESS || !(ms > 0) || ms > kMostMs || steps.size() >= kMost) continue;
      BlockSteps step;
      step.block = static_cast<uint32_t>(steps.size());
      step.mode = mode;
      step.steps = 1;
      step.mean_ns = ms * 1e6;
      step.shown = mode == BlockMode::kOperators;
      steps.push_back(step);
    }
  }
}

// Seconds of the recording, and of these the ones in which the recording thread could have run and had no CPU.
std::optional<HostUse> read_host_use(const dom::element& value) {
  constexpr double kMost_s = 1e9;
  dom::object object;
  HostUse use;
  if (value.get(object) != simdjson::SUCCESS ||
      object.at_key("seconds").get(use.seconds) != simdjson::SUCCESS ||
      object.at_key("in_line_s").get(use.main_in_line_s) != simdjson::SUCCESS)
    return std::nullopt;
  if (!(use.seconds > 0) || use.seconds > kMost_s || !(use.main_in_line_s >= 0)) return std::nullopt;
  use.main_in_line_s = std::min(use.main_in_line_s, use.seconds);
  return use;
}

void read_member(std::string_view key, const dom::element& value, Header& header) {
  if (key == "schemaVersion" || key == "deviceProperties" || key == "distributedInfo" ||
      key == "baseTimeNanoseconds")
    header.is_pytorch = true;
  if (key == "deviceProperties") read_devices(value, header.devices);
  if (key == "distributedInfo") read_distributed(value, header);
  if (key == "honeSteps") read_steps(value, header.steps);
  if (key == "honeHost") header.host_use = read_host_use(value);
  if (key == "baseTimeNanoseconds") {
    const auto base = integer(value);
    if (base && *base >= 0 && *base < (int64_t{1} << 61)) header.base_ns = base;
  }
  if (key == "cuda_runtime_version" || key == "cuda_driver_version" || key == "cupti_version")
    if (const auto version = integer(value)) header.notes.emplace_back(key, fmt::format("{}", *version));
  std::string_view word;
  if (key == "trace_id" && value.get(word) == simdjson::SUCCESS) header.notes.emplace_back(key, word);
}

std::string_view members_of(std::string_view text) {
  constexpr std::string_view kGaps = " \n\r\t,";
  const std::size_t first = std::min(text.find_first_not_of(kGaps), text.size());
  text.remove_prefix(first);
  while (!text.empty() && kGaps.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

}  // namespace

void Header::read(std::string_view members) {
  members = members_of(members);
  if (members.empty() || members == "}") return;
  dom::parser parser;
  dom::object object;
  std::string json = fmt::format("{{{}{}", members, members.ends_with('}') ? "" : "}");
  if (parser.parse(json).get(object) != simdjson::SUCCESS) json = fmt::format("{{{}}}", members);
  if (parser.parse(json).get(object) != simdjson::SUCCESS) {
    json = mended(json);
    if (const std::size_t end = object_end(json); end != std::string::npos) json.resize(end);
    if (parser.parse(json).get(object) != simdjson::SUCCESS) {
      warnings.emplace_back("what the file says about devices and ranks could not be read: it is no JSON");
      return;
    }
    warnings.emplace_back("what the file says about devices and ranks was no JSON and was mended");
  }
  for (const auto [key, value] : object) read_member(key, value, *this);
}

}  // namespace hone::trace::kineto
