#include "kernels/cuda/top_k.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostShared = 32 << 10;  // bytes of a block's items
constexpr int64_t kMostTopKThreads = 1024;
constexpr int64_t kWantedThreads = 128;  // of a block whose lines are short: several of them
constexpr int64_t kTakeThreads = 256;
constexpr int64_t kPartAlignment = 256;  // bytes, of what lies in scratch

// How an element's bits become a key that is the larger the better the element is.
struct ElementKind {
  std::string_view bits;  // its bits as an unsigned integer
  std::string_view infinity = "0";
  bool floating = false, is_signed = true, wide = false;
};

Result<ElementKind> element_kind(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return ElementKind{.bits = "unsigned short", .infinity = "0x7c00u", .floating = true};
    case DType::kBF16:
      return ElementKind{.bits = "unsigned short", .infinity = "0x7f80u", .floating = true};
    case DType::kF32:
      return ElementKind{.bits = "unsigned", .infinity = "0x7f800000u", .floating = true};
    case DType::kF64:
      return ElementKind{
          .bits = "unsigned long long", .infinity = "0x7ff0000000000000ull", .floating = true, .wide = true};
    case DType::kI8:
      return ElementKind{.bits = "unsigned char"};
    case DType::kU8:
      return ElementKind{.bits = "unsigned char", .is_signed = false};
    case DType::kI16:
      return ElementKind{.bits = "unsigned short"};
    case DType::kU16:
      return ElementKind{.bits = "unsigned short", .is_signed = false};
    case DType::kI32:
      return ElementKind{.bits = "unsigned"};
    case DType::kU32:
      return ElementKind{.bits = "unsigned", .is_signed = false};
    case DType::kI64:
      return ElementKind{.bits = "unsigned long long", .wide = true};
    case DType::kU64:
      return ElementKind{.bits = "unsigned long long", .is_signed = false, .wide = true};
    default:
      return unsupported(fmt::format("the largest of {}", dtype_name(dtype)));
  }
}

// Nothing, which fills chunks up, is worse than any element: its index is none.
constexpr std::string_view kNarrowItem = R"cuda(
typedef unsigned long long Item;
HONE_FUNCTION Item hone_item_of(Bits key, unsigned index) { return (unsigned long long)key << 32 | (unsigned)~index; }
HONE_FUNCTION Item hone_nothing() { return 0; }
HONE_FUNCTION unsigned hone_index(Item item) { return ~(unsigned)item; }
HONE_FUNCTION bool hone_worse(Item a, Item b) { return a < b; }
)cuda";
constexpr std::string_view kWideItem = R"cuda(
struct alignas(16) Item { unsigned long long key; unsigned index, unused; };
HONE_FUNCTION Item hone_item_of(Bits key, unsigned index) { Item item; item.key = key; item.index = index; item.unused = 0; return item; }
HONE_FUNCTION Item hone_nothing() { return hone_item_of(0, 0xffffffffu); }
HONE_FUNCTION unsigned hone_index(Item item) { return item.index; }
HONE_FUNCTION bool hone_worse(Item a, Item b) { return a.key < b.key || (a.key == b.key && a.index > b.index); }
)cuda";

