// Attention on a GPU by our own kernels (kernels/cuda/attention.h): what the library does not take, masks and f32 among it, and
// short sequences; in half types by tensor cores, too. Longer ones are left to products and a softmax.
#include "kernels/cuda/attention.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/lower/attention_of_node.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// Multiplications: some 20 µs of an H100's. Products, softmax and the copies around heads take as long there.
constexpr double kMostWork = 1 << 27;
// By tensor cores: what is read again for each block of queries takes some 10 µs.
constexpr double kMostTensorWork = 1 << 29;
constexpr int kTensorArchitecture = 80;

kernels::gpu::AttentionRows rows_of(const AttentionOperand& operand) {
  return {.offset = operand.offset, .strides = operand.strides};
}

// nullopt where the kernel does not compute the node.
std::optional<kernels::gpu::AttentionProgram> program_of(const GroupView& group, const NodeAttention& node) {
  const graph::Node& attention = group.last();
  const graph::TensorType& type = group.type(attention.inputs[0]);
  for (const std::size_t i : {0, 1, 2}) {
    const graph::TensorType& own = group.type(attention.inputs[i]);
    if (own.dtype != type.dtype || own.layout != Layout::kPlain) return std::nullopt;
  }
  if (node.masked && !node.mask) return std::nullopt;
  kernels::gpu::AttentionProgram program{.dtype = type.dtype,
                                         .batch = node.batch,
                                         .heads = node.q.heads,
                                         .kv_heads = node.k.heads,
                                         .queries = node.q.rows,
                                         .keys = node.k.rows,
                                         .head_dim = node.q.columns,
                                         .value_dim = node.v.columns,
                                         .scale = node.scale,
                                         .causal = node.causal,
                                         .q = rows_of(node.q),
                                         .k = rows_of(node.k),
                                         .v = rows_of(node.v),
                                         .out = rows_of(node.out),
                                         .mask = {}};
  if (node.mask)
    program.mask = {.dtype = group.type(attention.inputs[3]).dtype, .strides = node.mask->strides};
  return program;
}

double work_of(const kernels::gpu::AttentionProgram& program) {
  return static_cast<double>(program.batch * program.heads * (program.head_dim + program.value_dim)) *
         static_cast<double>(program.queries) * static_cast<double>(program.keys);
}

// A candidate where there is such a kernel.
void offer(const GpuKernels& kernels, const NodeAttention& node, Result<gpu::AttentionKernel> generated,
           const char* entry, const std::string& name, std::vector<Candidate>& found) {
  if (!generated.ok()) return;
  GpuLaunches launches{.implementation = name + " (CUDA)", .unread = node.unread};
  GpuLaunch launch{.source = std::move(generated->source), .entry = entry};
  for (int axis = 0; axis < 3; ++axis) launch.shape.grid[axis] = static_cast<unsigned>(generated->grid[axis]);
  launch.shape.block[0] = gpu::kAttentionBlock;
  for (const std::size_t input : {node.q.input, node.k.input, node.v.input})
    launch.parameters.push_back(input_parameter(input));
  if (node.mask) launch.parameters.push_back(input_parameter(node.mask->input));
  launch.parameters.push_back(output_parameter(0));
  launches.launches.push_back(std::move(launch));
  offer_launches(kernels, name, std::move(launches), found);
}

}  // namespace

void lower_own_attention(const LowerContext& context, const GpuKernels& kernels,
                         std::vector<Candidate>& found) {
  const GroupView group(context);
  if (group.last().op != "Attention" || (group.is_group() && group.kind() != graph::GroupKind::kAttention))
    return;
  const auto node = attention_of_node(group);
  const auto program = node ? program_of(group, *node) : std::nullopt;
  if (!program || program->keys == 0 || element_count(context.out_shape()) == 0) return;
  if (work_of(*program) <= kMostWork)
    offer(kernels, *node, gpu::generate_attention(*program), gpu::kAttentionEntry, "hone attention", found);
  if (work_of(*program) > kMostTensorWork ||
      kernels.device->context()->architecture().number < kTensorArchitecture)
    return;
  offer(kernels, *node, gpu::generate_attention_mma(*program, gpu::AttentionSplit::kKeys),
        gpu::kAttentionMmaEntry, "hone attention, tensor cores, keys in four parts", found);
  offer(kernels, *node, gpu::generate_attention_mma(*program, gpu::AttentionSplit::kQueries),
        gpu::kAttentionMmaEntry, "hone attention, tensor cores, 64 queries a block", found);
}

}  // namespace hone::runtime::cuda_kernels
