// MatMul and Gemm on a GPU, alone and with an epilogue: cuBLASLt, its best guesses as candidates, and for one row our own kernel.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "graph/product_math.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/gpu_product.h"
#include "runtime/cuda/product_form.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime::cuda_kernels {
namespace {

// --- what an epilogue may hold ---

struct ProductStep {
  std::string_view op;
  cuda::ProductActivation activation = cuda::ProductActivation::kNone;  // kNone: a second operand is added
};
constexpr std::array kProductSteps = {
    ProductStep{"Add"}, ProductStep{"Relu", cuda::ProductActivation::kRelu},
    ProductStep{"Gelu", cuda::ProductActivation::kGeluTanh},  // where the attribute "approximate" says tanh
};

const ProductStep* find_product_step(const graph::Node& node) {
  const auto found = std::find_if(kProductSteps.begin(), kProductSteps.end(),
                                  [&](const ProductStep& step) { return step.op == node.op; });
  const bool by_erf = node.op == "Gelu" && node.attributes.text("approximate", "none") != "tanh";
  return found == kProductSteps.end() || by_erf ? nullptr : &*found;
}

bool is_product_type(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

// Leading axes as one number of matrices: of the operand's own, and whether there are as many as the result has.
struct Batches {
  int64_t count = 1;
  bool all = false;  // else one for all of them
};
std::optional<Batches> batches_of(const Shape& operand, const Shape& result) {
  const std::span<const int64_t> own = std::span(operand).first(operand.size() - 2);
  const std::span<const int64_t> wanted = std::span(result).first(result.size() - 2);
  const int64_t count = element_count(own);
  if (count == element_count(wanted)) return Batches{count, true};
  if (count == 1) return Batches{1, false};
  return std::nullopt;  // some axes are broadcast, others not: no one stride walks that
}

class FormReader {
 public:
  FormReader(const LowerContext& context, const GroupView& group, std::span<const graph::Node> epilogue)
      : context_(context), group_(group), epilogue_(epilogue) {}

  // nullopt where the library does not compute the node.
  std::optional<ProductForm> read() {
    const graph::Node& product = group_.anchor();
    if (!read_operand(product, 0, form_.inputs.a) || !read_operand(product, 1, form_.inputs.b)) return {};
    form_.desc.dtype = group_.type(product.inputs[0]).dtype;
    form_.desc.f32_result = form_.desc.dtype != context_.out().dtype;
    if (form_.desc.f32_result && !widens()) return {};
    form_.desc.tf32 = form_.desc.dtype == DType::kF32 && graph::may_use_tf32(product);
    const bool read = product.op == "MatMul" ? read_matmul() : product.op == "Gemm" && read_gemm();
    if (!read || form_.desc.depth == 0 || !read_epilogue()) return std::nullopt;
    return form_;
  }

 private:
  // Halves whose sums become f32 directly behind the product.
  bool widens() const {
    const DType dtype = form_.desc.dtype;
    return (dtype == DType::kF16 || dtype == DType::kBF16) && context_.out().dtype == DType::kF32 &&
           !epilogue_.empty() && epilogue_.front().op == "Cast" &&
           epilogue_.front().inputs[0] == group_.anchor().outputs[0];
  }

  // An input that a run reads: in plain layout; of the product's type, or of the result's.
  bool read_operand(const graph::Node& node, std::size_t i, std::size_t& input) const {
    return node.has_input(i) && read_value(node.inputs[i], group_.type(node.inputs[0]).dtype, input);
  }
  bool read_value(graph::ValueId value, DType dtype, std::size_t& input) const {
    const graph::TensorType& type = group_.type(value);
    const auto index = group_.input_index(value);
    if (!index || type.layout != Layout::kPlain || type.dtype != dtype) return false;
    input = *index;
    return true;
  }

  bool read_matmul() {
    const graph::Node& node = group_.anchor();
    const Shape a = group_.type(node.inputs[0]).shape(), b = group_.type(node.inputs[1]).shape(),
                d = group_.type(node.outputs[0]).shape();
    if (a.size() < 2 || b.size() < 2) return false;
    cuda::ProductDesc& desc = form_.desc;
    desc.rows = a[a.size() - 2];
    desc.columns = b.back();
    desc.depth = a.back();
    const auto a_batches = batches_of(a, d), b_batches = batches_of(b, d);
    if (!a_batches || !b_batches) return false;
    desc.batch = element_count(std::span(d).first(d.size() - 2));
    if (!b_batches->all || desc.batch == 1) {  // all rows of all batches are one matrix
      if (!a_batches->all) return false;
      desc.rows *= desc.batch;
      desc.batch = 1;
      return true;
    }
    desc.a_stride = a_batches->all ? desc.rows * desc.depth : 0;
    desc.b_stride = desc.depth * desc.columns;
    desc.d_stride = desc.rows * desc.columns;
    return true;
  }

  // alpha·A·B + beta·C, where C is one row, a matrix like the result, or nothing.
  bool read_gemm() {
    const graph::Node& node = group_.anchor();
    const Shape a = group_.type(node.inputs[0]).shape(), b = group_.type(node.inputs[1]).shape();
    cuda::ProductDesc& desc = form_.desc;
    desc.transpose_a = node.attributes.integer("transA", 0) != 0;
    desc.transpose_b = node.attributes.integer("transB", 0) != 0;
    desc.rows = a[desc.transpose_a ? 1 : 0];
    desc.depth = a[desc.transpose_a ? 0 : 1];
    desc.columns = b[desc.transpose_b ? 0 : 1];
    desc.alpha = node.attributes.real("alpha", 1.0F);
    const float beta = node.attributes.real("beta", 1.0F);
    return !node.has_input(2) || beta == 0.0F || add(node.inputs[2], beta);
  }

  // The operators behind the product: what is added, then at most one function of the sum.
  bool read_epilogue() {
    graph::ValueId value = group_.anchor().outputs[0];
    const bool widened = form_.desc.f32_result;  // by a Cast, the first step
    if (widened) value = epilogue_.front().outputs[0];
    for (const graph::Node& node : epilogue_.subspan(widened ? 1 : 0)) {
      const ProductStep* const step = find_product_step(node);
      if (step == nullptr || form_.desc.activation != cuda::ProductActivation::kNone) return false;
      if (step->activation != cuda::ProductActivation::kNone) {
        if (node.inputs[0] != value) return false;
        form_.desc.activation = step->activation;
      } else {
        if ((node.inputs[0] == value) == (node.inputs[1] == value)) return false;
        if (!add(node.inputs[node.inputs[0] == value ? 1 : 0], 1)) return false;
      }
      value = node.outputs[0];
    }
    return true;
  }

  // One row for all rows, or a tensor like the result; each at most once.
  bool add(graph::ValueId operand, float factor) {
    std::size_t input = 0;
    if (!read_value(operand, context_.out().dtype, input)) return false;
    const Shape own = group_.type(operand).shape(), result = group_.type(group_.anchor().outputs[0]).shape();
    if (own == result && !form_.inputs.added) {
      form_.inputs.added = input;
      form_.desc.added = true;
      form_.desc.beta = factor;
      return true;
    }
    const bool is_row = !own.empty() && own.size() <= result.size() && own.back() == form_.desc.columns &&
                        element_count(own) == form_.desc.columns;
    if (!is_row || form_.inputs.row || factor != 1.0F) return false;
    form_.inputs.row = input;
    form_.desc.row = true;
    return true;
  }

  const LowerContext& context_;
  const GroupView& group_;
  std::span<const graph::Node> epilogue_;
  ProductForm form_;
};

}  // namespace

std::vector<graph::EpilogueCapability> product_epilogues() {
  std::vector<graph::EpilogueCapability> rows;
  for (const ProductStep& step : kProductSteps)
    rows.push_back({.op = step.op,
                    .binary = step.activation == cuda::ProductActivation::kNone,
                    .any_row = step.activation == cuda::ProductActivation::kNone});
  return rows;
}

std::optional<ProductForm> product_form(const LowerContext& context) {
  const GroupView group(context);
  const bool with_sum = group.kind() == graph::GroupKind::kBiasGradient;
  if (graph::product_kind(group.anchor()) != graph::GroupKind::kMatmul ||
      (group.is_group() && group.kind() != graph::GroupKind::kMatmul && !with_sum))
    return std::nullopt;
  if (!is_product_type(context.out().dtype) || element_count(context.out_shape()) == 0) return std::nullopt;
  const auto behind = group.nodes().subspan(1);
  return FormReader(context, group, with_sum ? behind.first(behind.size() - 1) : behind).read();
}

void offer_products(const ProductForm& form, const GpuKernels& kernels, bool with_epilogue,
                    std::vector<Candidate>& found) {
  const auto product = cuda::Product::make(kernels.products, form.desc);
  if (!product.ok()) return;
  const std::vector<ProductGuess> guesses = guesses_of(**product);
  for (const ProductGuess& guess : guesses) {
    const GpuProductTraits traits{
        .desc = form.desc,
        .inputs = form.inputs,
        .algorithm = guess.algorithm,
        .implementation = fmt::format("cuBLASLt{}{} (guess {} for {} MiB, of {})",
                                      form.desc.tf32         ? " tf32"
                                      : form.desc.f32_result ? " to f32"
                                                             : "",
                                      with_epilogue ? " with epilogue" : "", guess.place,
                                      guess.workspace >> 20, guesses.size())};
    // The library's guesses are the same as long as its version is, which the timing cache's key holds.
    found.push_back({.name = fmt::format("cuBLASLt {} for {} MiB", guess.place, guess.workspace >> 20),
                     .make = [library = kernels.products, traits] { return make_product(library, traits); }});
  }
  if (kernels.cache != nullptr && !form.desc.f32_result) offer_gemv(form, kernels, with_epilogue, found);
}

void lower_product(const LowerContext& context, const GpuKernels& kernels, std::vector<Candidate>& found) {
  if (kernels.products == nullptr || graph::is_group(context.node, graph::GroupKind::kBiasGradient)) return;
  if (const auto form = product_form(context))
    offer_products(*form, kernels, graph::is_group(context.node), found);
}

}  // namespace hone::runtime::cuda_kernels
