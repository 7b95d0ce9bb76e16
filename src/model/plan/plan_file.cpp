#include "model/plan/plan_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "core/file.h"
#include "core/version.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "model/plan/plan_json.h"
#include "model/plan/sections.h"

namespace hone::model {
namespace {

// In the order in which they are written.
constexpr std::array<std::string_view, 5> kSections = {"about", "choices", "graph", "blocks", "data"};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), tensor.bytes()};
}

// Blocks of such sizes one after another in `data`, each but the first at the next multiple of the alignment.
Result<std::vector<std::span<const std::byte>>> cut_blocks(std::span<const std::byte> sizes,
                                                           std::span<const std::byte> data) {
  std::vector<std::span<const std::byte>> blocks;
  const Error wrong = corrupt("the plan's sections 'blocks' and 'data' do not fit each other");
  if (sizes.size() % sizeof(uint64_t) != 0) return wrong;
  std::size_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); i += sizeof(uint64_t)) {
    uint64_t size = 0;
    std::memcpy(&size, sizes.data() + i, sizeof size);
    at = (at + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
    if (at > data.size() || size > data.size() - at) return wrong;
    blocks.push_back(data.subspan(at, size));
    at += size;
  }
  if (at != data.size()) return wrong;
  return blocks;
}

// Names may hold what the text form has no way to say: known before anything is written.
Status check_reads_back(const graph::Graph& graph, const std::string& text,
                        const std::vector<Tensor>& beside) {
  graph::DataBeside data;
  for (const Tensor& tensor : beside) data.blocks.push_back(bytes_of(tensor));
  const auto again = graph::parse(text, data);
  if (!again.ok())
    return unsupported("a plan of this graph could not be read back: " + again.error().message);
  if (!graph::same_graph(graph, *again))
    return unsupported("a plan of this graph would be read back as another; use the model itself");
  return {};
}

}  // namespace

bool is_plan_file(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;  // a pipe is read once
  std::array<char, 16> beginning = {};
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), beginning.size());
  return is_plan({beginning.data(), static_cast<std::size_t>(file.gcount())});
}

Status write_plan(const PlanFile& plan, const std::filesystem::path& path) {
  std::vector<Tensor> beside;
  const std::string graph = graph::print(plan.graph, beside);
  if (Status same = check_reads_back(plan.graph, graph, beside); !same.ok())
    return same.error().within(path.string());
  const std::string about = about_to_json(plan.about), choices = choices_to_json(plan.choices);
  std::vector<uint64_t> sizes;
  SectionToWrite data{kSections[4], {}};
  for (const Tensor& tensor : beside) {
    sizes.push_back(tensor.bytes());
    data.parts.push_back(bytes_of(tensor));
  }
  const std::array<SectionToWrite, kSections.size()> sections = {
      SectionToWrite{kSections[0], {bytes_of(about)}},
      {kSections[1], {bytes_of(choices)}},
      {kSections[2], {bytes_of(graph)}},
      {kSections[3], {std::as_bytes(std::span(sizes))}},
      std::move(data)};
  HONE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HONE_CHECK(write_sections(file, sections));
  return file.commit();
}

namespace {

// Before anything else of it is read, whose meaning may have changed with it.
Status check_version(const PlanAbout& about) {
  if (about.hone == kVersion) return {};
  return unsupported(
      fmt::format("the plan was made by hone {}, and this is {}; make it anew from the model ({})",
                  about.hone, kVersion, about.model));
}

}  // namespace

Result<PlanFile> read_plan_sections(const PlanSections& sections, std::shared_ptr<const void> owner) {
  PlanFile plan;
  HONE_ASSIGN(plan.about, about_from_json(sections.about));
  HONE_ASSIGN(plan.choices, choices_from_json(sections.choices));
  graph::DataBeside beside{{}, std::move(owner)};
  HONE_ASSIGN(beside.blocks, cut_blocks(sections.blocks, sections.data));
  HONE_ASSIGN(plan.graph, graph::parse(sections.graph, beside));
  HONE_CHECK(graph::verify(plan.graph));
  HONE_CHECK(graph::check_choices(plan.graph, plan.choices));
  return plan;
}

Result<PlanFile> read_plan_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  HONE_ASSIGN(const std::vector<Section> sections, read_sections(bytes));
  const bool known =
      std::equal(sections.begin(), sections.end(), kSections.begin(), kSections.end(),
                 [](const Section& section, std::string_view name) { return section.name == name; });
  if (!known) return corrupt("the plan does not have the sections that plans have");
  const PlanSections parts{text_of(sections[0].bytes), text_of(sections[1].bytes), text_of(sections[2].bytes),
                           sections[3].bytes, sections[4].bytes};
  HONE_ASSIGN(const PlanAbout about, about_from_json(parts.about));
  HONE_CHECK(check_version(about));
  return read_plan_sections(parts, std::move(owner));
}

Result<PlanFile> read_plan(const std::filesystem::path& path) {
  HONE_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  auto plan = read_plan_bytes(file->bytes(), file);
  return plan.ok() ? plan : plan.error().within(path.string());
}

}  // namespace hone::model
