#include "analyze/device/busy/by_itself.h"

#include <algorithm>
#include <utility>

#include "analyze/cost.h"
#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

class ByItselfFinder {
 public:
  explicit ByItselfFinder(const View& view) : view_(view) {}

  Claims run() {
    for (uint32_t i = 0; i < view_.works(); ++i) judge(i);
    return std::move(claims_);
  }

 private:
  void claim(Rule rule, uint32_t work, double floor_share, double target_ns, double slack_share = 0) {
    claims_.push_back({rule, {{work, target_ns, std::clamp(floor_share, 0.0, 1.0), slack_share}}});
  }

  void judge(uint32_t i) {
    const Work& work = view_.work(i);
    const double ns = view_.ns(i);
    if (work.kind == WorkKind::kCollective || work.kind == WorkKind::kCopyToDevice ||
        work.kind == WorkKind::kCopyToHost || ns <= 0)
      return;
    const trace::KernelFamily& kernel = view_.kernel(i);
    if (kernel.changes_layout()) return claim(Rule::kChannelsFirstImages, i, 0, kGone);
    if (work.op == kNothing) return;  // time only
    const trace::Operator& op = view_.operator_of(i);
    const OperatorUse& use = view_.use_of(i);
    if (changes_order(op, use.inputs)) return claim(Rule::kStridedCopies, i, 0, kGone);
    if (writes_out_broadcast(op)) return claim(Rule::kWrittenBroadcasts, i, 0, kGone);
    if (const double little = appended_share(op, use.inputs); little > 0)
      return claim(Rule::kAppendByCopy, i, little, little * ns);
    const double floor = use.floor_ns * view_.part_of(i);
    if (use.floor_ns <= 0) return;
    if (kernel.channels_first && use.roof_ns * view_.part_of(i) < 0.7 * ns && is_image(use.inputs))
      return claim(Rule::kChannelsFirstImages, i, floor / ns, std::min(ns, floor / kChannelsLastNorm));
    if (is_too_wide(op, use)) return judge_width(i, floor);
    judge_speed(i, floor);
  }

  KernelMath enough(const OperatorUse& use) const {
    return enough_math(use.math, view_.roofs, view_.uses.mostly_narrow);
  }

  bool is_too_wide(const trace::Operator& op, const OperatorUse& use) const {
    if (op.dtype == DType::kF64) return true;
    return use.is_product && enough(use) != use.math;
  }

  Rule rule_of_width(const OperatorUse& use) const {
    if (use.math == KernelMath::kF64 || !use.is_product) return Rule::kF64Arithmetic;
    if (use.math == KernelMath::kTf32) return Rule::kTf32Products;
    return view_.uses.mostly_narrow ? Rule::kF32Among16Bits : Rule::kF32WithoutMatrixUnits;
  }

  bool is_odd(uint32_t work) const {
    const Inputs& inputs = view_.inputs_of(work);
    return view_.operator_of(work).op_class == trace::OperatorClass::kConvolution ? has_odd_channels(inputs)
                                                                                  : has_odd_size(inputs);
  }

  // The gradient of x[indices]: rows for the same index are added one after another.
  static bool adds_rows(const trace::Operator& op) { return op.what == trace::OperatorKind::kIndexPut; }

  bool is_attention(uint32_t work) const {
    return view_.operator_of(work).what == trace::OperatorKind::kAttention;
  }

  // The floor is that of the narrowest arithmetic, the target that of the next: what lies between two steps
  // of the way is a matter of precision too.
  void judge_width(uint32_t i, double floor) {
    const double ns = view_.ns(i);
    const OperatorUse& use = view_.use_of(i);
    const double own_roof = use.roof_ns * view_.part_of(i);
    // It keeps the part of its roof that it reaches now, and need not be better than good.
    const double good = !use.is_product          ? kGoodTraffic
                        : is_16_bit(enough(use)) ? kGoodNarrowProduct
                                                 : kGoodProduct;
    const double reached = is_attention(i) ? kGoodAttention : std::clamp(own_roof / ns, 0.2, good);
    const double least = use.enough_ns * view_.part_of(i);
    const double target = std::min(ns, least / reached);
    // What stays above its roof in the narrower type is inefficiency, as in any other kernel.
    const double above_floor = 1 - std::clamp(floor / ns, 0.0, 1.0);
    const double slack = std::clamp((target - least) / ns, 0.0, above_floor);
    claim(rule_of_width(use), i, floor / ns, target, slack);
  }

  // Above its floor, but nothing is known that would help.
  void leave(uint32_t i, double floor) {
    const double share = std::clamp(floor / view_.ns(i), 0.0, 1.0);
    claim(Rule::kFloor, i, share, view_.ns(i), 1 - share);
  }

  void judge_speed(uint32_t i, double floor) {
    const double ns = view_.ns(i);
    const OperatorUse& use = view_.use_of(i);
    const double fraction = use.roof_ns * view_.part_of(i) / ns;
    const bool attention = is_attention(i);
    if (attention && reads_square_mask(use.inputs)) {
      const double half = floor / 2 / kGoodMaskless;
      if (half < ns) return claim(Rule::kDenseAttentionMasks, i, floor / 2 / ns, half);
    }
    if (use.memory_bound && fraction < kGoodTraffic && ns >= kShortWorkNs &&
        mixes_orders(use.inputs, use.elements))
      return claim(Rule::kMixedOrders, i, floor / ns, std::min(ns, floor / kGoodTraffic));
    const double good = !use.is_product ? kGoodTraffic : attention ? kGoodAttention : kGoodProduct;
    const std::optional<Rule> rule = rule_of_speed(i, fraction);
    // Whatever its sizes, it may be as fast as a good kernel.
    if (!rule || floor / good >= ns) return leave(i, floor);
    claim(*rule, i, floor / ns, floor / good);
  }

  std::optional<Rule> rule_of_speed(uint32_t i, double fraction) const {
    const OperatorUse& use = view_.use_of(i);
    const bool attention = is_attention(i);
    const double poor = view_.kernel(i).generated ? kPoorGenerated
                        : !use.is_product         ? kPoorTraffic
                        : attention               ? kPoorAttention
                                                  : kPoorProduct;
    if (use.is_product && fraction < poor && is_of_patches(use.inputs)) return Rule::kPatchConvolutions;
    if (use.is_product && !attention && is_16_bit(use.math) && is_odd(i)) return Rule::kOddSizes;
    if (view_.ns(i) < kShortWorkNs || fraction >= poor) return std::nullopt;
    if (adds_rows(view_.operator_of(i))) return Rule::kRowsAddedInTurn;
    return has_small_grid(i) ? Rule::kSmallGrids : Rule::kSlowKernels;
  }

  bool has_small_grid(uint32_t i) const {
    const double blocks = view_.blocks(i);
    return blocks > 0 && blocks < view_.roofs.multiprocessors;
  }

  const View& view_;
  Claims claims_;
};

}  // namespace

Claims find_by_itself(const View& view) { return ByItselfFinder(view).run(); }

}  // namespace hone::analyze::device
