// Plan files (.plan): the optimised graph with its data, what was chosen for it, and for which machine. Read in
// milliseconds: the data stay in the mapped file. Whatever the bytes are, reading ends with a valid graph, choices that
// fit it, or an error; nothing is allocated that the file has no bytes for. Whether this machine may use it, and making a
// plan of it: lab/saved_plan.h.
//
// Sections (sections.h): "about" and "choices" are JSON, "graph" is hone's text form (graph/text.h) whose large constants
// are blocks of "data", and "blocks" holds the u64 size of each. docs/decisions/0042-plan-files.md says why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "graph/plan_choices.h"

namespace hone::model {

struct PlanAbout {
  std::string hone;    // the version that wrote it
  std::string model;   // the name of the file that it was made from, without its folder
  std::string device;  // a provider's name
  int threads = 1;     // of the host, that its kernels compute on
  std::vector<std::pair<std::string, std::string>> made_for;  // a provider's traits: "oneDNN", "3.1.0"
  uint64_t arena_bytes = 0;          // that its values take: who makes the plan again must come to the same
  uint64_t weights_bytes = 0;        // of constants, and what kernels packed
  std::vector<std::string> assumed;  // symbols of the model that nothing bound: "batch = 1"
};

struct PlanFile {
  PlanAbout about;
  graph::Graph graph;
  graph::PlanChoices choices;
};

// Whether there is a file that begins as plans do.
bool is_plan_file(const std::filesystem::path& path);

// The file appears whole or not at all; the same plan gives the same bytes. An error, before anything is written, where
// the graph would not be read back as it is.
Status write_plan(const PlanFile& plan, const std::filesystem::path& path);

// Errors begin with the file's name. A file of another version of hone is one (kUnsupported).
Result<PlanFile> read_plan(const std::filesystem::path& path);
// The same of bytes that `owner` keeps alive, without a name.
Result<PlanFile> read_plan_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// What lies behind the checksums, by section.
struct PlanSections {
  std::string_view about, choices, graph;
  std::span<const std::byte> blocks, data;
};
// The last step of both: plans of other versions are an error there, but not here, where fuzzing begins.
Result<PlanFile> read_plan_sections(const PlanSections& sections, std::shared_ptr<const void> owner);

}  // namespace hone::model
