// Groups of a product and the sum of an operand's rows, the gradients of a linear layer's weights and bias: by cuBLASLt in one
// kernel, which sums the operand while it multiplies, and by the two kernels that each would have by itself. Which is faster
// is for the search to measure; where nothing is measured the two are taken.
#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "kernels/cuda/pointwise.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/gpu_product.h"
#include "runtime/cuda/kernels_in_turn.h"
#include "runtime/cuda/reduction_launches.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime::cuda_kernels {
namespace {

namespace gpu = hone::kernels::gpu;

// A group of this kind, read. Output 0 of the plan's node is the product's, output 1 the sum.
struct BiasGradientForm {
  ProductForm product;  // with its epilogue
  bool with_epilogue = false;
  cuda::ProductBiasGradient of = cuda::ProductBiasGradient::kNone;
  std::size_t summed = 0;  // the input that is summed
  Shape operand;           // its shape, [rows, columns]
  DType dtype = DType::kF32, sum_dtype = DType::kF32;
  std::vector<std::size_t> inputs;  // all of the node's
};

// Whether the sum is over axis 0 alone, by what is known of its axes.
bool sums_first_axis(const GroupView& group, const graph::Node& sum) {
  const Tensor* const axes = sum.has_input(1) ? group.constant(sum.inputs[1]) : nullptr;
  if (axes == nullptr || axes->size() != 1) return false;
  const auto axis = normalize_axis(axes->to_ints()[0], 2);
  return axis.ok() && *axis == 0;
}

std::optional<BiasGradientForm> bias_gradient_form(const LowerContext& context) {
  const GroupView group(context);
  const std::vector<graph::ValueId>& outputs = group.graph().outputs();
  const graph::Node &product = group.anchor(), &sum = group.last();
  const graph::Node& result =
      group.nodes()[group.nodes().size() - 2];  // the product, or the last of its epilogue
  if (outputs.size() != 2 || outputs[0] != result.outputs[0] || outputs[1] != sum.outputs[0] ||
      !sums_first_axis(group, sum))
    return std::nullopt;
  const auto read = product_form(context);
  const auto summed = group.input_index(sum.inputs[0]);
  const graph::TensorType& operand = group.type(sum.inputs[0]);
  if (!read || !summed || operand.rank() != 2) return std::nullopt;
  BiasGradientForm form;
  form.product = *read;
  form.with_epilogue = group.nodes().size() > 2;
  const bool of_b = product.inputs[1] == sum.inputs[0] && graph::sums_over_rows(product, 1);
  form.of = of_b ? cuda::ProductBiasGradient::kOfB : cuda::ProductBiasGradient::kOfA;
  form.summed = *summed;
  form.operand = operand.shape();
  form.dtype = operand.dtype;
  form.sum_dtype = context.out(1).dtype;
  form.inputs.resize(context.node.inputs.size());
  std::iota(form.inputs.begin(), form.inputs.end(), 0);
  return form;
}

// f32 at the beginning of the scratch, plus input 0 where something is added, rounded to `dtype` into output 0.
std::optional<GpuLaunches> rounding_launches(int64_t count, DType dtype, bool added, float beta) {
  using kernels::PointwiseOp;
  kernels::PointwiseProgram program;
  program.shape = {count};
  int value = program.input(DType::kF32, {1});
  if (added) {
    int other = program.cast(program.input(dtype, {1}), DType::kF32);
    if (beta != 1)
      other = program.apply(PointwiseOp::kMul, other, program.constant(DType::kF32, double{beta}));
    value = program.apply(PointwiseOp::kAdd, value, other);
  }
  program.output(value, dtype);
  auto generated = gpu::generate_pointwise(program);
  if (!generated.ok()) return std::nullopt;
  const auto shape =
      line_of_blocks((generated->elements + generated->elements_a_block - 1) / generated->elements_a_block,
                     gpu::kPointwiseBlock);
  if (!shape) return std::nullopt;
  GpuLaunches launches{.implementation = "hone pointwise (CUDA)"};
  GpuLaunch launch{.source = std::move(generated->source), .entry = gpu::kPointwiseEntry, .shape = *shape};
  launch.parameters.push_back({GpuParameter::Kind::kScratch, 0});
  if (added) launch.parameters.push_back(input_parameter(0));
  launch.parameters.push_back(output_parameter(0));
  launch.parameters.push_back({GpuParameter::Kind::kInteger, generated->elements});
  launches.launches.push_back(std::move(launch));
  return launches;
}

Candidate candidate_of(const GpuKernels& kernels, GpuLaunches launches) {
  std::vector<Candidate> one;
  offer_launches(kernels, "", std::move(launches), one);
  return std::move(one.front());
}

// The library gives sums in the type of the product's result alone. Where they are f32 and the gradient of the weights is
// narrow, all of it is computed in f32, and what rounds the latter, once, as the library would have, is a kernel behind it.
struct FusedForm {
  GpuProductTraits traits;
  std::optional<CandidateInTurn> rounding;
};
std::optional<FusedForm> fused_form(const BiasGradientForm& form, const GpuKernels& kernels) {
  FusedForm fused;
  cuda::ProductDesc& desc = fused.traits.desc = form.product.desc;
  fused.traits.inputs = form.product.inputs;
  desc.bias_gradient = form.of;
  if (desc.tf32) return std::nullopt;  // it may round what it sums, which the permission is not for
  if (form.sum_dtype == (desc.f32_result ? DType::kF32 : form.dtype)) return fused;
  if (desc.f32_result || form.sum_dtype != DType::kF32 || kernels.cache == nullptr) return std::nullopt;
  const int64_t count = desc.rows * desc.columns;
  const std::optional<std::size_t> added = form.product.inputs.added;
  auto rounding = rounding_launches(count, form.dtype, added.has_value(), desc.beta);
  if (!rounding) return std::nullopt;
  fused.rounding = CandidateInTurn{.candidate = candidate_of(kernels, *std::move(rounding)),
                                   .inputs = added ? std::vector{*added} : std::vector<std::size_t>{},
                                   .outputs = {0}};
  desc.f32_result = true;
  desc.added = false;
  fused.traits.inputs.added.reset();
  fused.traits.d_in_scratch = static_cast<std::size_t>(count) * sizeof(float);
  return fused;
}

std::vector<Candidate> fused_candidates(const BiasGradientForm& form, const GpuKernels& kernels) {
  std::vector<Candidate> found;
  const auto fused = fused_form(form, kernels);
  if (!fused) return found;
  const auto product = cuda::Product::make(kernels.products, fused->traits.desc);
  if (!product.ok()) return found;
  const std::vector<ProductGuess> guesses = guesses_of(**product);
  for (const ProductGuess& guess : guesses) {
    const std::string place = fmt::format("{} for {} MiB", guess.place, guess.workspace >> 20);
    GpuProductTraits traits = fused->traits;
    traits.algorithm = guess.algorithm;
    traits.implementation = fmt::format("cuBLASLt with bias gradient{} (guess {}, of {})",
                                        traits.desc.f32_result ? " in f32" : "", place, guesses.size());
    std::vector<CandidateInTurn> turns(1);
    turns[0].candidate.make = [library = kernels.products, traits] { return make_product(library, traits); };
    turns[0].inputs = form.inputs;
    turns[0].outputs = fused->rounding ? std::vector<std::size_t>{1} : std::vector<std::size_t>{0, 1};
    if (fused->rounding) turns.push_back(*fused->rounding);
    found.push_back(in_turn("cuBLASLt with bias gradient " + place, std::move(turns),
                            in_place_input(form.product.inputs)));
  }
  return found;
}

// Each of the product's kernels with the sum's behind it.
void offer_one_after_the_other(const BiasGradientForm& form, const GpuKernels& kernels,
                               std::vector<Candidate>& found) {
  auto sum = reduction_launches({.desc = {.shape = form.operand, .axes = {0}},
                                 .dtype = form.dtype,
                                 .f32_results = form.sum_dtype == DType::kF32,
                                 .arg = {}});
  if (!sum) return;
  const Candidate summing = candidate_of(kernels, *std::move(sum));
  std::vector<Candidate> products;
  offer_products(form.product, kernels, form.with_epilogue, products);
  for (Candidate& product : products) {
    const std::string name = product.name + ", then hone reduce";
    found.push_back(in_turn(name, {{std::move(product), form.inputs, {0}}, {summing, {form.summed}, {1}}},
                            in_place_input(form.product.inputs)));
  }
}

}  // namespace

void lower_bias_gradient(const LowerContext& context, const GpuKernels& kernels,
                         std::vector<Candidate>& found) {
  if (!graph::is_group(context.node, graph::GroupKind::kBiasGradient) || kernels.products == nullptr) return;
  const auto form = bias_gradient_form(context);
  if (!form) return;
  std::vector<Candidate> fused = fused_candidates(*form, kernels);
  if (fused.empty()) return;  // two nodes, then: the plan may place each as it likes
  if (kernels.cache != nullptr) offer_one_after_the_other(*form, kernels, found);
  std::ranges::move(fused, std::back_inserter(found));
}

}  // namespace hone::runtime::cuda_kernels
