#include "kernels/cuda/scatter_reduce.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/gather_plan.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kPieceOfPlace = 64;  // updates that one thread adds up

// Place and number of an update in one word, so that no two are equal: their order is the same however they are sorted.
constexpr std::string_view kKeysKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_keys(const HoneIndex* indices, HoneKey* keys,
    unsigned long long* fault, unsigned long long word) {
  const hone_i64 item = hone_thread();
  if (item >= kSorted) return;
  HoneKey key = kNoKey;
  if (item < kItems) {
    const hone_i64 place = hone_place(indices, item);
    if (place >= 0) key = (HoneKey)place << 32 | (HoneKey)item;
    else hone_tell(fault, word);
  }
  keys[item] = key;
}
)cuda";

// A piece begins where a place's updates begin, and at every kPiece-th key. The first of a place is combined with the result,
// the others are left to be joined.
constexpr std::string_view kCombineKernels = R"cuda(
HONE_FUNCTION hone_i64 hone_place_of(HoneKey key) { return (hone_i64)(key >> 32); }

extern "C" __global__ void __launch_bounds__(256, 1) hone_combine_pieces(const HoneElement* updates, const HoneKey* keys,
    HoneElement* out, HoneSum* partial) {
  const hone_i64 at = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  const hone_i64 column = (hone_i64)blockIdx.y * blockDim.x + threadIdx.x;
  if (at >= kItems || column >= kSlice || keys[at] == kNoKey) return;
  const hone_i64 place = hone_place_of(keys[at]);
  const bool begins = at == 0 || hone_place_of(keys[at - 1]) != place;
  if (!begins && at % kPiece != 0) return;
  hone_i64 end = (at / kPiece + 1) * kPiece;
  if (end > kItems) end = kItems;
  HoneSum sum = HoneSum();
  for (hone_i64 k = at; k < end; ++k) {
    const HoneKey key = keys[k];
    if (hone_place_of(key) != place) break;
    const HoneSum own = HoneForm::held(updates[(hone_i64)(key & 0xffffffffull) * kSlice + column]);
    sum = k == at ? own : hone_combined(sum, own);
  }
  if (begins) {
    HoneElement* const to = out + place * kSlice + column;
    *to = HoneForm::stored(hone_combined((HoneSum)HoneForm::held(*to), sum));
  } else {
    partial[at / kPiece * kSlice + column] = sum;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_join_pieces(const HoneKey* keys, const HoneSum* partial,
    HoneElement* out) {
  const hone_i64 at = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  const hone_i64 column = (hone_i64)blockIdx.y * blockDim.x + threadIdx.x;
  if (at >= kItems || column >= kSlice || keys[at] == kNoKey) return;
  const hone_i64 place = hone_place_of(keys[at]);
  if (at > 0 && hone_place_of(keys[at - 1]) == place) return;
  hone_i64 k = (at / kPiece + 1) * kPiece;
  if (k >= kItems || hone_place_of(keys[k]) != place) return;
  HoneElement* const to = out + place * kSlice + column;
  HoneSum sum = HoneForm::held(*to);
  for (; k < kItems && hone_place_of(keys[k]) == place; k += kPiece)
    sum = hone_combined(sum, partial[k / kPiece * kSlice + column]);
  *to = HoneForm::stored(sum);
}

extern "C" __global__ void __launch_bounds__(256, 1) hone_zero(HoneElement* out) {
  const hone_i64 e = hone_thread();
  if (e < kPlaces * kSlice) out[e] = HoneForm::stored((HoneSum)0);
}
)cuda";

std::string_view combination(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::kAdd:
      return "a + b";
    case ScatterReduction::kMultiply:
      return "a * b";
    case ScatterReduction::kMin:
      return "a != a ? a : b < a || b != b ? b : a";
    case ScatterReduction::kMax:
      return "a != a ? a : b > a || b != b ? b : a";
  }
  return {};
}

}  // namespace

Result<ScatterReduceKernels> generate_scatter_reduce(const GatherForm& form, DType dtype,
                                                     ScatterReduction reduction) {
  const auto number = number_form(dtype);
  if (!number) return unsupported(fmt::format("a scatter that combines {}", dtype_name(dtype)));
  const bool compares = reduction == ScatterReduction::kMin || reduction == ScatterReduction::kMax;
  const bool wider = is_float(dtype) && reduction == ScatterReduction::kMultiply;
  const bool wraps = !is_float(dtype) && !compares;  // as unsigned numbers do
  const std::string_view sum = wider ? "double" : wraps ? "unsigned long long" : number->wide;
  HONE_ASSIGN(const GatherPlan plan, checked_plan(form));
  constexpr int64_t kMostPlaces =
      0xffffffff;                            // a place beside a number in one word, and the word that is none
  constexpr int64_t kMostPieceRows = 65535;  // of a grid's y
  const int64_t slice = plan.run / static_cast<int64_t>(dtype_size(dtype));
  ScatterReduceKernels kernels;
  HONE_ASSIGN(kernels.sort, plan_key_sort(plan.items));
  kernels.piece_threads_x =
      static_cast<int>(std::min<uint64_t>(32, std::bit_ceil(static_cast<uint64_t>(slice))));
  kernels.piece_threads_y = kGatherBlock / kernels.piece_threads_x;
  kernels.piece_blocks_x = (plan.items + kernels.piece_threads_y - 1) / kernels.piece_threads_y;
  kernels.piece_blocks_y = (slice + kernels.piece_threads_x - 1) / kernels.piece_threads_x;
  if (plan.places >= kMostPlaces || kernels.piece_blocks_y > kMostPieceRows)
    return unsupported("a scatter of so many updates");
  kernels.partial_bytes = static_cast<std::size_t>((plan.items + kPieceOfPlace - 1) / kPieceOfPlace * slice) *
                          (sum == "float" ? 4 : 8);
  kernels.key_blocks = gather_blocks(kernels.sort.sorted);
  kernels.zero_blocks = gather_blocks(plan.places * slice);
  std::string text = gather_prelude(plan, units_of(plan));
  text += kWideForms;
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} HoneSum;\n"
      "HONE_FUNCTION HoneSum hone_combined(HoneSum a, HoneSum b) {{ return {}; }}\n"
      "constexpr hone_i64 kSlice = {}, kPiece = {};\n",
      number->memory, number->form, sum, combination(reduction), slice, kPieceOfPlace);
  text += key_sort_text(kernels.sort);
  text += kKeysKernel;
  text += kCombineKernels;
  kernels.source = {.name = "scatter_reduce.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernels;
}

}  // namespace hone::kernels::gpu
