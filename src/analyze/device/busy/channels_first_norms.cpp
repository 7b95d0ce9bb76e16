#include "analyze/device/busy/channels_first_norms.h"

#include <vector>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

// A kernel that normalises images with one block a channel, and what it takes over channels-last images: of
// no time where that is not known, or not less.
ClaimedWork over_channels_last(const View& view, uint32_t i) {
  if (!view.kernel(i).block_a_channel || !view.has_operator(i) || !is_image(view.inputs_of(i)) ||
      view.ns(i) < kShortWorkNs)
    return {i, 0};
  const double floor = view.use_of(i).floor_ns * view.part_of(i), target = floor / kGoodChannelsLastNorm;
  return {i, target < view.ns(i) ? target : 0, floor / view.ns(i)};
}

}  // namespace

Claims find_channels_first_norms(const View& view) {
  Claim claim{Rule::kChannelsFirstBatchNorm, {}};
  std::vector<ClaimedWork> conversions;
  double lost_ns = 0, converting_ns = 0;
  bool few_channels = false;
  for (uint32_t i = 0; i < view.works(); ++i) {
    if (view.work(i).step == trace::kNoStep) continue;
    if (view.kernel(i).changes_layout()) {
      conversions.push_back(removed(i));
      converting_ns += view.ns(i);
    } else if (const ClaimedWork norm = over_channels_last(view, i); norm.target_ns > 0) {
      claim.works.push_back(norm);
      lost_ns += view.ns(i) - norm.target_ns;
      few_channels |= view.blocks(i) > 0 && view.blocks(i) < view.roofs.multiprocessors;
    }
  }
  if (!few_channels) return {};
  if (converting_ns < lost_ns) claim.works.insert(claim.works.end(), conversions.begin(), conversions.end());
  return {claim};
}

}  // namespace hone::analyze::device
