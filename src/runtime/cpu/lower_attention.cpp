// Attention, alone or as a group of kind "attention": the splits that part one matrix into its operands, and
// the attention, which reads its rows where they lie.
#include <array>

#include "kernels/cpu/attention/attention.h"
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

}  // namespace

void lower_attention(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const auto known = attention_of_node(group);
  if (!known) return;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_plain_f32(group, group.last().inputs[i])) return;
  }
  const AttentionOperand &q = known->q, &k = known->k, &v = known->v;
  kernels::AttentionDesc desc;
  desc.batch = known->batch;
  desc.heads = q.heads;
  desc.kv_heads = k.heads;
  desc.queries = q.rows;
  desc.keys = k.rows;
  desc.head_dim = q.columns;
  desc.value_dim = v.columns;
  desc.scale = known->scale;
  desc.causal = known->causal;
  desc.q = strides_of(q);
  desc.k = strides_of(k);
  desc.v = strides_of(v);
  desc.out = strides_of(known->out);
  desc.masked = known->masked;
  std::optional<std::size_t> mask;
  if (desc.masked) {
    if (!known->mask || group.type(group.last().inputs[3]).dtype != DType::kF32) return;
    const auto& [batch, head, query, key] = known->mask->strides;
    mask = known->mask->input;
    desc.mask = {batch, head, query, key};
  }
  found.push_back(
      {"hone attention", [desc, q, k, v, mask, unread = known->unread]() -> Result<std::unique_ptr<Kernel>> {
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
