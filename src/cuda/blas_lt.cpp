#include "cuda/blas_lt.h"

#include <fmt/format.h>

namespace hone::cuda {
namespace {

struct ProductTypes {
  BlasType operands, result, scale;
  int compute;
};

ProductTypes types_of(const ProductDesc& desc) {
  using enum BlasType;
  switch (desc.dtype) {
    case DType::kF16:
      return {kF16, desc.f32_result ? kF32 : kF16, kF32, kBlasComputeF32};
    case DType::kBF16:
      return {kBF16, desc.f32_result ? kF32 : kBF16, kF32, kBlasComputeF32};
    case DType::kI8:
      return {kI8, kI32, kI32, kBlasComputeI32};
    case DType::kF8E4M3FN:
      return {kF8E4M3, kBF16, kF32, kBlasComputeF32};
    default:
      return {kF32, kF32, kF32, desc.tf32 ? kBlasComputeTf32 : kBlasComputeF32};
  }
}

// The library's A is b, its B is a.
int32_t epilogue_of(const ProductDesc& desc) {
  if (desc.bias_gradient == ProductBiasGradient::kOfA) return kBlasEpilogueBiasGradientB;
  if (desc.bias_gradient == ProductBiasGradient::kOfB) return kBlasEpilogueBiasGradientA;
  int32_t bits = desc.row ? kBlasEpilogueBias : 0;
  if (desc.activation == ProductActivation::kRelu) bits |= kBlasEpilogueRelu;
  if (desc.activation == ProductActivation::kGeluTanh) bits |= kBlasEpilogueGelu;
  return bits == 0 ? kBlasEpilogueDefault : bits;
}

bool has_bias(const ProductDesc& desc) {
  return desc.row || desc.bias_gradient != ProductBiasGradient::kNone;
}

Status check_bias_gradient(const ProductDesc& desc) {
  if (desc.bias_gradient == ProductBiasGradient::kNone) return {};
  const bool lies = desc.bias_gradient == ProductBiasGradient::kOfA ? desc.transpose_a : !desc.transpose_b;
  if (lies && desc.batch == 1 && desc.alpha == 1 && !desc.row && desc.activation == ProductActivation::kNone)
    return {};
  return unsupported(
      "cuBLASLt sums an operand's rows in products of one matrix with nothing behind them, where the "
      "operand lies with its rows along the depth");
}

}  // namespace

uint32_t alignment_of(const ProductOperands& operands) {
  uintptr_t bits = kProductAlignment;
  for (const void* const address :
       {operands.a, operands.b, operands.row, operands.added, static_cast<const void*>(operands.d),
        static_cast<const void*>(operands.bias_gradient)})
    bits |= reinterpret_cast<uintptr_t>(address);
  return static_cast<uint32_t>(bits & (~bits + 1));  // the lowest bit that any has
}

Result<std::shared_ptr<const BlasLt>> BlasLt::load(ContextPointer context, const LibraryPlaces& places) {
  HONE_ASSIGN(const FoundLibrary library, find_library(blas_lt_name(), places, context->driver().version()));
  std::shared_ptr<BlasLt> blas(new BlasLt(std::move(context)));
  blas->path_ = library.path;
  HONE_CHECK(take_functions(library, blas->functions_));
  blas->version_ = static_cast<int>(blas->functions_.get_version());
  HONE_CHECK(blas->context_->make_current());
  HONE_CHECK(blas->check(blas->functions_.create(&blas->handle_), "cublasLtCreate"));
  return std::shared_ptr<const BlasLt>(std::move(blas));
}

BlasLt::~BlasLt() {
  if (handle_ != nullptr && context_->make_current().ok()) functions_.destroy(handle_);
}

Status BlasLt::check(BlasCode code, std::string_view call) const {
  if (code == BlasCode::kSuccess) [[likely]]
    return {};
  const char* const name = functions_.get_status_name(code);
  std::string text = fmt::format("{} ({}): {} ({})", call, path_, name == nullptr ? "unknown error" : name,
                                 static_cast<int>(code));
  return code == BlasCode::kNotSupported ? unsupported(std::move(text)) : io_error(std::move(text));
}

Result<std::unique_ptr<Product>> Product::make(std::shared_ptr<const BlasLt> library,
                                               const ProductDesc& desc) {
  std::unique_ptr<Product> product(new Product);
  product->library_ = std::move(library);
  HONE_CHECK(product->build(desc));
  return product;
}

// The library's matrices are column-major, so that it is given the transposed product: dᵀ = op(b)ᵀ · op(a)ᵀ, where each
// row-major matrix is the column-major transpose of itself. The added row runs along its rows, as bias does there.
Status Product::build(const ProductDesc& desc) {
  desc_ = desc;
  HONE_CHECK(check_bias_gradient(desc));
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->context().make_current());
  const ProductTypes types = types_of(desc);
  HONE_CHECK(
      library_->check(f.desc_create(&operation_, types.compute, types.scale), "cublasLtMatmulDescCreate"));
  const auto set = [&](int attribute, const auto& value) {
    return library_->check(f.desc_set(operation_, attribute, &value, sizeof value),
                           "cublasLtMatmulDescSetAttribute");
  };
  if (desc.transpose_b) HONE_CHECK(set(kBlasTransA, kBlasTransposed));
  if (desc.transpose_a) HONE_CHECK(set(kBlasTransB, kBlasTransposed));
  HONE_CHECK(set(kBlasEpilogue, epilogue_of(desc)));
  const int64_t m = desc.columns, n = desc.rows, k = desc.depth;
  const BlasType given = types.operands;
  HONE_CHECK(desc.transpose_b ? add_layout(&left_, given, k, m, desc.b_stride)
                              : add_layout(&left_, given, m, k, desc.b_stride));
  HONE_CHECK(desc.transpose_a ? add_layout(&right_, given, n, k, desc.a_stride)
                              : add_layout(&right_, given, k, n, desc.a_stride));
  return add_layout(&result_, types.result, m, n, desc.d_stride);
}

