#include "analyze/device/busy/by_itself.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "analyze/cost.h"
#include "analyze/device/busy/busy_rules.h"
#include "trace/aten/cost.h"

namespace hone::analyze::device {
namespace {

enum class Known : uint8_t { kKernel, kOperator, kFloor };

// What is known of a work by itself.
struct LoneWork {
  const View& view;
  uint32_t work;
  double ns;
  const trace::Operator* op = nullptr;  // null: none
  const OperatorUse* use = nullptr;
  bool knows_floor = false;
  double floor_ns = 0;  // the work's part of its operator's
  double fraction = 0;  // of its roof that it reaches

  Known known() const {
    return knows_floor ? Known::kFloor : op != nullptr ? Known::kOperator : Known::kKernel;
  }
  const trace::KernelFamily& kernel() const { return view.kernel(work); }
  const Inputs& inputs() const { return use->inputs; }
  bool is_attention() const { return op->what == trace::OperatorKind::kAttention; }
  // The part of its roof that a good kernel reaches.
  double good() const {
    if (!use->is_product) return kGoodTraffic;
    return is_attention() ? kGoodAttention : kGoodProduct;
  }
  // Below it the work is worth another look.
  double poor() const {
    if (kernel().generated) return kPoorGenerated;
    if (!use->is_product) return kPoorTraffic;
    return is_attention() ? kPoorAttention : kPoorProduct;
  }
};

LoneWork know(const View& view, uint32_t i) {
  LoneWork lone{view, i, view.ns(i)};
  if (!view.has_operator(i)) return lone;
  lone.op = &view.operator_of(i);
  lone.use = &view.use_of(i);
  lone.knows_floor = lone.use->floor_ns > 0;
  if (!lone.knows_floor) return lone;
  lone.floor_ns = lone.use->floor_ns * view.part_of(i);
  lone.fraction = lone.use->roof_ns * view.part_of(i) / lone.ns;
  return lone;
}

using Seen = std::optional<ClaimedWork>;

Seen spare(const LoneWork& lone, double target_ns, double slack_share = 0) {
  return ClaimedWork{lone.work, target_ns, std::clamp(lone.floor_ns / lone.ns, 0.0, 1.0), slack_share};
}

// Whatever its sizes, it may be as fast as a good kernel.
Seen as_good(const LoneWork& lone) {
  const double target = lone.floor_ns / lone.good();
  return target < lone.ns ? spare(lone, target) : std::nullopt;
}

Seen gone_if(bool seen, const LoneWork& lone) { return seen ? Seen(removed(lone.work)) : std::nullopt; }

Seen converts_images(const LoneWork& lone) { return gone_if(lone.kernel().changes_layout(), lone); }
Seen changes_strides(const LoneWork& lone) { return gone_if(changes_order(*lone.op, lone.inputs()), lone); }
Seen writes_broadcast(const LoneWork& lone) { return gone_if(writes_out_broadcast(*lone.op), lone); }

Seen appends(const LoneWork& lone) {
  const double little = appended_share(*lone.op, lone.inputs());
  if (little <= 0) return std::nullopt;
  return ClaimedWork{lone.work, little * lone.ns, std::clamp(little, 0.0, 1.0)};
}

Seen is_slow_channels_first(const LoneWork& lone) {
  if (!lone.kernel().channels_first || lone.fraction >= kFastChannelsFirst || !is_image(lone.inputs()))
    return std::nullopt;
  return spare(lone, std::min(lone.ns, lone.floor_ns / kChannelsLastNorm));
}

// Above its floor, but nothing is known that would help.
Seen stays(const LoneWork& lone) {
  const double share = std::clamp(lone.floor_ns / lone.ns, 0.0, 1.0);
  return ClaimedWork{lone.work, lone.ns, share, 1 - share};
}

// Its type, its order of images and its number of blocks may be wrong as well: with the groups it stays slow.
Seen is_slow_for_its_groups(const LoneWork& lone) {
  constexpr int64_t kDepthwise = 1;  // a channel a group: bound by memory, as passes are
  if (lone.op->op_class != trace::OperatorClass::kConvolution || lone.ns < kShortWorkNs ||
      lone.fraction >= kPoorGroupedConvolution)
    return std::nullopt;
  const auto groups = trace::aten::convolution_groups(lone.op->kind, lone.inputs());
  return groups && groups->groups > 1 && groups->channels > kDepthwise ? stays(lone) : std::nullopt;
}

KernelMath enough(const LoneWork& lone) {
  return enough_math(lone.use->math, lone.view.roofs, lone.view.uses.mostly_narrow);
}

// Counters have counted a launch like it, and nothing else says what it needs.
bool is_known_by_counters(const LoneWork& lone) {
  return lone.op != nullptr && lone.op->measured && lone.view.counted.study_of(lone.work) != nullptr;
}

constexpr double kUntuned = 0.1;  // of its roof

// The floor is that of the narrowest arithmetic, the target that of the next: what lies between two steps
// of the way is a matter of precision too.
Seen too_wide(const LoneWork& lone) {
  const OperatorUse& use = *lone.use;
  if (is_known_by_counters(lone) && !use.is_product) return std::nullopt;  // they say more
  // A compiler was free to use the matrix units, and chose a kernel that reaches next to nothing of its own roof.
  if (lone.op->may_use_tf32 && lone.fraction < kUntuned) return std::nullopt;
  if (lone.op->dtype != DType::kF64 && (!use.is_product || enough(lone) == use.math)) return std::nullopt;
  // It keeps the part of its roof that it reaches now, and need not be better than good.
  const double good = !use.is_product           ? kGoodTraffic
                      : is_16_bit(enough(lone)) ? kGoodNarrowProduct
                                                : kGoodProduct;
  const double reached = lone.is_attention() ? kGoodAttention : std::clamp(lone.fraction, 0.2, good);
  const double least = use.enough_ns * lone.view.part_of(lone.work);
  const double target = std::min(lone.ns, least / reached);
  // What stays above its roof in the narrower type is inefficiency, as in any other kernel.
  const double above_floor = 1 - std::clamp(lone.floor_ns / lone.ns, 0.0, 1.0);
  return spare(lone, target, std::clamp((target - least) / lone.ns, 0.0, above_floor));
}

Seen is_f64(const LoneWork& lone) {
  return lone.use->math == KernelMath::kF64 || !lone.use->is_product ? too_wide(lone) : std::nullopt;
}
Seen is_tf32(const LoneWork& lone) {
  return lone.use->math == KernelMath::kTf32 ? too_wide(lone) : std::nullopt;
}
Seen is_f32_among_16_bits(const LoneWork& lone) {
  return lone.view.uses.mostly_narrow ? too_wide(lone) : std::nullopt;
}

Seen reads_mask(const LoneWork& lone) {
  if (!lone.is_attention() || !reads_square_mask(lone.inputs())) return std::nullopt;
  const double half = lone.floor_ns / 2, target = half / kGoodMaskless;
  if (target >= lone.ns) return std::nullopt;
  return ClaimedWork{lone.work, target, std::clamp(half / lone.ns, 0.0, 1.0)};
}

Seen reads_against_order(const LoneWork& lone) {
  if (!lone.use->memory_bound || lone.fraction >= kGoodTraffic || lone.ns < kShortWorkNs ||
      !mixes_orders(lone.inputs(), lone.use->elements))
    return std::nullopt;
  return spare(lone, std::min(lone.ns, lone.floor_ns / kGoodTraffic));
}

Seen convolves_patches(const LoneWork& lone) {
  const bool patches = lone.use->is_product && lone.fraction < lone.poor() && is_of_patches(lone.inputs());
  return patches ? as_good(lone) : std::nullopt;
}

Seen has_odd_sizes(const LoneWork& lone) {
  if (!lone.use->is_product || lone.is_attention() || !is_16_bit(lone.use->math)) return std::nullopt;
  const bool odd = lone.op->op_class == trace::OperatorClass::kConvolution ? has_odd_channels(lone.inputs())
                                                                           : has_odd_size(lone.inputs());
  return odd ? as_good(lone) : std::nullopt;
}

Seen is_slow(const LoneWork& lone) {
  return lone.ns >= kShortWorkNs && lone.fraction < lone.poor() ? as_good(lone) : std::nullopt;
}

// The gradient of x[indices]: rows for the same index are added one after another.
Seen adds_rows(const LoneWork& lone) {
  return lone.op->what == trace::OperatorKind::kIndexPut ? is_slow(lone) : std::nullopt;
}

Seen has_small_grid(const LoneWork& lone) {
  const double blocks = lone.view.blocks(lone.work);
  return blocks > 0 && blocks < lone.view.roofs.multiprocessors ? is_slow(lone) : std::nullopt;
}

// Nobody knows what it needs.
Seen is_unjudged(const LoneWork& lone) {
  if (lone.knows_floor) return std::nullopt;
  return ClaimedWork{lone.work, lone.ns, 0.0};
}

// Whatever it needs, most of the device does not work for it.
Seen has_few_blocks(const LoneWork& lone) {
  const double blocks = lone.view.blocks(lone.work);
  const bool few = blocks > 0 && blocks < kFewBlocksShare * lone.view.roofs.multiprocessors;
  return few && lone.ns >= kLongOfFewBlocksNs ? is_unjudged(lone) : std::nullopt;
}

struct Look {
  Known known;  // what must be known of a work to be looked at so; never less than in the row before
  Rule rule;
  Seen (*see)(const LoneWork& lone);
};

// The first that sees something decides: what need not be done goes before what may be narrower, and that before
// what may be faster; a cause that is known more closely goes before one that is known less.
constexpr Look kLooks[] = {
    {Known::kKernel, Rule::kChannelsFirstImages, converts_images},
    {Known::kOperator, Rule::kStridedCopies, changes_strides},
    {Known::kOperator, Rule::kWrittenBroadcasts, writes_broadcast},
    {Known::kOperator, Rule::kAppendByCopy, appends},
    {Known::kFloor, Rule::kGroupedConvolutions, is_slow_for_its_groups},
    {Known::kFloor, Rule::kChannelsFirstImages, is_slow_channels_first},
    {Known::kFloor, Rule::kF64Arithmetic, is_f64},
    {Known::kFloor, Rule::kTf32Products, is_tf32},
    {Known::kFloor, Rule::kF32Among16Bits, is_f32_among_16_bits},
    {Known::kFloor, Rule::kF32WithoutMatrixUnits, too_wide},
    {Known::kFloor, Rule::kDenseAttentionMasks, reads_mask},
    {Known::kFloor, Rule::kMixedOrders, reads_against_order},
    {Known::kFloor, Rule::kPatchConvolutions, convolves_patches},
    {Known::kFloor, Rule::kOddSizes, has_odd_sizes},
};

// Those that ask how slow it is, and not why: counters know more.
constexpr Look kSlowLooks[] = {
    {Known::kKernel, Rule::kFewBlocks, has_few_blocks}, {Known::kKernel, Rule::kUnjudgedWork, is_unjudged},
    {Known::kFloor, Rule::kRowsAddedInTurn, adds_rows}, {Known::kFloor, Rule::kSmallGrids, has_small_grid},
    {Known::kFloor, Rule::kSlowKernels, is_slow},       {Known::kFloor, Rule::kFloor, stays},
};

std::optional<Claim> first_seen(std::span<const Look> looks, const LoneWork& lone) {
  for (const Look& look : looks) {
    if (look.known > lone.known()) break;
    if (const Seen seen = look.see(lone)) return Claim{look.rule, {*seen}};
  }
  return std::nullopt;
}

// What hardware counters said of a launch like it: what wins most, or that there is nothing to win.
std::optional<Claim> counted_fault(const LoneWork& lone) {
  const KernelStudy* study = lone.view.counted.study_of(lone.work);
  if (study == nullptr || (study->faults.empty() && !study->near_roof())) return std::nullopt;
  if (study->faults.empty()) return Claim{Rule::kFloor, {*stays(lone)}};
  const KernelFault& fault = study->faults.front();
  // What an operator needs by its definition is a floor; what counters counted of a faulty kernel is one as far as it would still
  // take that without the fault.
  const bool has_floor = lone.knows_floor && !lone.op->measured;
  const double target = std::max(has_floor ? lone.floor_ns : 0, fault.target_share * lone.ns);
  const double needed = has_floor          ? lone.floor_ns / lone.ns
                        : lone.knows_floor ? std::min(lone.floor_ns / lone.ns, fault.target_share)
                                           : fault.target_share;
  return Claim{fault.rule, {ClaimedWork{lone.work, target, std::clamp(needed, 0.0, 1.0)}}};
}

bool runs_on_device(const View& view, uint32_t i) {
  const WorkKind kind = view.work(i).kind;
  return kind != WorkKind::kCollective && kind != WorkKind::kCopyToDevice && kind != WorkKind::kCopyToHost &&
         view.ns(i) > 0;
}

}  // namespace

Claims find_by_itself(const View& view) {
  Claims claims;
  for (uint32_t i = 0; i < view.works(); ++i) {
    if (!runs_on_device(view, i)) continue;
    const LoneWork lone = know(view, i);
    std::optional<Claim> claim = first_seen(kLooks, lone);
    if (!claim) claim = counted_fault(lone);
    if (!claim && is_known_by_counters(lone) && lone.knows_floor) claim = Claim{Rule::kFloor, {*stays(lone)}};
    if (!claim) claim = first_seen(kSlowLooks, lone);
    if (claim) claims.push_back(std::move(*claim));
  }
  return claims;
}

}  // namespace hone::analyze::device
