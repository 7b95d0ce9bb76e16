// cuBLASLt without a GPU, for tests: libcublasLt.so.13 over the fake driver, whose memory is the host's. Products as NVIDIA's
// documentation defines them, of column-major matrices, in double; every argument that is out of its meaning is refused.
#include <cmath>
#include <cstring>
#include <vector>

#include "cuda/blas_lt_abi.h"
#include "cuda/testing/stored_numbers.h"

extern "C" void fake_driver_give(void* stream, void (*work)(void*), void* data, void (*release)(void*));

namespace {

using hone::cuda::BlasAlgorithm;
using hone::cuda::BlasCode;
using hone::cuda::BlasHeuristicResult;
using hone::cuda::BlasType;

constexpr BlasCode kInvalid = static_cast<BlasCode>(7);
constexpr uint64_t kMark = 0x686f6e65;  // of algorithms that came from here

struct Desc {
  int compute = hone::cuda::kBlasComputeF32;
  int32_t transposed_a = 0, transposed_b = 0, epilogue = 1;
  const void* bias = nullptr;
};
struct Layout {
  BlasType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t batch = 1;
  int64_t offset = 0;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment = 256;  // the least of all operands', as the library assumes it
  uint32_t reductions = 7;   // how parts of a sum may be added
};

double e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const double size = exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (bits & 128) != 0 ? -size : size;
}

double number(const void* data, BlasType type, int64_t at) {
  if (type == BlasType::kI8) return static_cast<const int8_t*>(data)[at];
  if (type == BlasType::kI32) return static_cast<const int32_t*>(data)[at];
  if (type == BlasType::kF8E4M3) return e4m3(static_cast<const uint8_t*>(data)[at]);
  if (type == BlasType::kF32) return static_cast<double>(static_cast<const float*>(data)[at]);
  const uint16_t bits = static_cast<const uint16_t*>(data)[at];
  return type == BlasType::kF16 ? hone::cuda::testing::f16_number(bits)
                                : hone::cuda::testing::bf16_number(bits);
}

void put(void* data, BlasType type, int64_t at, double value) {
  if (type == BlasType::kI32) {
    static_cast<int32_t*>(data)[at] = static_cast<int32_t>(value);
    return;
  }
  const auto x = static_cast<float>(value);
  if (type == BlasType::kF32) {
    static_cast<float*>(data)[at] = x;
    return;
  }
  static_cast<uint16_t*>(data)[at] =
      type == BlasType::kF16 ? hone::cuda::testing::f16_bits(x) : hone::cuda::testing::bf16_bits(x);
}

struct Run {
  Desc desc;
  Layout a, b, d;
  double alpha, beta;
  const void *a_at, *b_at, *c_at;
  void* d_at;
};

bool has(const Desc& desc, int32_t bit) { return (desc.epilogue & bit) != 0; }

// What NVIDIA's epilogues make of a number: max(x, 0), which is 0 for NaN, and GELU by tanh.
double activated(const Desc& desc, double x) {
  if (has(desc, hone::cuda::kBlasEpilogueRelu)) return x > 0 ? x : 0;
  if (!has(desc, hone::cuda::kBlasEpilogueGelu)) return x;
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

bool gives_bias_gradient(const Desc& desc) {
  return desc.epilogue == hone::cuda::kBlasEpilogueBiasGradientA ||
         desc.epilogue == hone::cuda::kBlasEpilogueBiasGradientB;
}

// Whether the library reads or writes a bias.
bool has_bias(const Desc& desc) {
  return has(desc, hone::cuda::kBlasEpilogueBias) || gives_bias_gradient(desc);
}

bool known_epilogue(const Desc& desc) {
  using namespace hone::cuda;
  const int32_t rest = desc.epilogue & ~kBlasEpilogueBias;
  return desc.epilogue == kBlasEpilogueDefault || gives_bias_gradient(desc) || rest == kBlasEpilogueRelu ||
         rest == kBlasEpilogueGelu || desc.epilogue == kBlasEpilogueBias;
}

// NVIDIA's sum rows of A where that lies as it is, and of B where that is transposed, of one matrix each, and refuse others.
bool sums_what_it_can(const Desc& desc, const Layout& d) {
  if (!gives_bias_gradient(desc)) return true;
  const bool of_a = desc.epilogue == hone::cuda::kBlasEpilogueBiasGradientA;
  return d.batch == 1 && (of_a ? desc.transposed_a == 0 : desc.transposed_b != 0);
}

// The sums over the depth of A's rows or of B's columns, in the type of the product's result.
void sum_over_depth(const Run& run) {
  const bool of_a = run.desc.epilogue == hone::cuda::kBlasEpilogueBiasGradientA;
  const Layout& layout = of_a ? run.a : run.b;
  for (uint64_t i = 0; i < layout.rows; ++i) {
    double sum = 0;
    for (uint64_t k = 0; k < layout.columns; ++k)
      sum += number(of_a ? run.a_at : run.b_at, layout.type,
                    static_cast<int64_t>(k) * layout.ld + static_cast<int64_t>(i));
    put(const_cast<void*>(run.desc.bias), run.d.type, static_cast<int64_t>(i), sum);
  }
}

void multiply(void* data) {
  const Run& run = *static_cast<const Run*>(data);
  if (gives_bias_gradient(run.desc)) sum_over_depth(run);
  const auto depth = static_cast<int64_t>(run.desc.transposed_a != 0 ? run.a.rows : run.a.columns);
  for (int32_t batch = 0; batch < run.d.batch; ++batch) {
    const auto element = [&](const Layout& layout, const void* at, int64_t row, int64_t column) {
      return number(at, layout.type, batch * layout.offset + column * layout.ld + row);
    };
    const auto factor = [&](const Layout& layout, const void* at, int64_t row, int64_t column) {
      const double x = element(layout, at, row, column);
      return run.desc.compute == hone::cuda::kBlasComputeTf32 ? hone::cuda::testing::tf32_number(x) : x;
    };
    for (int64_t column = 0; column < static_cast<int64_t>(run.d.columns); ++column) {
      for (int64_t row = 0; row < static_cast<int64_t>(run.d.rows); ++row) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += (run.desc.transposed_a != 0 ? factor(run.a, run.a_at, k, row)
                                             : factor(run.a, run.a_at, row, k)) *
                 (run.desc.transposed_b != 0 ? factor(run.b, run.b_at, column, k)
                                             : factor(run.b, run.b_at, k, column));
        sum *= run.alpha;
        if (run.beta != 0) sum += run.beta * element(run.d, run.c_at, row, column);
        if (has(run.desc, hone::cuda::kBlasEpilogueBias)) sum += number(run.desc.bias, run.d.type, row);
        put(run.d_at, run.d.type, batch * run.d.offset + column * run.d.ld + row, activated(run.desc, sum));
      }
    }
  }
}

