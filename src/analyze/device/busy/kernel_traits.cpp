#include "analyze/device/busy/kernel_traits.h"

namespace hone::analyze::device {
namespace {

struct Pattern {
  std::string_view part;
  bool KernelTraits::*trait;
};

constexpr Pattern kPatterns[] = {
    {"nchwToNhwc", &KernelTraits::changes_layout},
    {"nhwcToNchw", &KernelTraits::changes_layout},
    {"nchw2nhwc", &KernelTraits::changes_layout},
    {"nhwc2nchw", &KernelTraits::changes_layout},
    {"tensorTransform", &KernelTraits::changes_layout},
    {"transpose_readWrite", &KernelTraits::changes_layout},
    {"batched_transpose", &KernelTraits::changes_layout},
    {"transposeKernel", &KernelTraits::changes_layout},
    {"nvjet", &KernelTraits::matrix_units},
    {"tensorop", &KernelTraits::matrix_units},
    {"xmma_", &KernelTraits::matrix_units},
    {"wgmma", &KernelTraits::matrix_units},
    {"gmma", &KernelTraits::matrix_units},
    {"hmma", &KernelTraits::matrix_units},
    {"s16816", &KernelTraits::matrix_units},
    {"s1688", &KernelTraits::matrix_units},
    {"h16816", &KernelTraits::matrix_units},
    {"d884", &KernelTraits::matrix_units},
    {"flash", &KernelTraits::matrix_units},
    {"fmha", &KernelTraits::matrix_units},
    {"sgemm", &KernelTraits::vector_math},
    {"simt", &KernelTraits::vector_math},
    {"ffma", &KernelTraits::vector_math},
    {"f32f32_f32f32_f32", &KernelTraits::vector_math},
    {"dgemm", &KernelTraits::vector_math},
    {"triton_", &KernelTraits::generated},
    {"nvfuser", &KernelTraits::generated},
    {"_1C11_kernel",
     &KernelTraits::block_a_channel},  // cuDNN: bn_fw_tr_1C11_kernel_NCHW, bn_bw_1C11_kernel_new
    {"batch_norm_backward_kernel", &KernelTraits::channels_first_norm},
    {"batch_norm_collect_statistics_kernel", &KernelTraits::channels_first_norm},
    {"batch_norm_transform_input_kernel", &KernelTraits::channels_first_norm},
};

}  // namespace

KernelTraits kernel_traits(std::string_view name) {
  KernelTraits traits;
  for (const Pattern& pattern : kPatterns)
    if (name.find(pattern.part) != std::string_view::npos) traits.*pattern.trait = true;
  return traits;
}

TraitsByName::TraitsByName(const trace::Trace& trace) : trace_(&trace), known_(trace.strings.size()) {
  for (std::size_t row = 0; row < trace.spans.size(); ++row) {
    const trace::StringId name = trace.spans.name[row];
    if (!name.valid() || trace.tracks[trace.spans.track[row].index].kind != trace::TrackKind::kStream)
      continue;
    std::optional<KernelTraits>& known = known_[name.index];
    if (!known) known = kernel_traits(trace.strings.text(name));
  }
}

const KernelTraits& TraitsByName::of(std::size_t row) const {
  const trace::StringId name = trace_->spans.name[row];
  return name.valid() && known_[name.index] ? *known_[name.index] : none_;
}

}  // namespace hone::analyze::device
