// Products of matrix tiles: bf16 pairs into f32, and u8 × i8 quadruples into i32, by Intel's AMX, where the
// CPU has it and the kernel lets this process use it.
//
// A tile register holds 16 rows of 64 bytes, and one instruction multiplies two of them into a third:
// 16 × 16 × 32 multiply-adds in bf16 (TDPBF16PS), 16 × 16 × 64 in bytes (TDPBUSD); Intel Architecture
// Instruction Set Extensions Programming Reference, chapter "Intel Advanced Matrix Extensions". The unit
// takes one row a cycle, so it can begin an instruction every 16 cycles. The peak of a core is therefore 1024
// FLOP a cycle in bf16 and 2048 operations in i8: 16 and 32 times what two pipes of 512-bit fma reach in f32,
// at the same clock. Four accumulators, as products of matrices use them, leave latency no say: a Xeon that
// was tried takes as long with one or six.
#include <array>
#include <bit>

#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/opaque.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace hone::kernels::roof {
#if defined(__x86_64__) && defined(__linux__)
namespace {

constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;
constexpr int kAccumulators = 4;  // tiles 0 to 3; 4 and 5 hold left operands, 6 and 7 right ones
constexpr uint32_t kOnesBf16 = 0x3f803f80, kOnesI8 = 0x01010101;

struct alignas(64) Tile {
  std::array<uint32_t, kRows * kRowBytes / 4> words{};
};

// What LDTILECFG reads. Tiles that don't exist must stay 0.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  std::array<uint8_t, 14> reserved{};
  std::array<uint16_t, 16> row_bytes{};
  std::array<uint8_t, 16> rows{};
};
static_assert(sizeof(TileConfiguration) == 64);

bool cpu_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25, kAll = kBf16 | kTile | kInt8;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAll) != kAll) return false;
  if (__get_cpuid_count(0x1d, 1, &a, &b, &c, &d) == 0) return false;  // palette 1
  return (b & 0xffff) == kRowBytes && b >> 16 == kTiles && (c & 0xffff) == kRows;
}

// Linux keeps 8 KiB of tile data only for a process that asks for it, and refuses where a signal stack is too
// small for them (Documentation/arch/x86/xstate.rst in its sources). The answer holds for all threads, and
// for children by fork; asking twice does no harm. Kernels that know no tiles refuse, too.
bool kernel_permits_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Accumulators of 0 and operands that repeat `word`, in the calling thread's tiles. The intrinsics don't tell
// the compiler which memory they read: what they read is opaque before, and everything after.
__attribute__((target("amx-tile"))) void load_tiles(uint32_t word) {
  TileConfiguration configuration;
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    configuration.row_bytes[tile] = kRowBytes;
    configuration.rows[tile] = kRows;
  }
  Tile operand;
  operand.words.fill(word);
  make_opaque(configuration);
  make_opaque(operand);
  _tile_loadconfig(&configuration);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, operand.words.data(), kRowBytes);
  _tile_loadd(5, operand.words.data(), kRowBytes);
  _tile_loadd(6, operand.words.data(), kRowBytes);
  _tile_loadd(7, operand.words.data(), kRowBytes);
  forget_memory();
}

// Sums of ones grow to 2^29 in f32 and stay there: no infinity, no rounding that takes longer.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_bf16(int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}

__attribute__((target("amx-tile,amx-int8"))) void multiply_i8(int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
}

// Released tiles are nothing that a switch of threads has to save, and let the core save power.
__attribute__((target("amx-tile"))) void release_tiles() { _tile_release(); }

void run_tiles_bf16(int64_t iterations) {
  load_tiles(kOnesBf16);
  multiply_bf16(iterations);
  release_tiles();
}

void run_tiles_i8(int64_t iterations) {
  load_tiles(kOnesI8);
  multiply_i8(iterations);
  release_tiles();
}

__attribute__((target("amx-tile"))) std::array<Tile, kAccumulators> store_accumulators() {
  std::array<Tile, kAccumulators> accumulators;
  _tile_stored(0, accumulators[0].words.data(), kRowBytes);
  _tile_stored(1, accumulators[1].words.data(), kRowBytes);
  _tile_stored(2, accumulators[2].words.data(), kRowBytes);
  _tile_stored(3, accumulators[3].words.data(), kRowBytes);
  forget_memory();
  return accumulators;
}

}  // namespace

void internal::add_tile_probes(std::vector<ArithmeticProbe>& probes) {
  if (!cpu_has_tiles() || !kernel_permits_tiles()) return;
  // Two operations (multiply, add) for each product of 32 bf16 or 64 bytes in every element of an
  // accumulator.
  constexpr double kElements = 2.0 * kAccumulators * kRows * (kRowBytes / 4);
  probes.push_back({DType::kBF16, "tiles", "tdpbf16ps tiles", kElements * kRowBytes / 2, run_tiles_bf16});
  probes.push_back({DType::kI8, "tiles", "tdpbusd tiles", kElements * kRowBytes, run_tiles_i8});
}

double internal::tile_products(DType dtype, int64_t iterations) {
  const bool bf16 = dtype == DType::kBF16;
  load_tiles(bf16 ? kOnesBf16 : kOnesI8);
  bf16 ? multiply_bf16(iterations) : multiply_i8(iterations);
  const std::array<Tile, kAccumulators> accumulators = store_accumulators();
  release_tiles();
  double products = 0;
  for (const Tile& tile : accumulators)
    for (const uint32_t word : tile.words) products += bf16 ? std::bit_cast<float>(word) : word;
  return products;
}

#else

void internal::add_tile_probes(std::vector<ArithmeticProbe>&) {}
double internal::tile_products(DType, int64_t) { return 0; }

#endif
}  // namespace hone::kernels::roof
