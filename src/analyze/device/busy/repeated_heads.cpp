#include "analyze/device/busy/repeated_heads.h"

#include <set>
#include <string_view>

namespace hone::analyze::device {
namespace {

constexpr std::size_t kHeadRank = 4;  // batch, heads, positions, width; grouped heads have one more

// Elements of what attention reads as keys and values.
class Operands {
 public:
  void add(const Inputs& inputs, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i)
      if (is_tensor(inputs, i)) elements_.insert(static_cast<double>(inputs[i].elements()));
  }
  bool contain(double elements) const { return elements_.contains(elements); }

 private:
  std::set<double> elements_;
};

Operands operands_of_attention(const trace::Trace& trace, const RankTimeline& timeline,
                               const BusySplit& split) {
  Operands operands;
  std::set<uint32_t> seen;
  for (std::size_t i = 0; i < timeline.works.size(); ++i) {
    const uint32_t row = timeline.works[i].op;
    if (row == kNothing || trace.operators[row].phase == trace::Phase::kBackward) continue;
    const bool by_hand = split.works[i].reason == Reason::kAttention && split.uses.rows[row].is_product;
    const bool fused = trace.operators[row].kind.find("attention") != std::string_view::npos;
    if ((!by_hand && !fused) || !seen.insert(row).second) continue;
    const Inputs& inputs = split.uses.rows[row].inputs;
    by_hand ? operands.add(inputs, 0, 2) : operands.add(inputs, 1, 3);  // bmm(a, b); (query, key, value)
  }
  return operands;
}

}  // namespace

void mark_repeated_heads(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  const Operands operands = operands_of_attention(trace, timeline, split);
  for (std::size_t i = 0; i < timeline.works.size(); ++i) {
    WorkSplit& work = split.works[i];
    if (work.reason != Reason::kBroadcast) continue;
    const Inputs& inputs = split.uses.rows[timeline.works[i].op].inputs;
    if (is_tensor(inputs, 0) && inputs[0].dims.size() >= kHeadRank &&
        operands.contain(static_cast<double>(inputs[0].elements())))
      work.reason = Reason::kRepeatedHeads;
  }
}

}  // namespace hone::analyze::device