constexpr std::string_view kTopKText = R"cuda(
HONE_FUNCTION Bits hone_key(Bits x) {
  const Bits sign = (Bits)((Bits)1 << (sizeof(Bits) * 8 - 1)), magnitude = (Bits)(x & (Bits)(sign - 1));
  if (kFloating && magnitude > (Bits)kInfinity) return (Bits)~(Bits)0;  // NaN
  if (kFloating && magnitude == 0) x = 0;                               // both zeros are equal
  if (kFloating && (x & sign)) x = (Bits)~x;
  else if (kSigned) x = (Bits)(x ^ sign);
  return kLargest ? x : (Bits)~x;
}
HONE_FUNCTION hone_i64 hone_line_start(hone_i64 line) { return line / kInner * (kExtent * kInner) + line % kInner; }
HONE_FUNCTION Item hone_item(const Bits* data, hone_i64 line, hone_i64 at) {
  return at < kExtent ? hone_item_of(hone_key(data[hone_line_start(line) + at * kInner]), (unsigned)at) : hone_nothing();
}
// Number `i` of a line's results.
HONE_FUNCTION void hone_give(const Bits* data, Bits* values, hone_i64* indices, hone_i64 line, hone_i64 i, Item item) {
  const hone_i64 to = line / kInner * (kK * kInner) + i * kInner + line % kInner, index = (hone_i64)hone_index(item);
  if (values) values[to] = data[hone_line_start(line) + index * kInner];
  if (indices) indices[to] = index;
}
HONE_FUNCTION void hone_order(Item& a, Item& b, bool best_first) {
  if (hone_worse(a, b) == best_first) {
    const Item x = a;
    a = b;
    b = x;
  }
}
// One step of the network on all of a block's chunks. `first`: a chunk's first item within its line.
HONE_FUNCTION void hone_step(Item* items, hone_i64 first, hone_i64 size, int stride) {
  for (int p = (int)threadIdx.x; p < kItems / 2; p += kThreads) {
    const int i = (p & ~(stride - 1)) * 2 + (p & (stride - 1));
    hone_order(items[i], items[i + stride], ((first + (i & (kChunk - 1))) & size) == 0);
  }
  __syncthreads();
}
// Each chunk, best first where `first` & kChunk is 0.
HONE_FUNCTION void hone_sort(Item* items, hone_i64 first) {
  __syncthreads();
  for (int size = 2; size <= kChunk; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) hone_step(items, first, size, stride);
}
)cuda";

// Blocks have kLines of short lines, or one chunk of a long one. What is sorted goes to `found`, or to the results where
// that is null.
constexpr std::string_view kTopKRounds = R"cuda(
HONE_FUNCTION void hone_give_best(Item* items, hone_i64 first_line, hone_i64 chunk, hone_i64 chunks, Item* found,
    const Bits* data, Bits* values, hone_i64* indices) {
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) {
    const hone_i64 line = first_line + i / kChunk, place = i % kChunk;
    if (line >= kLines || place >= kKept) continue;
    if (found) found[(line * chunks + chunk) * kKept + place] = items[i];
    else if (place < kK) hone_give(data, values, indices, line, place, items[i]);
  }
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_top_k_of_data(const Bits* data, Item* found, Bits* values,
    hone_i64* indices, hone_i64 chunks) {
  __shared__ Item items[kItems];
  const hone_i64 chunk = blockIdx.x % chunks, first_line = blockIdx.x / chunks * kLinesOfBlock;
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) {
    const hone_i64 line = first_line + i / kChunk;
    items[i] = line < kLines ? hone_item(data, line, chunk * kChunk + i % kChunk) : hone_nothing();
  }
  hone_sort(items, 0);
  hone_give_best(items, first_line, chunk, chunks, found, data, values, indices);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_top_k_of_items(const Item* from, Item* found, const Bits* data,
    Bits* values, hone_i64* indices, hone_i64 count, hone_i64 chunks) {
  __shared__ Item items[kItems];
  const hone_i64 chunk = blockIdx.x % chunks, line = blockIdx.x / chunks;
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) {
    const hone_i64 at = chunk * kChunk + i;
    items[i] = at < count ? from[line * count + at] : hone_nothing();
  }
  hone_sort(items, 0);
  hone_give_best(items, line, chunk, chunks, found, data, values, indices);
}
)cuda";

