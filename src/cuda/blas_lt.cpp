#include "cuda/blas_lt.h"

#include <fmt/format.h>

namespace hone::cuda {
namespace {

BlasType blas_type(DType dtype) {
  return dtype == DType::kF16 ? BlasType::kF16 : dtype == DType::kBF16 ? BlasType::kBF16 : BlasType::kF32;
}

// What tensors in a plan's memory are aligned to at least; the library assumes 256 where nobody says less.
constexpr uint32_t kOperandAlignment = 16;

}  // namespace

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
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->context().make_current());
  HONE_CHECK(library_->check(f.desc_create(&operation_, kBlasComputeF32, BlasType::kF32),
                             "cublasLtMatmulDescCreate"));
  const auto set = [&](int attribute, const auto& value) {
    return library_->check(f.desc_set(operation_, attribute, &value, sizeof value),
                           "cublasLtMatmulDescSetAttribute");
  };
  if (desc.transpose_b) HONE_CHECK(set(kBlasTransA, kBlasTransposed));
  if (desc.transpose_a) HONE_CHECK(set(kBlasTransB, kBlasTransposed));
  if (desc.row) HONE_CHECK(set(kBlasEpilogue, kBlasEpilogueBias));
  const int64_t m = desc.columns, n = desc.rows, k = desc.depth;
  HONE_CHECK(desc.transpose_b ? add_layout(&left_, k, m, desc.b_stride)
                              : add_layout(&left_, m, k, desc.b_stride));
  HONE_CHECK(desc.transpose_a ? add_layout(&right_, n, k, desc.a_stride)
                              : add_layout(&right_, k, n, desc.a_stride));
  return add_layout(&result_, m, n, desc.d_stride);
}

Status Product::add_layout(BlasLayoutHandle* layout, int64_t rows, int64_t columns, int64_t stride) {
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->check(f.layout_create(layout, blas_type(desc_.dtype), static_cast<uint64_t>(rows),
                                             static_cast<uint64_t>(columns), rows),
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

Result<std::vector<ProductAlgorithm>> Product::algorithms(int most, std::size_t workspace_bytes) const {
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->context().make_current());
  BlasPreferenceHandle preference = nullptr;
  HONE_CHECK(library_->check(f.preference_create(&preference), "cublasLtMatmulPreferenceCreate"));
  const std::shared_ptr<void> owner(
      preference, [&f](void* made) { f.preference_destroy(static_cast<BlasPreferenceHandle>(made)); });
  const uint64_t workspace = workspace_bytes;
  HONE_CHECK(library_->check(f.preference_set(preference, kBlasMaxWorkspace, &workspace, sizeof workspace),
                             "cublasLtMatmulPreferenceSetAttribute"));
  for (int attribute = kBlasMinAlignmentA; attribute <= kBlasMinAlignmentD; ++attribute)
    HONE_CHECK(
        library_->check(f.preference_set(preference, attribute, &kOperandAlignment, sizeof kOperandAlignment),
                        "cublasLtMatmulPreferenceSetAttribute"));
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

Status Product::run(const ProductAlgorithm& algorithm, const void* a, const void* b, const void* row, void* d,
                    void* workspace, StreamHandle stream) const {
  const BlasLtFunctions& f = library_->functions();
  HONE_CHECK(library_->context().make_current());
  if (desc_.row)
    HONE_CHECK(library_->check(f.desc_set(operation_, kBlasBiasPointer, &row, sizeof row),
                               "cublasLtMatmulDescSetAttribute"));
  const float beta = 0;
  const BlasCode code =
      f.matmul(library_->handle(), operation_, &desc_.alpha, b, left_, a, right_, &beta, d, result_, d,
               result_, &algorithm.algorithm, workspace, algorithm.workspace_bytes, stream);
  if (code == BlasCode::kSuccess) [[likely]]
    return {};
  return library_->check(code,
                         fmt::format("cublasLtMatmul of {}x{}x{}", desc_.rows, desc_.columns, desc_.depth));
}

}  // namespace hone::cuda
