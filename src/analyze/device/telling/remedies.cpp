#include "analyze/device/telling/remedies.h"

#include <string_view>

#include <fmt/format.h>

namespace hone::analyze::device {
namespace {

constexpr double kNearlyAll = 0.9;

double ms_of(const std::vector<const Part*>& parts, std::string_view word) {
  double ms = 0;
  for (const Part* part : parts)
    if (part->name.find(word) != std::string::npos) ms += part->ms;
  return ms;
}

}  // namespace

std::string copy_remedy(const std::vector<const Part*>& parts) {
  constexpr std::string_view kIn =
      "pin_memory=True and tensor.to(device, non_blocking=True), a step ahead on a stream of its own";
  constexpr std::string_view kOut =
      "reduce on the device before .cpu() (argmax, amax, mean), or copy into pinned memory with "
      "non_blocking=True and read it a step later";
  const double in = ms_of(parts, "host → device"), out = ms_of(parts, "device → host");
  const double known = in + out;
  if (known > 0 && in >= kNearlyAll * known)
    return fmt::format("copy to the device ahead of need: {}; or keep on the device what does not change",
                       kIn);
  if (known > 0 && out >= kNearlyAll * known) return fmt::format("copy less to the host: {}", kOut);
  return fmt::format("to the device: {}; to the host: {}", kIn, kOut);
}

std::string exchange_remedy(const std::vector<const Part*>& parts, bool all_ranks) {
  const double gathers = ms_of(parts, "AllGather"), reductions = ms_of(parts, "Reduce");
  const std::string_view fix =
      gathers > reductions
          ? "begin each gather before its result is needed (FSDP prefetches the weights of the next layer: "
            "forward_prefetch, set_modules_to_forward_prefetch) and gather less: reduce, pool or select on "
            "each rank first, and send 16-bit numbers"
          : "overlap communication with computing: DistributedDataParallel and FSDP do it for gradients, in "
            "buckets of 25 MB or more (bucket_cap_mb); send half the bytes by reducing in bf16 (gradients: "
            "ddp_comm_hooks.default_hooks.bf16_compress_hook)";
  if (all_ranks) return std::string(fix);
  return fmt::format(
      "explain the files of all ranks together: part of this may be waiting for a late rank; "
      "of what is not: {}",
      fix);
}

}  // namespace hone::analyze::device
