// What hone uses of cuBLASLt, declared by ourselves (driver_abi.h says why; blas_lt_abi_check.cpp compares it).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/driver_abi.h"

namespace hone::cuda {

enum class BlasCode : int { kSuccess = 0, kNotSupported = 15 };
enum class BlasType : int { kF32 = 0, kF16 = 2, kI8 = 3, kI32 = 10, kBF16 = 14, kF8E4M3 = 28 };
inline constexpr int kBlasComputeF32 = 68;  // products and sums in f32, no TF32
inline constexpr int kBlasComputeI32 = 72, kBlasComputeTf32 = 77;
inline constexpr int32_t kBlasTransposed = 1;
// Bits: what is done to alpha·A·B + beta·C, the bias first.
inline constexpr int32_t kBlasEpilogueDefault = 1, kBlasEpilogueRelu = 2, kBlasEpilogueBias = 4,
                         kBlasEpilogueGelu = 32;  // by its tanh form
// The product as it is, and where the bias would be the sums over the depth of A, as it lies, or of transposed B.
inline constexpr int32_t kBlasEpilogueBiasGradientA = 256, kBlasEpilogueBiasGradientB = 512;
enum BlasDescAttribute : int { kBlasTransA = 3, kBlasTransB = 4, kBlasEpilogue = 7, kBlasBiasPointer = 8 };
enum BlasLayoutAttribute : int { kBlasBatchCount = 5, kBlasBatchOffset = 6 };
enum BlasPreferenceAttribute : int {
  kBlasMaxWorkspace = 1,
  kBlasReductionSchemes = 3,
  kBlasMinAlignmentA = 5,
  kBlasMinAlignmentD = 8
};
// How the parts of a product whose depth is split are added, bits: in the type that it is computed in, rather than in that of its
// result (1 and 4).
inline constexpr uint32_t kBlasSumInComputeType = 2;

using BlasHandle = struct BlasLtContext*;
using BlasDescHandle = struct BlasLtDesc*;
using BlasLayoutHandle = struct BlasLtLayout*;
using BlasPreferenceHandle = struct BlasLtPreference*;

struct BlasAlgorithm {
  uint64_t data[8];
};
struct BlasHeuristicResult {
  BlasAlgorithm algorithm;
  size_t workspace_bytes;
  BlasCode state;
  float waves;
  int reserved[4];
};

struct BlasLtFunctions {
  size_t (*get_version)() = nullptr;
  const char* (*get_status_name)(BlasCode) = nullptr;
  BlasCode (*create)(BlasHandle*) = nullptr;
  BlasCode (*destroy)(BlasHandle) = nullptr;
  BlasCode (*desc_create)(BlasDescHandle*, int compute, BlasType scale) = nullptr;
  BlasCode (*desc_destroy)(BlasDescHandle) = nullptr;
  BlasCode (*desc_set)(BlasDescHandle, int, const void*, size_t) = nullptr;
  BlasCode (*layout_create)(BlasLayoutHandle*, BlasType, uint64_t rows, uint64_t columns,
                            int64_t ld) = nullptr;
  BlasCode (*layout_destroy)(BlasLayoutHandle) = nullptr;
  BlasCode (*layout_set)(BlasLayoutHandle, int, const void*, size_t) = nullptr;
  BlasCode (*preference_create)(BlasPreferenceHandle*) = nullptr;
  BlasCode (*preference_destroy)(BlasPreferenceHandle) = nullptr;
  BlasCode (*preference_set)(BlasPreferenceHandle, int, const void*, size_t) = nullptr;
  BlasCode (*heuristic)(BlasHandle, BlasDescHandle, BlasLayoutHandle, BlasLayoutHandle, BlasLayoutHandle,
                        BlasLayoutHandle, BlasPreferenceHandle, int, BlasHeuristicResult*, int*) = nullptr;
  BlasCode (*matmul)(BlasHandle, BlasDescHandle, const void* alpha, const void* a, BlasLayoutHandle,
                     const void* b, BlasLayoutHandle, const void* beta, const void* c, BlasLayoutHandle,
                     void* d, BlasLayoutHandle, const BlasAlgorithm*, void* workspace, size_t,
                     StreamHandle) = nullptr;
};

// The name that each has in the library.
template <typename Visit>
void for_each_function(BlasLtFunctions& f, Visit&& visit) {
  visit("cublasLtGetVersion", f.get_version);
  visit("cublasLtGetStatusName", f.get_status_name);
  visit("cublasLtCreate", f.create);
  visit("cublasLtDestroy", f.destroy);
  visit("cublasLtMatmulDescCreate", f.desc_create);
  visit("cublasLtMatmulDescDestroy", f.desc_destroy);
  visit("cublasLtMatmulDescSetAttribute", f.desc_set);
  visit("cublasLtMatrixLayoutCreate", f.layout_create);
  visit("cublasLtMatrixLayoutDestroy", f.layout_destroy);
  visit("cublasLtMatrixLayoutSetAttribute", f.layout_set);
  visit("cublasLtMatmulPreferenceCreate", f.preference_create);
  visit("cublasLtMatmulPreferenceDestroy", f.preference_destroy);
  visit("cublasLtMatmulPreferenceSetAttribute", f.preference_set);
  visit("cublasLtMatmulAlgoGetHeuristic", f.heuristic);
  visit("cublasLtMatmul", f.matmul);
}

}  // namespace hone::cuda
