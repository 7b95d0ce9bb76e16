#include "graph/training/step_part.h"

#include <array>
#include <string_view>

namespace hone::graph {
namespace {

// No exporter names a node so.
constexpr std::array<std::string_view, 6> kMarks = {"",           "<forward>",      "<loss>",
                                                    "<backward>", "<accumulation>", "<optimizer>"};

StepPart part_of_mark(std::string_view name) {
  for (std::size_t i = 1; i < kMarks.size(); ++i)
    if (kMarks[i] == name) return static_cast<StepPart>(i);
  return StepPart::kNone;
}

}  // namespace

void mark_part(GraphBuilder& builder, std::size_t first, StepPart part) {
  const std::string mark(kMarks[static_cast<std::size_t>(part)]);
  for (std::size_t i = first; i < builder.nodes().size(); ++i) {
    std::vector<std::string>& names = builder.mutable_node(NodeId{static_cast<uint32_t>(i)}).provenance;
    // A gradient stands for what the node stands for whose gradient it is, mark and all.
    std::erase_if(names, [](const std::string& name) { return part_of_mark(name) != StepPart::kNone; });
    names.insert(names.begin(), mark);
  }
}

StepPart part_of_step(const Node& node) {
  for (const std::string& name : node.provenance)
    if (const StepPart part = part_of_mark(name); part != StepPart::kNone) return part;
  return StepPart::kNone;
}

std::vector<std::string> model_provenance(const Node& node) {
  std::vector<std::string> names;
  for (const std::string& name : node.provenance)
    if (part_of_mark(name) == StepPart::kNone) names.push_back(name);
  return names;
}

}  // namespace hone::graph
