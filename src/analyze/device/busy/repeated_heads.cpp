#include "analyze/device/busy/repeated_heads.h"

#include <set>
#include <string_view>

#include "analyze/cost.h"

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

Operands operands_of_attention(const View& view, const Claims& attention) {
  Operands operands;
  for (const Claim& claim : attention)  // by hand: bmm(a, b)
    for (const ClaimedWork& row : claim.works)
      if (view.use_of(row.work).is_product && view.operator_of(row.work).phase != trace::Phase::kBackward)
        operands.add(view.inputs_of(row.work), 0, 2);
  for (std::size_t row = 0; row < view.uses.rows.size(); ++row) {  // (query, key, value)
    const trace::Operator& op = view.trace.operators[row];
    if (op.phase != trace::Phase::kBackward && op.what == trace::OperatorKind::kAttention)
      operands.add(view.uses.rows[row].inputs, 1, 3);
  }
  return operands;
}

}  // namespace

Claims find_repeated_heads(const View& view, const Claims& attention) {
  const Operands operands = operands_of_attention(view, attention);
  Claims claims;
  for (uint32_t i = 0; i < view.works(); ++i) {
    if (!view.has_operator(i) || !writes_out_broadcast(view.operator_of(i))) continue;
    const Inputs& inputs = view.inputs_of(i);
    if (changes_order(view.operator_of(i), inputs)) continue;
    if (is_tensor(inputs, 0) && inputs[0].dims.size() >= kHeadRank &&
        operands.contain(static_cast<double>(inputs[0].elements())))
      claims.push_back({Rule::kRepeatedHeads, {removed(i)}});
  }
  return claims;
}

}  // namespace hone::analyze::device
