// hone.SquareSum: generated kernels (kernels/cuda/square_sum.h), one launch for so many tensors and one that adds up.
#include <map>

#include <fmt/format.h>

#include "kernels/cuda/square_sum.h"
#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// The tensors of one type, which have a kernel of their own.
struct SquaresOfType {
  std::vector<std::size_t> inputs;
  LoadedKernel loaded;
};

class GpuSquareSum : public Kernel {
 public:
  GpuSquareSum(std::vector<int64_t> sizes, std::vector<SquaresOfType> types, cuda::FunctionHandle join)
      : sizes_(std::move(sizes)), types_(std::move(types)), join_(join) {
    for (const int64_t size : sizes_) blocks_ += blocks_of(size);
  }

  static int64_t blocks_of(int64_t size) { return (size + gpu::kSquaresChunk - 1) / gpu::kSquaresChunk; }

  std::string implementation() const override { return "hone square sum (CUDA)"; }
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(blocks_) * sizeof(float); }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    int64_t done = 0;
    for (const SquaresOfType& type : types_) HONE_CHECK(add(type, arguments, done, queue));
    return join(arguments, queue);
  }

 private:
  static constexpr uintptr_t kSquaresAlignment = 16;  // kernels load so much at once

  Status add(const SquaresOfType& type, const KernelArguments& arguments, int64_t& done, Queue& queue) const {
    gpu::SquaresTensors tensors;
    for (const std::size_t i : type.inputs) {
      if (reinterpret_cast<uintptr_t>(arguments.inputs[i]) % kSquaresAlignment != 0) [[unlikely]]
        return invalid(fmt::format("a tensor lies at {}, which is not aligned to {} bytes",
                                   arguments.inputs[i], kSquaresAlignment));
      const int64_t blocks = blocks_of(sizes_[i]);
      if (blocks == 0) continue;
      const auto at = static_cast<std::size_t>(tensors.count);
      tensors.x[at] = arguments.inputs[i];
      tensors.size[at] = sizes_[i];
      tensors.first[at + 1] = static_cast<int32_t>(tensors.first[at] + blocks);
      if (++tensors.count == static_cast<int32_t>(gpu::kSquaresTensors)) {
        HONE_CHECK(launch(type, tensors, arguments, done, queue));
        tensors = {};
      }
    }
    return tensors.count > 0 ? launch(type, tensors, arguments, done, queue) : Status();
  }

  // Behind the sums of `done` blocks.
  static Status launch(const SquaresOfType& type, gpu::SquaresTensors& tensors,
                       const KernelArguments& arguments, int64_t& done, Queue& queue) {
    const int32_t blocks = tensors.first[static_cast<std::size_t>(tensors.count)];
    float* sums = static_cast<float*>(arguments.scratch) + done;
    done += blocks;
    cuda::LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(blocks);
    shape.block[0] = gpu::kSquaresBlock;
    std::array<void*, 2> parameters = {&tensors, &sums};
    return static_cast<CudaQueue&>(queue).launch(type.loaded.function, shape, parameters, gpu::kSquaresEntry,
                                                 cuda::Launch::kEarly);
  }

  Status join(const KernelArguments& arguments, Queue& queue) {
    const void* sums = arguments.scratch;
    int64_t count = blocks_;
    void* out = arguments.outputs[0];
    cuda::LaunchShape shape;
    shape.block[0] = gpu::kJoinSquaresBlock;
    std::array<void*, 3> parameters = {&sums, &count, &out};
    return static_cast<CudaQueue&>(queue).launch(join_, shape, parameters, gpu::kJoinSquaresEntry,
                                                 cuda::Launch::kEarly);
  }

  std::vector<int64_t> sizes_;
  std::vector<SquaresOfType> types_;
  cuda::FunctionHandle join_ = nullptr;  // of the first type's module
  int64_t blocks_ = 0;
};

Result<std::unique_ptr<Kernel>> make_square_sum(const GpuKernels& kernels, const std::vector<int64_t>& sizes,
                                                const std::map<DType, std::vector<std::size_t>>& by_type) {
  std::vector<SquaresOfType> types;
  for (const auto& [dtype, inputs] : by_type) {
    HONE_ASSIGN(const cuda::KernelSource source, gpu::generate_square_sum(dtype));
    HONE_ASSIGN(LoadedKernel loaded, load_kernel(kernels, source, gpu::kSquaresEntry));
    types.push_back({inputs, std::move(loaded)});
  }
  HONE_ASSIGN(const cuda::FunctionHandle join,
              cuda::find_function(types.front().loaded.module, gpu::kJoinSquaresEntry));
  return std::unique_ptr<Kernel>(std::make_unique<GpuSquareSum>(sizes, std::move(types), join));
}

}  // namespace

void lower_square_sum(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (context.node.op != "hone.SquareSum") return;
  constexpr int64_t kMostBlocks = int64_t{1} << 30;  // of all launches
  std::vector<int64_t> sizes;
  std::map<DType, std::vector<std::size_t>> by_type;
  int64_t blocks = 0;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (channel_block(context.in(i).layout) > 1 || !gpu::generate_square_sum(context.in(i).dtype).ok())
      return;
    by_type[context.in(i).dtype].push_back(i);
    sizes.push_back(element_count(context.in_shape(i)));
    blocks += GpuSquareSum::blocks_of(sizes.back());
  }
  if (blocks > kMostBlocks) return;
  found.push_back(
      {.name = "hone square sum", .make = [kernels, sizes = std::move(sizes), by_type = std::move(by_type)] {
         return make_square_sum(kernels, sizes, by_type);
       }});
}

}  // namespace hone::runtime::cuda_kernels
