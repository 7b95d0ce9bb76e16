// GridSample, its gradients, and RoiAlign (kernels/cuda/sampling.h).
#include "kernels/cuda/sampling.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/launch_key_sort.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// Of images of the shape `x` and type `dtype`; the grid is input `points`.
std::optional<gpu::GridSampleProgram> grid_sample_program(const LowerContext& context, const Shape& x,
                                                          DType dtype, std::size_t points) {
  using GridSample = gpu::GridSampleProgram;
  const Shape grid = context.in_shape(points);
  if (x.size() < 3 || grid.size() != x.size() || grid[0] != x[0] ||
      grid.back() != static_cast<int64_t>(x.size()) - 2)
    return std::nullopt;
  const Attributes& attributes = context.node.attributes;
  GridSample program{.dtype = dtype,
                     .grid = context.in(points).dtype,
                     .batch = x[0],
                     .channels = x[1],
                     .points = element_count(std::span(grid).subspan(1, grid.size() - 2)),
                     .image = Shape(x.begin() + 2, x.end()),
                     .align_corners = attributes.integer("align_corners", 0) != 0};
  const std::string mode = attributes.text("mode", "linear"),
                    padding = attributes.text("padding_mode", "zeros");
  if (mode != "linear" && mode != "nearest" && mode != "cubic") return std::nullopt;
  if (padding != "zeros" && padding != "border" && padding != "reflection") return std::nullopt;
  program.mode = mode == "nearest" ? GridSample::Mode::kNearest
                 : mode == "cubic" ? GridSample::Mode::kCubic
                                   : GridSample::Mode::kLinear;
  program.padding = padding == "border"       ? GridSample::Padding::kBorder
                    : padding == "reflection" ? GridSample::Padding::kReflection
                                              : GridSample::Padding::kZeros;
  return program;
}

std::optional<gpu::RoiAlignProgram> roi_align_program(const LowerContext& context) {
  const Shape x = context.in_shape(0), regions = context.in_shape(1);
  if (x.size() != 4 || regions.size() != 2 || regions[1] != 4 || context.in_shape(2) != Shape{regions[0]} ||
      context.in(1).dtype != context.in(0).dtype || context.in(2).dtype != DType::kI64)
    return std::nullopt;
  const Attributes& attributes = context.node.attributes;
  const std::string mode = attributes.text("mode", "avg"),
                    coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") || (coordinates != "half_pixel" && coordinates != "output_half_pixel"))
    return std::nullopt;
  return gpu::RoiAlignProgram{.dtype = context.in(0).dtype,
                              .images = x[0],
                              .channels = x[1],
                              .height = x[2],
                              .width = x[3],
                              .regions = regions[0],
                              .out_height = attributes.integer("output_height", 1),
                              .out_width = attributes.integer("output_width", 1),
                              .ratio = attributes.integer("sampling_ratio", 0),
                              .scale = static_cast<double>(attributes.real("spatial_scale", 1)),
                              .half_pixel = coordinates == "half_pixel",
                              .maximum = mode == "max"};
}

void offer_sampling(const GpuKernels& kernels, std::string name, const char* entry,
                    Result<gpu::SamplingKernel> generated, std::vector<GpuParameter> parameters,
                    std::string fault, std::vector<Candidate>& found) {
  if (!generated.ok()) return;
  const auto blocks = line_of_blocks(generated->blocks, gpu::kSamplingBlock);
  if (!blocks) return;
  GpuLaunches launches{.implementation = name + " (CUDA)", .fault = std::move(fault)};
  launches.launches.push_back({std::move(generated->source), entry, *blocks, std::move(parameters)});
  offer_launches(kernels, std::move(name), std::move(launches), found);
}