// What comes of operands of a type, of halves f32 as well; narrow ones only where the left one alone is transposed, in whole 16 bytes.
bool types_fit(const Desc& desc, const Layout& a, const Layout& b, const Layout& d) {
  const bool narrow = a.type == BlasType::kI8 || a.type == BlasType::kF8E4M3;
  const BlasType result = a.type == BlasType::kI8       ? BlasType::kI32
                          : a.type == BlasType::kF8E4M3 ? BlasType::kBF16
                                                        : a.type;
  const bool half = a.type == BlasType::kF16 || a.type == BlasType::kBF16;
  if (a.type != b.type || (d.type != result && !(half && d.type == BlasType::kF32))) return false;
  if ((desc.compute == hone::cuda::kBlasComputeI32) != (a.type == BlasType::kI8)) return false;
  return !narrow ||
         (desc.transposed_a != 0 && desc.transposed_b == 0 && a.rows % 16 == 0 && d.rows % 16 == 0);
}

bool fits(const Desc& desc, const Layout& a, const Layout& b, const Layout& d) {
  const uint64_t m = desc.transposed_a != 0 ? a.columns : a.rows,
                 k = desc.transposed_a != 0 ? a.rows : a.columns;
  const uint64_t n = desc.transposed_b != 0 ? b.rows : b.columns,
                 k_of_b = desc.transposed_b != 0 ? b.columns : b.rows;
  return m == d.rows && n == d.columns && k == k_of_b && a.batch == d.batch && b.batch == d.batch &&
         types_fit(desc, a, b, d) && a.ld >= static_cast<int64_t>(a.rows) &&
         b.ld >= static_cast<int64_t>(b.rows);
}

template <typename T>
BlasCode set(T& to, const void* from, size_t bytes) {
  if (bytes != sizeof(T)) return kInvalid;
  std::memcpy(&to, from, bytes);
  return BlasCode::kSuccess;
}

}  // namespace

