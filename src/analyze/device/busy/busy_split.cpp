#include "analyze/device/busy/busy_split.h"

#include <algorithm>
#include <utility>

#include "analyze/cost.h"
#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

constexpr std::size_t at(Cause cause) { return static_cast<std::size_t>(cause); }

// Divides each work by itself.
class Splitter {
 public:
  Splitter(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
           TraitsByName& traits)
      : trace_(trace), timeline_(timeline), roofs_(roofs), traits_(traits) {
    result_.works.resize(timeline.works.size());
    result_.uses = uses_of(trace, timeline, roofs, traits);
  }

  BusySplit run() {
    for (uint32_t i = 0; i < timeline_.works.size(); ++i) divide(i);
    return std::move(result_);
  }

 private:
  void divide(uint32_t i) {
    const Work& work = timeline_.works[i];
    WorkSplit& split = result_.works[i];
    const auto ns = static_cast<double>(work.ns());
    if (work.kind == WorkKind::kCollective || work.kind == WorkKind::kCopyToDevice ||
        work.kind == WorkKind::kCopyToHost || ns <= 0)
      return;
    const KernelTraits& kernel = traits_.of(work.span);
    if (kernel.changes_layout) return set_split(split, Cause::kLayout, 0, Reason::kTransform, kGone);
    if (work.op == kNothing) return;  // time only
    const trace::Operator& op = trace_.operators[work.op];
    const OperatorUse& use = result_.uses.rows[work.op];
    if (changes_order(op, use.inputs))
      return set_split(split, Cause::kLayout, 0, Reason::kStridedCopy, kGone);
    if (writes_out_broadcast(op))
      return set_split(split, Cause::kAvoidableTraffic, 0, Reason::kBroadcast, kGone);
    if (const double little = appended_share(op, use.inputs); little > 0)
      return set_split(split, Cause::kAvoidableTraffic, little, Reason::kAppend, little * ns);
    const double floor = use.floor_ns * result_.uses.part(work);
    if (use.floor_ns <= 0) return;
    if (kernel.channels_first_norm && use.roof_ns * result_.uses.part(work) < 0.7 * ns &&
        is_image(use.inputs))
      return set_split(split, Cause::kLayout, floor / ns, Reason::kTransform,
                       std::min(ns, floor / kChannelsLastNorm));
    if (is_too_wide(op, use)) return divide_precision(split, work, use, floor);
    divide_slow(split, work, use, floor);
  }

  MatrixMath enough(const OperatorUse& use) const {
    return enough_math(use.math, roofs_, result_.uses.mostly_narrow);
  }

  bool is_too_wide(const trace::Operator& op, const OperatorUse& use) const {
    if (op.dtype == DType::kF64) return true;
    return use.is_product && enough(use) != use.math;
  }

  Reason wide_reason(const OperatorUse& use) const {
    if (use.math == MatrixMath::kF64 || !use.is_product) return Reason::kDouble;
    if (use.math == MatrixMath::kTf32) return Reason::kTf32;
    return result_.uses.mostly_narrow ? Reason::kLeak : Reason::kVectorMath;
  }

  bool is_odd(const Work& work, const Inputs& inputs) const {
    return trace_.operators[work.op].op_class == trace::OperatorClass::kConvolution ? has_odd_channels(inputs)
                                                                                    : has_odd_size(inputs);
  }

  // The gradient of x[indices]: rows for the same index are added one after another.
  static bool adds_rows(std::string_view kind) { return kind.find("index_put") != std::string_view::npos; }

  bool is_attention(const Work& work) const {
    return trace_.operators[work.op].kind.find("attention") != std::string::npos;
  }