// Scratch: keys, weights, partial sums.
void offer_image_gradient(const LowerContext& context, const GpuKernels& kernels,
                          std::vector<Candidate>& found) {
  const auto program = grid_sample_program(context, context.out_shape(), context.in(0).dtype, 2);
  if (!program) return;
  auto generated = gpu::generate_image_gradient(*program);
  if (!generated.ok()) return;
  const auto zeros = line_of_blocks(generated->zero_blocks, gpu::kSamplingBlock);
  const auto keys = line_of_blocks(generated->key_blocks, gpu::kSamplingBlock);
  auto pieces = line_of_blocks(generated->piece_blocks_x, generated->piece_threads_x);
  if (!zeros || !keys || !pieces) return;
  pieces->grid[1] = static_cast<unsigned>(generated->piece_blocks_y);
  pieces->block[1] = static_cast<unsigned>(generated->piece_threads_y);
  const int64_t key_bytes = generated->sort.sorted * 8;
  const auto weight_bytes = static_cast<int64_t>(generated->weight_bytes);
  const GpuParameter sorted{GpuParameter::Kind::kScratch, 0},
      weights{GpuParameter::Kind::kScratch, key_bytes},
      partial{GpuParameter::Kind::kScratch, key_bytes + weight_bytes};
  const cuda::KernelSource& source = generated->source;
  GpuLaunches launches{.implementation = "hone image gradient (CUDA)"};
  launches.unread = {1};  // the shape
  launches.scratch_bytes =
      static_cast<std::size_t>(key_bytes) + generated->weight_bytes + generated->partial_bytes;
  launches.launches.push_back({source, gpu::kImageZeroEntry, *zeros, {output_parameter(0)}});
  launches.launches.push_back({source, gpu::kImageKeysEntry, *keys, {input_parameter(2), sorted, weights}});
  if (!launch_key_sort(source, generated->sort, sorted, launches)) return;
  launches.launches.push_back({source,
                               gpu::kImagePiecesEntry,
                               *pieces,
                               {input_parameter(0), sorted, weights, output_parameter(0), partial}});
  launches.launches.push_back(
      {source, gpu::kImageJoinEntry, *pieces, {sorted, partial, output_parameter(0)}});
  offer_launches(kernels, "hone image gradient", std::move(launches), found);
}

}  // namespace

void lower_sampling(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  const bool grid = context.node.op == "GridSample", regions = context.node.op == "RoiAlign",
             of_grid = context.node.op == "hone.GridSampleGridGradient",
             of_images = context.node.op == "hone.GridSampleGradient";
  if ((!grid && !regions && !of_grid && !of_images) || context.in(0).layout != Layout::kPlain ||
      context.in(1).layout != Layout::kPlain || context.out().layout != Layout::kPlain)
    return;
  if (of_images) return offer_image_gradient(context, kernels, found);
  if (of_grid) {
    const auto program = grid_sample_program(context, context.in_shape(1), context.in(1).dtype, 2);
    if (program && context.in(0).dtype == program->dtype)
      offer_sampling(
          kernels, "hone grid gradient", gpu::kGridGradientEntry, gpu::generate_grid_gradient(*program),
          {input_parameter(0), input_parameter(1), input_parameter(2), output_parameter(0)}, {}, found);
    return;
  }
  if (grid) {
    if (const auto program = grid_sample_program(context, context.in_shape(0), context.in(0).dtype, 1))
      offer_sampling(kernels, "hone grid sample", gpu::kGridSampleEntry, gpu::generate_grid_sample(*program),
                     {input_parameter(0), input_parameter(1), output_parameter(0)}, {}, found);
    return;
  }
  if (const auto program = roi_align_program(context))
    offer_sampling(kernels, "hone roi align", gpu::kRoiAlignEntry, gpu::generate_roi_align(*program),
                   {input_parameter(0),
                    input_parameter(1),
                    input_parameter(2),
                    output_parameter(0),
                    {GpuParameter::Kind::kFault, 0},
                    {GpuParameter::Kind::kFaultWord, 1}},
                   "a region is in an image that does not exist, or too large", found);
}

}  // namespace hone::runtime::cuda_kernels
