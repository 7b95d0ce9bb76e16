// BatchNormalization by the batch's own statistics, and its gradient: three generated kernels each, two for the statistics of
// channels and one for the elements (kernels/cuda/batch_norm.h). The gradient of LayerNormalization
// (kernels/cuda/layer_norm_gradient.h).
#include <algorithm>

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/layer_norm_gradient.h"
#include "kernels/cuda/pointwise.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/normalization_form.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

constexpr GpuParameter kNoStatistic{GpuParameter::Kind::kInteger, 0};

// `image` is the input that is normalised, or was; nullopt where not all lies as the kernels take it.
std::optional<gpu::BatchNormProgram> batch_program(const LowerContext& context, std::size_t image) {
  const graph::TensorType& type = context.in(image);
  const Shape shape = type.shape();
  if (shape.size() < 2 || element_count(shape) == 0 || channel_block(type.layout) > 1) return std::nullopt;
  gpu::BatchNormProgram program;
  program.dtype = type.dtype;
  program.batch = shape[0];
  program.channels = shape[1];
  program.positions = element_count(std::span(shape).subspan(2));
  program.channels_last = type.layout == Layout::kChannelsLast;
  program.epsilon = context.node.attributes.real("epsilon", 1e-5F);
  program.momentum = context.node.attributes.real("momentum", 0.9F);
  return program;
}

bool is_f32_a_channel(const graph::TensorType& type, int64_t channels) {
  return type.dtype == DType::kF32 && type.is_static() && type.shape() == Shape{channels};
}

GpuParameter coefficient(const gpu::BatchNormKernels& kernels, int64_t row) {
  const auto partial = static_cast<int64_t>((kernels.partial_bytes + 63) / 64 * 64);
  return {GpuParameter::Kind::kScratch, partial + row * kernels.coefficient_bytes};
}

std::size_t scratch_of(const gpu::BatchNormKernels& kernels) {
  return static_cast<std::size_t>(coefficient(kernels, kernels.coefficients).number);
}

constexpr GpuParameter kPartialSums{GpuParameter::Kind::kScratch, 0};

// The launches but for what is done to each element. `images` are the first kernel's inputs, `joined` the second's parameters
// between the scale and the coefficients.
bool add_statistics(const gpu::BatchNormKernels& kernels, const std::array<GpuParameter, 3>& images,
                    GpuParameter scale, const std::array<GpuParameter, 6>& joined, GpuLaunches& launches) {
  auto shape = line_of_blocks(kernels.blocks, kernels.threads_x);
  auto joining = line_of_blocks(kernels.join_blocks, 32);
  if (!shape || !joining) return false;
  joining->block[1] = 16;
  shape->grid[1] = static_cast<unsigned>(kernels.parts);
  shape->block[1] = static_cast<unsigned>(kernels.threads_y);
  launches.scratch_bytes = scratch_of(kernels);
  launches.launches.push_back(
      {kernels.source, gpu::kBatchStatisticsEntry, *shape, {images[0], images[1], images[2], kPartialSums}});
  std::vector<GpuParameter> parameters = {kPartialSums, scale};
  parameters.insert(parameters.end(), joined.begin(), joined.end());
  parameters.push_back(coefficient(kernels, 0));
  launches.launches.push_back({kernels.source, gpu::kJoinStatisticsEntry, *joining, std::move(parameters)});
  return true;
}

// With channels last: `images` as the first kernel has them.
bool add_rows(const gpu::BatchNormKernels& kernels, const std::array<GpuParameter, 3>& images,
              GpuParameter bias, GpuLaunches& launches) {
  auto shape = line_of_blocks(kernels.blocks, kernels.threads_x);
  if (!shape) return false;
  shape->grid[1] = static_cast<unsigned>(kernels.element_rows);
  shape->block[1] = static_cast<unsigned>(kernels.threads_y);
  launches.launches.push_back(
      {kernels.source,
       gpu::kBatchElementsEntry,
       *shape,
       {images[0], images[1], images[2], coefficient(kernels, 0), bias, output_parameter(0)}});
  return true;
}