extern "C" {
size_t cublasLtGetVersion() { return 130000; }
const char* cublasLtGetStatusName(BlasCode) { return "CUBLAS_STATUS_OF_THE_FAKE"; }
BlasCode cublasLtCreate(void** handle) {
  static int the_handle;
  return *handle = &the_handle, BlasCode::kSuccess;
}
BlasCode cublasLtDestroy(void*) { return BlasCode::kSuccess; }
BlasCode cublasLtMatmulDescCreate(Desc** desc, int compute, BlasType scale) {
  const bool whole = compute == hone::cuda::kBlasComputeI32;
  const bool known =
      whole || compute == hone::cuda::kBlasComputeF32 || compute == hone::cuda::kBlasComputeTf32;
  if (!known || scale != (whole ? BlasType::kI32 : BlasType::kF32)) return kInvalid;
  *desc = new Desc;
  (*desc)->compute = compute;
  return BlasCode::kSuccess;
}
BlasCode cublasLtMatmulDescDestroy(Desc* desc) { return delete desc, BlasCode::kSuccess; }
BlasCode cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* from, size_t bytes) {
  switch (attribute) {
    case hone::cuda::kBlasTransA:
      return set(desc->transposed_a, from, bytes);
    case hone::cuda::kBlasTransB:
      return set(desc->transposed_b, from, bytes);
    case hone::cuda::kBlasEpilogue:
      return set(desc->epilogue, from, bytes);
    case hone::cuda::kBlasBiasPointer:
      return set(desc->bias, from, bytes);
    default:
      return kInvalid;
  }
}
BlasCode cublasLtMatrixLayoutCreate(Layout** layout, BlasType type, uint64_t rows, uint64_t columns,
                                    int64_t ld) {
  return *layout = new Layout{type, rows, columns, ld}, BlasCode::kSuccess;
}
BlasCode cublasLtMatrixLayoutDestroy(Layout* layout) { return delete layout, BlasCode::kSuccess; }
BlasCode cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* from, size_t bytes) {
  if (attribute == hone::cuda::kBlasBatchCount) return set(layout->batch, from, bytes);
  return attribute == hone::cuda::kBlasBatchOffset ? set(layout->offset, from, bytes) : kInvalid;
}
BlasCode cublasLtMatmulPreferenceCreate(Preference** preference) {
  return *preference = new Preference, BlasCode::kSuccess;
}
BlasCode cublasLtMatmulPreferenceDestroy(Preference* preference) {
  return delete preference, BlasCode::kSuccess;
}
BlasCode cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* from,
                                              size_t bytes) {
  if (attribute == hone::cuda::kBlasMaxWorkspace) return set(preference->workspace, from, bytes);
  if (attribute == hone::cuda::kBlasReductionSchemes) return set(preference->reductions, from, bytes);
  if (attribute < hone::cuda::kBlasMinAlignmentA || attribute > hone::cuda::kBlasMinAlignmentD)
    return kInvalid;
  return set(preference->alignment, from, bytes);
}
// Two guesses of which the second wants a workspace; where there is room for 33 MiB, a third that wants that.
BlasCode cublasLtMatmulAlgoGetHeuristic(void*, Desc* desc, Layout* a, Layout* b, Layout*, Layout* d,
                                        Preference* preference, int most, BlasHeuristicResult* results,
                                        int* count) {
  if (!fits(*desc, *a, *b, *d) || !known_epilogue(*desc)) return kInvalid;
  if (has_bias(*desc) && desc->bias == nullptr) return kInvalid;
  if (!sums_what_it_can(*desc, *d)) return BlasCode::kNotSupported;
  const uint64_t wants[] = {0, 4096, uint64_t{33} << 20};
  *count = 0;
  for (const uint64_t bytes : wants) {
    if (bytes > preference->workspace || *count == most) continue;
    BlasHeuristicResult& result = results[(*count)++] = {};
    result.algorithm.data[0] = kMark;
    result.algorithm.data[1] = preference->alignment;
    result.algorithm.data[2] = bytes;
    result.algorithm.data[3] = preference->reductions;
    result.workspace_bytes = bytes;
  }
  return BlasCode::kSuccess;
}
BlasCode cublasLtMatmul(void*, Desc* desc, const void* alpha, const void* a, Layout* a_layout, const void* b,
                        Layout* b_layout, const void* beta, const void* c, Layout* c_layout, void* d,
                        Layout* d_layout, const BlasAlgorithm* algorithm, void* workspace,
                        size_t workspace_bytes, void* stream) {
  const bool whole = desc->compute == hone::cuda::kBlasComputeI32;
  const double factor = whole ? static_cast<double>(*static_cast<const int32_t*>(alpha))
                              : static_cast<double>(*static_cast<const float*>(alpha));
  const auto of_c = static_cast<double>(*static_cast<const float*>(beta));
  if (!fits(*desc, *a_layout, *b_layout, *d_layout) || !known_epilogue(*desc) || c_layout != d_layout ||
      !sums_what_it_can(*desc, *d_layout))
    return kInvalid;
  if (algorithm->data[0] != kMark || workspace_bytes < algorithm->data[2] ||
      (workspace_bytes > 0 && workspace == nullptr))
    return kInvalid;
  const bool biased = has_bias(*desc);
  for (const void* operand : {a, b, c, static_cast<const void*>(d), biased ? desc->bias : a})
    if (operand == nullptr || reinterpret_cast<uintptr_t>(operand) % algorithm->data[1] != 0) return kInvalid;
  fake_driver_give(stream, multiply,
                   new Run{*desc, *a_layout, *b_layout, *d_layout, factor, of_c, a, b, c, d},
                   [](void* run) { delete static_cast<Run*>(run); });
  return BlasCode::kSuccess;
}
}
