// Compares blas_lt_abi.h with NVIDIA's cublasLt.h, where that is installed: compiled, never linked.
#if __has_include(<cublasLt.h>)
#include "cuda/abi_check.h"
#include "cuda/blas_lt_abi.h"
#include <cublasLt.h>

namespace hone::cuda {

HONE_SAME_CALL(BlasLtFunctions, get_version, ::cublasLtGetVersion);
HONE_SAME_CALL(BlasLtFunctions, get_status_name, ::cublasLtGetStatusName);
HONE_SAME_CALL(BlasLtFunctions, create, ::cublasLtCreate);
HONE_SAME_CALL(BlasLtFunctions, destroy, ::cublasLtDestroy);
HONE_SAME_CALL(BlasLtFunctions, desc_create, ::cublasLtMatmulDescCreate);
HONE_SAME_CALL(BlasLtFunctions, desc_destroy, ::cublasLtMatmulDescDestroy);
HONE_SAME_CALL(BlasLtFunctions, desc_set, ::cublasLtMatmulDescSetAttribute);
HONE_SAME_CALL(BlasLtFunctions, layout_create, ::cublasLtMatrixLayoutCreate);
HONE_SAME_CALL(BlasLtFunctions, layout_destroy, ::cublasLtMatrixLayoutDestroy);
HONE_SAME_CALL(BlasLtFunctions, layout_set, ::cublasLtMatrixLayoutSetAttribute);
HONE_SAME_CALL(BlasLtFunctions, preference_create, ::cublasLtMatmulPreferenceCreate);
HONE_SAME_CALL(BlasLtFunctions, preference_destroy, ::cublasLtMatmulPreferenceDestroy);
HONE_SAME_CALL(BlasLtFunctions, preference_set, ::cublasLtMatmulPreferenceSetAttribute);
HONE_SAME_CALL(BlasLtFunctions, heuristic, ::cublasLtMatmulAlgoGetHeuristic);
HONE_SAME_CALL(BlasLtFunctions, matmul, ::cublasLtMatmul);

template <auto kOurs, auto kVendor>
constexpr bool same_blas_number = static_cast<long long>(kOurs) == static_cast<long long>(kVendor);

static_assert(sizeof(BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(BlasHeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(BlasHeuristicResult, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(BlasHeuristicResult, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(same_blas_number<BlasCode::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED>);
static_assert(same_blas_number<BlasType::kF32, CUDA_R_32F>);
static_assert(same_blas_number<BlasType::kF16, CUDA_R_16F>);
static_assert(same_blas_number<BlasType::kBF16, CUDA_R_16BF>);
static_assert(same_blas_number<BlasType::kI8, CUDA_R_8I>);
static_assert(same_blas_number<BlasType::kI32, CUDA_R_32I>);
static_assert(same_blas_number<BlasType::kF8E4M3, CUDA_R_8F_E4M3>);
static_assert(same_blas_number<kBlasComputeF32, CUBLAS_COMPUTE_32F>);
static_assert(same_blas_number<kBlasComputeI32, CUBLAS_COMPUTE_32I>);
static_assert(same_blas_number<kBlasComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32>);
static_assert(same_blas_number<kBlasTransposed, CUBLAS_OP_T>);
static_assert(same_blas_number<kBlasEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT>);
static_assert(same_blas_number<kBlasEpilogueBias, CUBLASLT_EPILOGUE_BIAS>);
static_assert(same_blas_number<kBlasEpilogueRelu, CUBLASLT_EPILOGUE_RELU>);
static_assert(same_blas_number<kBlasEpilogueGelu, CUBLASLT_EPILOGUE_GELU>);
static_assert(same_blas_number<kBlasEpilogueGelu | kBlasEpilogueBias, CUBLASLT_EPILOGUE_GELU_BIAS>);
static_assert(same_blas_number<kBlasEpilogueRelu | kBlasEpilogueBias, CUBLASLT_EPILOGUE_RELU_BIAS>);
static_assert(same_blas_number<kBlasEpilogueBiasGradientA, CUBLASLT_EPILOGUE_BGRADA>);
static_assert(same_blas_number<kBlasEpilogueBiasGradientB, CUBLASLT_EPILOGUE_BGRADB>);
static_assert(same_blas_number<kBlasTransA, CUBLASLT_MATMUL_DESC_TRANSA>);
static_assert(same_blas_number<kBlasTransB, CUBLASLT_MATMUL_DESC_TRANSB>);
static_assert(same_blas_number<kBlasEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE>);
static_assert(same_blas_number<kBlasBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER>);
static_assert(same_blas_number<kBlasBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT>);
static_assert(same_blas_number<kBlasBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET>);
static_assert(same_blas_number<kBlasMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES>);
static_assert(same_blas_number<kBlasReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK>);
static_assert(same_blas_number<kBlasSumInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE>);
static_assert(same_blas_number<kBlasMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES>);
static_assert(same_blas_number<kBlasMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES>);

}  // namespace hone::cuda
#endif