bool add_elements(const gpu::BatchNormProgram& program, std::vector<GpuParameter> inputs,
                  GpuLaunches& launches) {
  auto generated = gpu::generate_pointwise(gpu::batch_norm_elements(program));
  if (!generated.ok()) return false;
  const auto shape =
      line_of_blocks((generated->elements + generated->elements_a_block - 1) / generated->elements_a_block,
                     gpu::kPointwiseBlock);
  if (!shape) return false;
  inputs.push_back(output_parameter(0));
  inputs.push_back({GpuParameter::Kind::kInteger, generated->elements});
  launches.launches.push_back(
      {std::move(generated->source), gpu::kPointwiseEntry, *shape, std::move(inputs)});
  return true;
}

void lower_training_batch_norm(const LowerContext& context, const GpuKernels& kernels,
                               std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  auto program = batch_program(context, 0);
  if (!program || node.inputs.size() != 5 || context.in(0).text() != context.out().text()) return;
  for (std::size_t i = 1; i < 5; ++i)
    if (!context.has(i) || !is_f32_a_channel(context.in(i), program->channels)) return;
  program->relu = node.op == "hone.BatchNormalizationRelu";
  const auto generated = gpu::generate_batch_norm(*program);
  if (!generated.ok()) return;
  GpuLaunches launches{.implementation = "hone batch norm (CUDA)", .in_place = 0};
  const std::array<GpuParameter, 3> images = {input_parameter(0), kNoStatistic, kNoStatistic};
  const auto running = [&](std::size_t i) { return node.has_output(i) ? output_parameter(i) : kNoStatistic; };
  const std::array<GpuParameter, 6> joined = {input_parameter(3), input_parameter(4), running(1),
                                              running(2),         kNoStatistic,       kNoStatistic};
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    if (node.has_output(i)) launches.more_in_place.emplace_back(i, i + 2);
  if (!add_statistics(*generated, images, input_parameter(1), joined, launches)) return;
  const bool added = generated->element_rows > 0
                         ? add_rows(*generated, images, input_parameter(2), launches)
                         : add_elements(*program,
                                        {input_parameter(0), coefficient(*generated, 0),
                                         coefficient(*generated, 1), input_parameter(2)},
                                        launches);
  if (!added) return;
  offer_launches(kernels, "hone batch norm", std::move(launches), found);
}

bool has_all_outputs(const graph::Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [](graph::ValueId id) { return id.valid(); });
}

void lower_batch_norm_gradient(const LowerContext& context, const GpuKernels& kernels,
                               std::vector<Candidate>& found) {
  auto program = batch_program(context, 1);
  if (!program || !has_all_outputs(context.node) || !is_f32_a_channel(context.in(2), program->channels))
    return;
  program->gradient = true;
  program->relu = context.has(3);
  for (const std::size_t i : {std::size_t{0}, std::size_t{3}})
    if (context.has(i) && context.in(i).text() != context.in(1).text()) return;
  const auto generated = gpu::generate_batch_norm(*program);
  if (!generated.ok()) return;
  GpuLaunches launches{.implementation = "hone batch norm gradient (CUDA)", .in_place = 0};
  const GpuParameter passed = program->relu ? input_parameter(3) : kNoStatistic;
  const std::array<GpuParameter, 6> joined = {kNoStatistic, kNoStatistic,        kNoStatistic,
                                              kNoStatistic, output_parameter(1), output_parameter(2)};
  const std::array<GpuParameter, 3> images = {input_parameter(1), input_parameter(0), passed};
  std::vector<GpuParameter> inputs = {input_parameter(0), input_parameter(1)};
  if (program->relu) inputs.push_back(passed);
  for (int64_t row = 0; row < generated->coefficients; ++row) inputs.push_back(coefficient(*generated, row));
  if (!add_statistics(*generated, images, input_parameter(2), joined, launches)) return;
  if (!(generated->element_rows > 0 ? add_rows(*generated, images, kNoStatistic, launches)
                                    : add_elements(*program, std::move(inputs), launches)))
    return;
  offer_launches(kernels, "hone batch norm gradient", std::move(launches), found);
}

}  // namespace

