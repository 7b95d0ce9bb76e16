// Attention, alone or as a group of kind "attention": the splits that part one matrix into its operands, and
// the attention, which reads its rows where they lie.
#include <array>

#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/attention/attention_gradient.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/attention_of_node.h"

namespace hone::runtime::cpu {
namespace {

kernels::AttentionStrides strides_of(const AttentionOperand& operand) {
  const auto& [batch, head, row] = operand.strides;
  return {batch, head, row, 1};
}

// Whether what a kernel of the CPU reads is `operand`.
bool is_plain_f32(const GroupView& group, graph::ValueId value) {
  const graph::TensorType& type = group.type(value);
  return type.dtype == DType::kF32 && type.layout == Layout::kPlain;
}

// What the kernels are told, and which input the mask is; nullopt where it is none for them.
std::optional<std::pair<kernels::AttentionDesc, std::optional<std::size_t>>> describe_attention(
    const GroupView& group, const NodeAttention& known) {
  kernels::AttentionDesc desc;
  desc.batch = known.batch;
  desc.heads = known.q.heads;
  desc.kv_heads = known.k.heads;
  desc.queries = known.q.rows;
  desc.keys = known.k.rows;
  desc.head_dim = known.q.columns;
  desc.value_dim = known.v.columns;
  desc.scale = known.scale;
  desc.causal = known.causal;
  desc.q = strides_of(known.q);
  desc.k = strides_of(known.k);
  desc.v = strides_of(known.v);
  desc.out = strides_of(known.out);
  desc.masked = known.masked;
  std::optional<std::size_t> mask;
  if (desc.masked) {
    if (!known.mask || group.type(group.last().inputs[3]).dtype != DType::kF32) return std::nullopt;
    const auto& [batch, head, query, key] = known.mask->strides;
    mask = known.mask->input;
    desc.mask = {batch, head, query, key};
  }
  return std::pair{desc, mask};
}

void lower_attention_gradient(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView node(context);
  const auto known = attention_gradient_of_node(node);
  if (!known) return;
  for (const std::size_t i : {0, 1, 2, 4}) {
    if (!is_plain_f32(node, context.node.inputs[i])) return;
  }
  const auto described = describe_attention(node, *known);
  if (!described || described->first.keys == 0 || described->first.value_dim == 0) return;
  const kernels::AttentionGradientDesc desc{described->first, described->first.q, described->first.k,
                                            described->first.v};
  found.push_back(
      {"hone attention gradient", [desc, mask = described->second]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::AttentionGradient gradient, kernels::AttentionGradient::create(desc));
         KernelTraits traits{.implementation = "hone attention gradient",
                             .scratch_bytes = gradient.scratch_bytes()};
         return make_kernel(std::move(traits), [gradient, mask](const KernelArguments& a) -> Status {
           gradient.execute(f32(a.inputs[0]), f32(a.inputs[1]), f32(a.inputs[2]),
                            mask ? f32(a.inputs[*mask]) : nullptr, f32(a.inputs[4]), f32(a.outputs[0]),
                            f32(a.outputs[1]), f32(a.outputs[2]), a.scratch);
           return {};
         });
       }});
}

}  // namespace

void lower_attention(const LowerContext& context, std::vector<Candidate>& found) {
  if (context.node.op == "hone.AttentionGradient") return lower_attention_gradient(context, found);
  const GroupView group(context);
  const auto known = attention_of_node(group);
  if (!known || known->gives_sums) return;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_plain_f32(group, group.last().inputs[i])) return;
  }
  const auto described = describe_attention(group, *known);
  if (!described) return;
  const auto& [desc, mask] = *described;
  const AttentionOperand &q = known->q, &k = known->k, &v = known->v;
  found.push_back(
      {"hone attention",
       [desc = desc, q, k, v, mask = mask, unread = known->unread]() -> Result<std::unique_ptr<Kernel>> {
         HONE_ASSIGN(kernels::Attention attention, kernels::Attention::create(desc));
         KernelTraits traits{.implementation = "hone attention",
                             .scratch_bytes = attention.scratch_bytes(),
                             .unread = unread};
         return make_kernel(std::move(traits), [=](const KernelArguments& arguments) -> Status {
           attention.execute(
               f32(arguments.inputs[q.input]) + q.offset, f32(arguments.inputs[k.input]) + k.offset,
               f32(arguments.inputs[v.input]) + v.offset, mask ? f32(arguments.inputs[*mask]) : nullptr,
               f32(arguments.outputs[0]), arguments.scratch);
           return {};
         });
       }});
}

}  // namespace hone::runtime::cpu