  // The floor is that of the narrowest arithmetic, the target that of the next: what lies between two steps
  // of the way is a matter of precision too.
  void divide_precision(WorkSplit& split, const Work& work, const OperatorUse& use, double floor) {
    const auto ns = static_cast<double>(work.ns());
    const double own_roof = use.roof_ns * result_.uses.part(work);
    // It keeps the part of its roof that it reaches now, and need not be better than good.
    const bool attention = is_attention(work);
    const double good = !use.is_product          ? kGoodTraffic
                        : is_16_bit(enough(use)) ? kGoodNarrowProduct
                                                 : kGoodProduct;
    const double reached = attention ? kGoodAttention : std::clamp(own_roof / ns, 0.2, good);
    const double least = use.enough_ns * result_.uses.part(work);
    const double target = std::min(ns, least / reached);
    set_split(split, Cause::kPrecision, floor / ns, wide_reason(use), target);
    // What stays above its roof in the narrower type is inefficiency, as in any other kernel.
    const double slack = std::clamp((target - least) / ns, 0.0, split.share[at(Cause::kPrecision)]);
    split.share[at(Cause::kPrecision)] -= slack;
    split.share[at(Cause::kKernelInefficiency)] += slack;
  }

  void divide_slow(WorkSplit& split, const Work& work, const OperatorUse& use, double floor) {
    const auto ns = static_cast<double>(work.ns());
    set_split(split, Cause::kKernelInefficiency, floor / ns, Reason::kNone, ns);
    split.cause = Cause::kFloor;
    const double fraction = use.roof_ns * result_.uses.part(work) / ns;
    const bool attention = is_attention(work);
    const double poor = traits_.of(work.span).generated ? kPoorGenerated
                        : !use.is_product               ? kPoorTraffic
                        : attention                     ? kPoorAttention
                                                        : kPoorProduct;
    const double good = !use.is_product ? kGoodTraffic : attention ? kGoodAttention : kGoodProduct;
    if (attention && reads_square_mask(use.inputs)) {
      const double half = floor / 2 / kGoodMaskless;
      if (half < ns)
        return set_split(split, Cause::kKernelInefficiency, floor / 2 / ns, Reason::kDenseMask, half);
    }
    if (use.memory_bound && fraction < kGoodTraffic && ns >= kShortWorkNs &&
        mixes_orders(use.inputs, use.elements))
      return set_split(split, Cause::kLayout, floor / ns, Reason::kMixedOrders,
                       std::min(ns, floor / kGoodTraffic));
    if (use.is_product && fraction < poor && is_of_patches(use.inputs))
      split.reason = Reason::kPatches;
    else if (use.is_product && !attention && is_16_bit(use.math) && is_odd(work, use.inputs))
      split.reason = Reason::kOddSize;
    else if (ns < kShortWorkNs || fraction >= poor)
      return;
    else if (adds_rows(trace_.operators[work.op].kind))
      split.reason = Reason::kScatter;
    else
      split.reason = has_small_grid(work) ? Reason::kSmallGrid : Reason::kSlow;
    const double target = floor / good;
    if (target >= ns) {  // whatever its sizes, it is as fast as a good kernel
      split.reason = Reason::kNone;
      return;
    }
    split.cause = Cause::kKernelInefficiency;
    split.target_ns = target;
  }

  bool has_small_grid(const Work& work) const {
    const trace::Launch* launch = trace::find_detail(trace_.launches, work.span);
    if (launch == nullptr || roofs_.multiprocessors == 0) return false;
    const double blocks = static_cast<double>(launch->grid[0]) * launch->grid[1] * launch->grid[2];
    return blocks > 0 && blocks < roofs_.multiprocessors;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const GpuRoofs& roofs_;
  TraitsByName& traits_;
  BusySplit result_;
};

}  // namespace

void give_to(WorkSplit& split, Cause cause, Reason reason, double target_ns) {
  split.cause = cause;
  split.reason = reason;
  split.target_ns = target_ns;
}

void set_split(WorkSplit& split, Cause cause, double floor_share, Reason reason, double target_ns) {
  floor_share = std::clamp(floor_share, 0.0, 1.0);
  split.share = {floor_share, 0, 0, 0, 0};
  split.share[at(cause)] = 1 - floor_share;
  give_to(split, cause, reason, target_ns);
}

BusySplit split_works(const trace::Trace& trace, const RankTimeline& timeline, const GpuRoofs& roofs,
                      TraitsByName& traits) {
  return Splitter(trace, timeline, roofs, traits).run();
}

}  // namespace hone::analyze::device
