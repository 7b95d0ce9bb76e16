// hone.SquareSum: generated kernels (kernels/cuda/square_sum.h), one launch for so many tensors and one that adds up.
#include <fmt/format.h>

#include "kernels/cuda/square_sum.h"
#include "runtime/cuda/gpu_kernels.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

struct LoadedSquares {
  cuda::Module module;
  cuda::FunctionHandle squares = nullptr, join = nullptr;
};

class GpuSquareSum : public Kernel {
 public:
  GpuSquareSum(std::vector<int64_t> sizes, LoadedSquares loaded)
      : sizes_(std::move(sizes)), loaded_(std::move(loaded)) {
    for (const int64_t size : sizes_) blocks_ += blocks_of(size);
  }

  static int64_t blocks_of(int64_t size) { return (size + gpu::kSquaresChunk - 1) / gpu::kSquaresChunk; }

  std::string implementation() const override { return "hone square sum (CUDA)"; }
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(blocks_) * sizeof(float); }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    gpu::SquaresTensors tensors;
    int64_t done = 0;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
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
        HONE_CHECK(launch(tensors, arguments, done, queue));
        tensors = {};
      }
    }
    if (tensors.count > 0) HONE_CHECK(launch(tensors, arguments, done, queue));
    return join(arguments, queue);
  }

 private:
  static constexpr uintptr_t kSquaresAlignment = 16;  // kernels load so much at once

  // Behind the sums of `done` blocks.
  Status launch(gpu::SquaresTensors& tensors, const KernelArguments& arguments, int64_t& done, Queue& queue) {
    const int32_t blocks = tensors.first[static_cast<std::size_t>(tensors.count)];
    float* sums = static_cast<float*>(arguments.scratch) + done;
    done += blocks;
    cuda::LaunchShape shape;
    shape.grid[0] = static_cast<unsigned>(blocks);
    shape.block[0] = gpu::kSquaresBlock;
    std::array<void*, 2> parameters = {&tensors, &sums};
    return static_cast<CudaQueue&>(queue).launch(loaded_.squares, shape, parameters, gpu::kSquaresEntry);
  }

  Status join(const KernelArguments& arguments, Queue& queue) {
    const void* sums = arguments.scratch;
    int64_t count = blocks_;
    void* out = arguments.outputs[0];
    cuda::LaunchShape shape;
    shape.block[0] = gpu::kJoinSquaresBlock;
    std::array<void*, 3> parameters = {&sums, &count, &out};
    return static_cast<CudaQueue&>(queue).launch(loaded_.join, shape, parameters, gpu::kJoinSquaresEntry);
  }

  std::vector<int64_t> sizes_;
  LoadedSquares loaded_;
  int64_t blocks_ = 0;
};

}  // namespace

void lower_square_sum(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (context.node.op != "hone.SquareSum") return;
  constexpr int64_t kMostBlocks = int64_t{1} << 30;  // of all launches
  std::vector<int64_t> sizes;
  int64_t blocks = 0;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (channel_block(context.in(i).layout) > 1 || context.in(i).dtype != context.out().dtype) return;
    sizes.push_back(element_count(context.in_shape(i)));
    blocks += GpuSquareSum::blocks_of(sizes.back());
  }
  auto source = gpu::generate_square_sum(context.out().dtype);
  if (!source.ok() || blocks > kMostBlocks) return;
  found.push_back({.name = "hone square sum",
                   .make = [kernels, sizes = std::move(sizes),
                            source = *std::move(source)]() -> Result<std::unique_ptr<Kernel>> {
                     HONE_ASSIGN(LoadedKernel loaded, load_kernel(kernels, source, gpu::kSquaresEntry));
                     HONE_ASSIGN(const cuda::FunctionHandle join,
                                 cuda::find_function(loaded.module, gpu::kJoinSquaresEntry));
                     return std::unique_ptr<Kernel>(std::make_unique<GpuSquareSum>(
                         sizes, LoadedSquares{std::move(loaded.module), loaded.function, join}));
                   }});
}

}  // namespace hone::runtime::cuda_kernels
