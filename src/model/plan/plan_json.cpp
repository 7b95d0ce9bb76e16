#include "model/plan/plan_json.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hone::model {
namespace {

using Json = nlohmann::ordered_json;
using graph::NodeId;

constexpr int kMostDepth = 64;  // of plans within bodies within plans

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);  // names of files may be no UTF-8
}

Json choices_json(const graph::PlanChoices& choices);

// [node, candidate, of, µs]; a host step's bodies come fifth.
Json kernel_json(const graph::KernelChoice& kernel) {
  Json row = Json::array({kernel.node.index, kernel.candidate, kernel.of, kernel.microseconds});
  if (kernel.bodies.empty()) return row;
  Json bodies = Json::array();
  for (const graph::PlanChoices& body : kernel.bodies) bodies.push_back(choices_json(body));
  row.push_back(std::move(bodies));
  return row;
}

Json section_json(const graph::LaneChoice& section) {
  Json lanes = Json::array();
  for (const auto& lane : section.lanes) {
    Json nodes = Json::array();
    for (const NodeId node : lane) nodes.push_back(node.index);
    lanes.push_back(std::move(nodes));
  }
  return {{"first", section.first},
          {"last", section.last},
          {"lanes", std::move(lanes)},
          {"us", section.microseconds}};
}

Json choices_json(const graph::PlanChoices& choices) {
  Json json = {{"kernels", Json::array()}, {"side_by_side", Json::array()}};
  for (const graph::KernelChoice& kernel : choices.kernels) json["kernels"].push_back(kernel_json(kernel));
  for (const graph::LaneChoice& section : choices.sections)
    json["side_by_side"].push_back(section_json(section));
  return json;
}

// --- reading ---

// Looks things up in a document of unknown content; the first that is missing or of another kind is kept as the error.
class Reader {
 public:
  explicit Reader(std::string_view section) : section_(section) {}

  const Json& at(const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (object.is_object() && found != object.end()) return *found;
    return fail(fmt::format("has no '{}'", key));
  }
  const Json& at(const Json& array, std::size_t i) {
    if (array.is_array() && i < array.size()) return array[i];
    return fail("has a list that is too short");
  }
  const Json& list(const Json& json) {
    return json.is_array() ? json : fail("has something else in place of a list");
  }
  std::string text(const Json& json) {
    if (json.is_string()) return json.get<std::string>();
    fail("has something else in place of a text");
    return {};
  }
  uint64_t number(const Json& json, uint64_t most = std::numeric_limits<uint32_t>::max() - 1) {
    if (json.is_number_unsigned() && json.get<uint64_t>() <= most) return json.get<uint64_t>();
    fail("has something else in place of a number");
    return 0;
  }
  double time(const Json& json) {
    if (json.is_number() && std::isfinite(json.get<double>()) && json.get<double>() >= 0)
      return json.get<double>();
    fail("has something else in place of a time");
    return 0;
  }
  const Json& fail(std::string what) {
    if (status.ok()) status = corrupt(fmt::format("the plan's section '{}' {}", section_, what));
    return nothing_;
  }

  Status status;

 private:
  std::string section_;
  Json nothing_;
};

Result<Json> parsed(std::string_view section, std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return corrupt(fmt::format("the plan's section '{}' is no JSON", section));
  return json;
}

graph::PlanChoices read_choices(const Json& json, Reader& reader, int depth);

graph::KernelChoice read_kernel(const Json& row, Reader& reader, int depth) {
  graph::KernelChoice kernel;
  kernel.node = NodeId{static_cast<uint32_t>(reader.number(reader.at(row, std::size_t{0})))};
  kernel.candidate = reader.text(reader.at(row, 1));
  kernel.of = static_cast<uint32_t>(reader.number(reader.at(row, 2)));
  kernel.microseconds = reader.time(reader.at(row, 3));
  if (!row.is_array() || row.size() < 5) return kernel;
  for (const Json& body : reader.list(row[4])) kernel.bodies.push_back(read_choices(body, reader, depth + 1));
  return kernel;
}

graph::LaneChoice read_section(const Json& json, Reader& reader) {
  graph::LaneChoice section;
  section.first = static_cast<uint32_t>(reader.number(reader.at(json, "first")));
  section.last = static_cast<uint32_t>(reader.number(reader.at(json, "last")));
  section.microseconds = reader.time(reader.at(json, "us"));
  for (const Json& lane : reader.list(reader.at(json, "lanes"))) {
    section.lanes.emplace_back();
    for (const Json& node : reader.list(lane))
      section.lanes.back().push_back(NodeId{static_cast<uint32_t>(reader.number(node))});
  }
  return section;
}

graph::PlanChoices read_choices(const Json& json, Reader& reader, int depth) {
  graph::PlanChoices choices;
  if (depth > kMostDepth) {
    reader.fail("has bodies nested too deeply");
    return choices;
  }
  for (const Json& row : reader.list(reader.at(json, "kernels")))
    choices.kernels.push_back(read_kernel(row, reader, depth));
  for (const Json& section : reader.list(reader.at(json, "side_by_side")))
    choices.sections.push_back(read_section(section, reader));
  return choices;
}

}  // namespace

std::string about_to_json(const PlanAbout& about) {
  Json json = {{"hone", about.hone},
               {"model", about.model},
               {"device", about.device},
               {"threads", about.threads},
               {"assumed", about.assumed},
               {"arena_bytes", about.arena_bytes},
               {"weights_bytes", about.weights_bytes},
               {"made_for", Json::array()}};
  for (const auto& [what, value] : about.made_for) json["made_for"].push_back({what, value});
  return dumped(json);
}

Result<PlanAbout> about_from_json(std::string_view text) {
  HONE_ASSIGN(const Json json, parsed("about", text));
  Reader reader("about");
  PlanAbout about;
  about.hone = reader.text(reader.at(json, "hone"));
  about.model = reader.text(reader.at(json, "model"));
  about.device = reader.text(reader.at(json, "device"));
  about.threads = static_cast<int>(reader.number(reader.at(json, "threads"), 1 << 20));
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  about.arena_bytes = reader.number(reader.at(json, "arena_bytes"), kAny);
  about.weights_bytes = reader.number(reader.at(json, "weights_bytes"), kAny);
  for (const Json& symbol : reader.list(reader.at(json, "assumed")))
    about.assumed.push_back(reader.text(symbol));
  for (const Json& trait : reader.list(reader.at(json, "made_for")))
    about.made_for.emplace_back(reader.text(reader.at(trait, std::size_t{0})),
                                reader.text(reader.at(trait, 1)));
  HONE_CHECK(reader.status);
  return about;
}

std::string choices_to_json(const graph::PlanChoices& choices) { return dumped(choices_json(choices)); }

Result<graph::PlanChoices> choices_from_json(std::string_view text) {
  HONE_ASSIGN(const Json json, parsed("choices", text));
  Reader reader("choices");
  graph::PlanChoices choices = read_choices(json, reader, 0);
  HONE_CHECK(reader.status);
  return choices;
}

}  // namespace hone::model