void lower_batch_norm(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if ((context.node.op == "BatchNormalization" && context.node.attributes.integer("training_mode", 0) != 0) ||
      context.node.op == "hone.BatchNormalizationRelu")
    lower_training_batch_norm(context, kernels, found);
  if (context.node.op == "hone.BatchNormalizationGradient")
    lower_batch_norm_gradient(context, kernels, found);
}

// Alone, or with what is added to dx and a Cast of that.
void lower_layer_norm_gradient(const LowerContext& context, const GpuKernels& kernels,
                               std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::Node& node = group.anchor();
  if (node.op != "hone.LayerNormalizationGradient" || !has_all_outputs(node)) return;
  if (group.is_group() && group.kind() != graph::GroupKind::kNormalization) return;
  const LowerContext own{group.graph(), node};
  const Shape shape = own.in_shape(1);
  const auto axis = normalize_axis(node.attributes.integer("axis", -1), static_cast<int64_t>(shape.size()));
  if (!axis.ok() || element_count(shape) == 0) return;
  const Shape last(shape.begin() + *axis, shape.end());
  if (own.in_shape(0) != shape || own.in_shape(2) != last) return;
  std::array<GpuParameter, 3> read;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto input = group.input_index(node.inputs[i]);
    if (!input || own.in(i).layout != Layout::kPlain) return;
    read[i] = input_parameter(*input);
  }
  const auto form = normalization_form(group);
  const auto dscale = group.output_index(node.outputs[1]), dbias = group.output_index(node.outputs[2]);
  if (!form || !dscale || !dbias) return;
  const DType dtype = own.in(1).dtype;
  gpu::LayerNormGradientProgram program{.dtype = dtype,
                                        .gradient = own.in(0).dtype,
                                        .scale = own.in(2).dtype,
                                        .rows = element_count(shape) / element_count(last),
                                        .columns = element_count(last),
                                        .epsilon = node.attributes.real("epsilon", 1e-5F),
                                        .added = form->added.has_value(),
                                        .narrow = form->narrow_type,
                                        .stores = form->stored.has_value()};
  const auto generated = gpu::generate_layer_norm_gradient(program);
  if (!generated.ok()) return;
  auto rows = line_of_blocks(generated->blocks, generated->threads_x);
  auto joining = line_of_blocks(generated->join_blocks, 32);
  if (!rows || !joining) return;
  rows->block[1] = static_cast<unsigned>(generated->threads_y);
  joining->block[1] = 8;
  GpuLaunches launches{.implementation = "hone layer norm gradient (CUDA)"};
  // A row is in registers before anything of it is stored.
  const std::size_t first = own.in(0).dtype == dtype ? 0 : 1;
  if (const auto over = static_cast<std::size_t>(read[first].number); form->stored == std::size_t{0})
    launches.in_place = over;
  else if (form->stored)
    launches.more_in_place.emplace_back(*form->stored, over);
  launches.scratch_bytes = generated->partial_bytes;
  const auto where = [](const auto& place, GpuParameter (*parameter)(std::size_t)) {
    return place ? parameter(*place) : kNoStatistic;
  };
  launches.launches = {
      {generated->source,
       gpu::kLayerNormGradientEntry,
       *rows,
       {read[0], read[1], read[2], where(form->added, input_parameter), where(form->stored, output_parameter),
        where(form->narrow, output_parameter), kPartialSums}},
      {generated->source,
       gpu::kJoinColumnsEntry,
       *joining,
       {kPartialSums, output_parameter(*dscale), output_parameter(*dbias)}}};
  offer_launches(kernels, "hone layer norm gradient", std::move(launches), found);
}

}  // namespace hone::runtime::cuda_kernels
