#include "graph/spelled_out/spelled_out.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "graph/gradients/context.h"
#include "graph/spelled_out/forms.h"

namespace hone::graph {
namespace {

struct SpelledOperator {
  std::string_view op;
  SpellOut when = SpellOut::kNever;
  SpelledForm form = nullptr;
};

constexpr std::array kSpelledOperators = {
    SpelledOperator{"Attention", SpellOut::kAnyway, attention_spelled_out},
    SpelledOperator{"hone.AttentionGradient", SpellOut::kAnyway, attention_gradient_spelled_out},
    SpelledOperator{"hone.BatchNormalizationGradient", SpellOut::kAnyway, normalization_gradient_spelled_out},
    SpelledOperator{"hone.LayerNormalizationGradient", SpellOut::kAnyway, normalization_gradient_spelled_out},
    SpelledOperator{"AffineGrid", SpellOut::kWithKernels, affine_grid_spelled_out},
    SpelledOperator{"CausalConvWithState", SpellOut::kWithKernels, causal_conv_spelled_out},
    SpelledOperator{"CenterCropPad", SpellOut::kWithKernels, center_crop_pad_spelled_out},
    SpelledOperator{"Col2Im", SpellOut::kWithKernels, col2im_spelled_out},
    SpelledOperator{"DFT", SpellOut::kWithKernels, dft_spelled_out},
    SpelledOperator{"DeformConv", SpellOut::kWithKernels, deform_conv_spelled_out},
    SpelledOperator{"Det", SpellOut::kWithKernels, det_spelled_out},
    SpelledOperator{"GlobalLpPool", SpellOut::kWithKernels, norm_of_planes_spelled_out},
    SpelledOperator{"Hardmax", SpellOut::kWithKernels, hardmax_spelled_out},
    SpelledOperator{"LRN", SpellOut::kWithKernels, lrn_spelled_out},
    SpelledOperator{"LinearAttention", SpellOut::kWithKernels, linear_attention_spelled_out},
    SpelledOperator{"LpNormalization", SpellOut::kWithKernels, lp_normalization_spelled_out},
    SpelledOperator{"LpPool", SpellOut::kWithKernels, norm_of_windows_spelled_out},
    SpelledOperator{"MaxUnpool", SpellOut::kWithKernels, max_unpool_spelled_out},
    SpelledOperator{"MeanVarianceNormalization", SpellOut::kWithKernels, mean_variance_spelled_out},
    SpelledOperator{"RotaryEmbedding", SpellOut::kWithKernels, rotary_embedding_spelled_out},
    SpelledOperator{"STFT", SpellOut::kWithKernels, stft_spelled_out}};

const SpelledOperator* find_spelled(const Node& node) {
  const auto* const found = std::find_if(kSpelledOperators.begin(), kSpelledOperators.end(),
                                         [&](const SpelledOperator& row) { return row.op == node.op; });
  return node.custom == nullptr && found != kSpelledOperators.end() ? found : nullptr;
}

}  // namespace

SpellOut spells_out(const Node& node) {
  const SpelledOperator* const row = find_spelled(node);
  return row == nullptr ? SpellOut::kNever : row->when;
}

Result<std::vector<ValueId>> spelled_out(NodeEmitter& emitter, const Node& node,
                                         const std::vector<ValueId>& inputs) {
  const SpelledOperator* const row = find_spelled(node);
  if (row == nullptr) return unsupported("unsupported: " + node.op + " in other operators");
  HONE_ASSIGN(std::vector<ValueId> made, row->form(emitter, node, inputs));
  HONE_CHECK(emitter.status());
  made.resize(node.outputs.size(), kNoValue);
  return made;
}

Status through_spelled_out(GradientContext& c) {
  return c.set_through([](GradientContext& context, const std::vector<ValueId>& inputs) {
    return spelled_out(context, context.node(), inputs);
  });
}

}  // namespace hone::graph