// Lines of kPadded items, a power of two.
constexpr std::string_view kTopKWhole = R"cuda(
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_top_k_sort(const Bits* data, Item* sorted) {
  __shared__ Item items[kItems];
  const hone_i64 line = blockIdx.x / (kPadded / kChunk), first = blockIdx.x % (kPadded / kChunk) * kChunk;
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) items[i] = hone_item(data, line, first + i);
  hone_sort(items, first);
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) sorted[line * kPadded + first + i] = items[i];
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_top_k_across(Item* sorted, hone_i64 size, hone_i64 stride) {
  const hone_i64 p = (hone_i64)blockIdx.x * kThreads + threadIdx.x;
  if (p >= kLines * (kPadded / 2)) return;
  const hone_i64 i = (p & ~(stride - 1)) * 2 + (p & (stride - 1));
  hone_order(sorted[i], sorted[i + stride], ((i & (kPadded - 1)) & size) == 0);
}
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_top_k_within(Item* sorted, hone_i64 size) {
  __shared__ Item items[kItems];
  const hone_i64 from = (hone_i64)blockIdx.x * kChunk;
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) items[i] = sorted[from + i];
  __syncthreads();
  for (int stride = kChunk / 2; stride > 0; stride /= 2) hone_step(items, from & (kPadded - 1), size, stride);
  for (int i = (int)threadIdx.x; i < kItems; i += kThreads) sorted[from + i] = items[i];
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_top_k_take(const Item* sorted, const Bits* data, Bits* values,
    hone_i64* indices) {
  const hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (e >= kLines * kK) return;
  hone_give(data, values, indices, e / kK, e % kK, sorted[e / kK * kPadded + e % kK]);
}
)cuda";

struct TopKPlan {
  int64_t lines = 1, item = 8;
  int64_t chunk = 2, lines_of_block = 1, threads = 32;
  int64_t kept = 1;    // of a chunk, where the best of chunks go on
  int64_t padded = 0;  // of a line that is sorted as a whole; 0: none is

  bool one_round(int64_t extent) const { return chunk >= extent; }
};

TopKPlan top_k_plan(const TopKProgram& program, bool wide) {
  TopKPlan plan;
  plan.lines = program.outer * program.inner;
  plan.item = wide ? 16 : 8;
  const int64_t most = kMostShared / plan.item;
  const auto padded = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(program.extent)));
  plan.chunk = std::clamp<int64_t>(padded, 2, most);
  const int64_t of_line = plan.chunk / 2;
  plan.lines_of_block = plan.one_round(program.extent)
                            ? std::min(plan.lines, std::max<int64_t>(1, kWantedThreads / of_line))
                            : 1;
  plan.threads = std::min(kMostTopKThreads, (of_line * plan.lines_of_block + 31) / 32 * 32);
  plan.kept = std::min(program.k, plan.chunk);
  if (!plan.one_round(program.extent) && program.k > plan.chunk / 2) plan.padded = padded;
  return plan;
}

int64_t chunks_of(int64_t count, int64_t part) { return (count + part - 1) / part; }

using Tensor = TopKLaunch::Tensor;
constexpr TopKLaunch::Parameter kOfData{Tensor::kData}, kOfValues{Tensor::kValues},
    kOfIndices{Tensor::kIndices};

// Rounds, each of which leaves the best of its chunks, until there is one chunk a line. What goes on lies in two
// parts of the scratch in turn.
void add_rounds(const TopKProgram& program, const TopKPlan& plan, TopKKernels& kernels) {
  int64_t chunks = chunks_of(program.extent, plan.chunk);
  const auto bytes_of = [&] {
    return chunks_of(plan.lines * chunks * plan.kept * plan.item, kPartAlignment) * kPartAlignment;
  };
  const int64_t second = bytes_of();  // where the second part begins
  int64_t from = 0, to = 0;
  // No address: the results.
  const auto found = [&] { return TopKLaunch::Parameter{Tensor::kScratch, chunks > 1 ? to : -1}; };
  TopKLaunch launch{.entry = kTopKOfDataEntry,
                    .blocks = chunks_of(plan.lines, plan.lines_of_block) * chunks,
                    .threads = static_cast<int>(plan.threads),
                    .tensors = {kOfData, found(), kOfValues, kOfIndices},
                    .integers = {chunks}};
  kernels.launches.push_back(launch);
  if (chunks == 1) return;
  kernels.scratch_bytes = static_cast<std::size_t>(second);
  for (bool first = true; chunks > 1; first = false) {
    const int64_t count = chunks * plan.kept;
    chunks = chunks_of(count, plan.chunk);
    to = from == 0 ? second : 0;
    if (first && chunks > 1) kernels.scratch_bytes += static_cast<std::size_t>(bytes_of());
    launch.entry = kTopKOfItemsEntry;
    launch.blocks = plan.lines * chunks;
    launch.tensors = {{Tensor::kScratch, from}, found(), kOfData, kOfValues, kOfIndices};
    launch.integers = {count, chunks};
    kernels.launches.push_back(launch);
    from = to;
  }
}