Status Product::set_bias(const void* address) const {
  return library_->check(
      library_->functions().desc_set(operation_, kBlasBiasPointer, &address, sizeof address),
      "cublasLtMatmulDescSetAttribute");
}

Status Product::add_layout(BlasLayoutHandle* layout, BlasType type, int64_t rows, int64_t columns,
                           int64_t stride) {
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->check(
      f.layout_create(layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows),
      "cublasLtMatrixLayoutCreate"));
  if (desc_.batch == 1) return {};
  const auto count = static_cast<int32_t>(desc_.batch);
  HONE_CHECK(library_->check(f.layout_set(*layout, kBlasBatchCount, &count, sizeof count),
                             "cublasLtMatrixLayoutSetAttribute"));
  return library_->check(f.layout_set(*layout, kBlasBatchOffset, &stride, sizeof stride),
                         "cublasLtMatrixLayoutSetAttribute");
}

Product::~Product() {
  const BlasLtFunctions& f = library_->functions();
  for (const BlasLayoutHandle layout : {left_, right_, result_})
    if (layout != nullptr) f.layout_destroy(layout);
  if (operation_ != nullptr) f.desc_destroy(operation_);
}

Result<std::vector<ProductAlgorithm>> Product::algorithms(int most, std::size_t workspace_bytes,
                                                          uint32_t alignment) const {
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->context().make_current());
  // The library judges a product with a bias by its address, too; the true one is each run's.
  const uintptr_t somewhere = alignment < kProductAlignment ? alignment : 256;
  if (has_bias(desc_)) HONE_CHECK(set_bias(reinterpret_cast<const void*>(somewhere)));
  BlasPreferenceHandle preference = nullptr;
  HONE_CHECK(library_->check(f.preference_create(&preference), "cublasLtMatmulPreferenceCreate"));
  const std::shared_ptr<void> owner(
      preference, [&f](void* made) { f.preference_destroy(static_cast<BlasPreferenceHandle>(made)); });
  const uint64_t workspace = workspace_bytes;
  HONE_CHECK(library_->check(f.preference_set(preference, kBlasMaxWorkspace, &workspace, sizeof workspace),
                             "cublasLtMatmulPreferenceSetAttribute"));
  for (int attribute = kBlasMinAlignmentA; attribute <= kBlasMinAlignmentD; ++attribute)
    HONE_CHECK(library_->check(f.preference_set(preference, attribute, &alignment, sizeof alignment),
                               "cublasLtMatmulPreferenceSetAttribute"));
  if (desc_.dtype != DType::kF32 && desc_.dtype != DType::kI8 && !desc_.f32_result) {
    // Else a split depth's parts may be rounded to eight bits each, and added so.
    HONE_CHECK(library_->check(f.preference_set(preference, kBlasReductionSchemes, &kBlasSumInComputeType,
                                                sizeof kBlasSumInComputeType),
                               "cublasLtMatmulPreferenceSetAttribute"));
  }
  std::vector<BlasHeuristicResult> results(static_cast<std::size_t>(most));
  int count = 0;
  const BlasCode code = f.heuristic(library_->handle(), operation_, left_, right_, result_, result_,
                                    preference, most, results.data(), &count);
  if (code == BlasCode::kNotSupported) return std::vector<ProductAlgorithm>{};
  HONE_CHECK(library_->check(code, "cublasLtMatmulAlgoGetHeuristic"));
  std::vector<ProductAlgorithm> found;
  for (int i = 0; i < count; ++i) {
    const BlasHeuristicResult& result = results[static_cast<std::size_t>(i)];
    if (result.state == BlasCode::kSuccess) found.push_back({result.algorithm, result.workspace_bytes});
  }
  return found;
}

Status Product::run(const ProductAlgorithm& algorithm, const ProductOperands& operands,
                    StreamHandle stream) const {
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->context().make_current());
  if (has_bias(desc_)) HONE_CHECK(set_bias(desc_.row ? operands.row : operands.bias_gradient));
  const float beta = desc_.added ? desc_.beta : 0;
  const int32_t one = 1;  // whole numbers are scaled by whole numbers; 0 is 0 in both
  const void* const alpha = desc_.dtype == DType::kI8 ? static_cast<const void*>(&one) : &desc_.alpha;
  const BlasCode code =
      f.matmul(library_->handle(), operation_, alpha, operands.b, left_, operands.a, right_, &beta,
               desc_.added ? operands.added : operands.d, result_, operands.d, result_, &algorithm.algorithm,
               operands.workspace, algorithm.workspace_bytes, stream);
  if (code == BlasCode::kSuccess) [[likely]]
    return {};
  return library_->check(code,
                         fmt::format("cublasLtMatmul of {}x{}x{}", desc_.rows, desc_.columns, desc_.depth));
}

}  // namespace hone::cuda
