// Pointwise operators, alone or as a group of kind "pointwise": one pointwise program over the memory as it
// lies, whatever its layout.
#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/core.h>

#include "graph/op_table.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/pointwise/pointwise.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"
#include "runtime/lower/group_view.h"
#include "runtime/lower/program_of_node.h"

namespace hone::runtime::cpu {
namespace {

using graph::TensorType;

// A constant as `layout` has it, blocks of channels filled up with zeros. `data` is plain, `shape` N, C,
// spatial…; one copy for all runs.
Tensor in_blocks(const Tensor& data, const Shape& shape, Layout layout) {
  const int64_t block = channel_block(layout);
  const int64_t blocks = (shape[1] + block - 1) / block;
  const int64_t positions = element_count(std::span(shape).subspan(2));
  const std::size_t size = dtype_size(data.dtype());
  Tensor packed = Tensor::zeros(data.dtype(), {shape[0], blocks, positions, block});
  const auto* from = static_cast<const std::byte*>(data.data());
  auto* const to = static_cast<std::byte*>(packed.data());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t p = 0; p < positions; ++p, from += size) {
        const int64_t at = ((n * blocks + c / block) * positions + p) * block + c % block;
        std::memcpy(to + static_cast<std::size_t>(at) * size, from, size);
      }
    }
  }
  return packed;
}

constexpr std::size_t kMaxInputs = 32;

// Where a blocked result has channels that are none: the end of the last block at every position of every
// image. They must hold zeros (the kernels of convolutions read them), whatever the program makes of zeros.
struct ChannelPadding {
  int64_t images = 0, image_bytes = 0, last_block = 0;  // bytes from an image's start to its last block
  int64_t positions = 0, position_bytes = 0;
  int64_t first = 0, bytes = 0;  // the padding within a position

  void clear(void* output) const noexcept {
    kernels::parallel_for(images * positions, 4096, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        std::byte* position = static_cast<std::byte*>(output) + i / positions * image_bytes + last_block +
                              i % positions * position_bytes;
        std::memset(position + first, 0, static_cast<std::size_t>(bytes));
      }
    });
  }
};

ChannelPadding channel_padding(const TensorType& type) {
  ChannelPadding padding;
  const int64_t block = channel_block(type.layout);
  if (block == 1 || type.shape()[1] % block == 0) return padding;
  const Shape shape = type.shape();
  const auto size = static_cast<int64_t>(dtype_size(type.dtype));
  padding.images = shape[0];
  padding.positions = element_count(std::span(shape).subspan(2));
  padding.position_bytes = block * size;
  padding.last_block = shape[1] / block * padding.positions * padding.position_bytes;
  padding.image_bytes = padding.last_block + padding.positions * padding.position_bytes;
  padding.first = shape[1] % block * size;
  padding.bytes = padding.position_bytes - padding.first;
  return padding;
}

}  // namespace

void lower_pointwise(const LowerContext& context, std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::OpEntry* entry = graph::op_table().find(context.node.op);
  const bool single = !group.is_group() && entry != nullptr && entry->op_class == graph::OpClass::kPointwise;
  if (!single && group.kind() != graph::GroupKind::kPointwise) return;
  ProgramOfNode lowering(context, group);
  if (!lowering.build() || lowering.inputs().size() > kMaxInputs) return;
  KernelTraits traits;
  traits.implementation =
      single ? "hone pointwise" : fmt::format("hone pointwise ({} operators)", group.nodes().size());
  traits.in_place = lowering.overwritable();
  traits.unread = lowering.unread();
  std::vector<ChannelPadding> paddings;  // one an output
  for (std::size_t i = 0; i < context.node.outputs.size(); ++i)
    paddings.push_back(channel_padding(context.out(i)));
  found.push_back({"hone pointwise",
                   [program = lowering.program(), inputs = lowering.inputs(), layout = context.out().layout,
                    traits, paddings]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(kernels::Pointwise made, kernels::Pointwise::create(program));
                     KernelTraits complete = traits;
                     complete.scratch_bytes = made.scratch_bytes();
                     std::vector<ProgramInput> sources = inputs;
                     for (ProgramInput& source : sources) {
                       if (!source.is_packed()) continue;
                       source.constant = in_blocks(source.constant, source.shape, layout);
                       complete.packed_bytes += source.constant.bytes();
                     }
                     return make_kernel(std::move(complete),
                                        [made = std::move(made), inputs = std::move(sources),
                                         paddings](const KernelArguments& arguments) -> Status {
                                          std::array<const void*, kMaxInputs> pointers{};
                                          for (std::size_t i = 0; i < inputs.size(); ++i)
                                            pointers[i] = inputs[i].is_packed()
                                                              ? inputs[i].constant.data()
                                                              : arguments.inputs[inputs[i].input];
                                          made.execute(std::span(pointers).first(inputs.size()),
                                                       arguments.outputs, arguments.scratch);
                                          for (std::size_t i = 0; i < paddings.size(); ++i) {
                                            if (paddings[i].images > 0)
                                              paddings[i].clear(arguments.outputs[i]);
                                          }
                                          return {};
                                        });
                   }});
}

}  // namespace hone::runtime::cpu