void add_whole(const TopKProgram& program, const TopKPlan& plan, TopKKernels& kernels) {
  const TopKLaunch::Parameter sorted{Tensor::kScratch, 0};
  const int64_t items = plan.lines * plan.padded;
  const auto threads = static_cast<int>(plan.threads);
  kernels.scratch_bytes = static_cast<std::size_t>(items * plan.item);
  const auto add = [&](const char* entry, int64_t blocks, std::vector<TopKLaunch::Parameter> tensors,
                       std::vector<int64_t> integers) {
    kernels.launches.push_back({entry, blocks, threads, std::move(tensors), std::move(integers)});
  };
  add(kTopKSortEntry, items / plan.chunk, {kOfData, sorted}, {});
  for (int64_t size = plan.chunk * 2; size <= plan.padded; size *= 2) {
    for (int64_t stride = size / 2; stride >= plan.chunk; stride /= 2)
      add(kTopKAcrossEntry, chunks_of(items / 2, plan.threads), {sorted}, {size, stride});
    add(kTopKWithinEntry, items / plan.chunk, {sorted}, {size});
  }
  kernels.launches.push_back({.entry = kTopKTakeEntry,
                              .blocks = chunks_of(plan.lines * program.k, kTakeThreads),
                              .threads = kTakeThreads,
                              .tensors = {sorted, kOfData, kOfValues, kOfIndices}});
}

}  // namespace

Result<TopKKernels> generate_top_k(const TopKProgram& program) {
  HONE_ASSIGN(const ElementKind kind, element_kind(program.dtype));
  if (program.extent < 1 || program.extent > kMostTopKExtent || program.k < 1 || program.k > program.extent ||
      program.outer < 1 || program.inner < 1)
    return unsupported(fmt::format("the {} best of {}", program.k, program.extent));
  const TopKPlan plan = top_k_plan(program, kind.wide);
  TopKKernels kernels;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} Bits;\nconstexpr hone_i64 kExtent = {}, kInner = {}, kLines = {}, kK = {}, kPadded = {};\n"
      "constexpr int kChunk = {}, kLinesOfBlock = {}, kItems = {}, kThreads = {}, kKept = {};\n"
      "constexpr bool kFloating = {}, kSigned = {}, kLargest = {};\n#define kInfinity {}\n",
      kind.bits, program.extent, program.inner, plan.lines, program.k, plan.padded, plan.chunk,
      plan.lines_of_block, plan.chunk * plan.lines_of_block, plan.threads, plan.kept, kind.floating,
      kind.is_signed, program.largest, kind.infinity);
  text += kind.wide ? kWideItem : kNarrowItem;
  text += kTopKText;
  if (plan.padded > 0) {
    text += kTopKWhole;
    add_whole(program, plan, kernels);
  } else {
    text += kTopKRounds;
    add_rounds(program, plan, kernels);
  }
  kernels.source = {.name = "top_k.cu", .text = std::move(text), .options = {}};
  return kernels;
}

}  // namespace hone::kernels::gpu
