#include "kernels/cuda/strided_copy.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kWidestUnit = 16;  // bytes of one load
constexpr int64_t kTileSide = 32;    // threads of a warp
constexpr int64_t kTileWarps = kCopyBlock / kTileSide;
constexpr int64_t kShortestTileSide = 16;  // below, threads of a tile have too little to do
// Tiles that are read and written in vectors of 16 bytes: eight of those along a row, so that warps read whole lines.
constexpr int64_t kVectorsOfTileRow = 8;
constexpr int64_t kVectorTileRows = 64;
constexpr int64_t kManyTiles = 2048;  // from here on a tile is twice as high, and twice as much is on its way

std::string_view unit_type(int64_t bytes) {
  switch (bytes) {
    case 1:
      return "unsigned char";
    case 2:
      return "unsigned short";
    case 4:
      return "unsigned";
    case 8:
      return "unsigned long long";
    default:
      return "HoneVector<unsigned, 4>";
  }
}

// How one copy is done.
struct CopyPlan {
  std::vector<CopyAxis> axes;  // outermost first; in units
  int64_t unit = 4;            // bytes
  int64_t in_offset = 0, out_offset = 0;
  int64_t units = 1;  // written
  int64_t blocks = 1;
  int64_t each = 1;    // units of a thread; no tiles
  bool tiled = false;  // then `axes` are those around a tile
  CopyAxis row;        // consecutive in the output
  CopyAxis column;     // consecutive in the input
  int64_t lanes = 1;   // units that a thread of a tile takes at once
  bool wide_loads = false, wide_stores = false;
  int64_t turns = 0;  // of kVectorTileRows in a tile of vectors; 0: a tile of lanes

  int64_t vector() const { return kWidestUnit / unit; }
  int64_t side() const { return kTileSide * lanes; }
  int64_t pitch() const { return side() + lanes; }  // one bank further each row
  int64_t tile_columns() const { return turns > 0 ? kVectorsOfTileRow * vector() : side(); }
  int64_t tile_rows() const { return turns > 0 ? kVectorTileRows * turns : side(); }
  int64_t tile_bytes() const {
    return !tiled ? 0 : turns > 0 ? tile_columns() * tile_rows() * unit : side() * pitch() * unit;
  }
};

// Whether everything but the innermost axis steps by whole runs of `run`.
bool steps_by(const CopyPlan& plan, int64_t run) {
  return plan.in_offset % run == 0 && plan.out_offset % run == 0 &&
         std::all_of(plan.axes.begin(), plan.axes.end() - 1,
                     [&](const CopyAxis& axis) { return axis.in % run == 0 && axis.out % run == 0; });
}

// What lies together on both sides becomes wider units.
void widen(CopyPlan& plan) {
  if (plan.axes.empty() || plan.axes.back().in != 1 || plan.axes.back().out != 1) return;
  int64_t run = 1;
  while (plan.unit * run * 2 <= kWidestUnit && plan.axes.back().extent % (run * 2) == 0 &&
         steps_by(plan, run * 2))
    run *= 2;
  for (std::size_t i = 0; i + 1 < plan.axes.size(); ++i) plan.axes[i].in /= run, plan.axes[i].out /= run;
  plan.axes.back().extent /= run;
  plan.in_offset /= run;
  plan.out_offset /= run;
  plan.unit *= run;
  if (plan.axes.back().extent == 1) plan.axes.pop_back();
}

// Takes row and column of tiles out of the axes, where other axes are consecutive on the two sides, and both long enough.
void choose_tiles(CopyPlan& plan) {
  if (plan.axes.size() < 2 || plan.axes.back().out != 1 || plan.axes.back().in == 1) return;
  const auto found =
      std::find_if(plan.axes.begin(), plan.axes.end(), [](const CopyAxis& axis) { return axis.in == 1; });
  if (found == plan.axes.end()) return;
  plan.column = *found;
  plan.row = plan.axes.back();
  const int64_t shorter = std::min(plan.row.extent, plan.column.extent);
  if (shorter < kShortestTileSide) return;
  plan.axes.pop_back();
  plan.axes.erase(found);
  plan.tiled = true;
  while (plan.unit * plan.lanes < 4 && shorter >= kTileSide * plan.lanes * 2) plan.lanes *= 2;
  const auto loads_by = [&](int64_t run) {
    return plan.in_offset % run == 0 && plan.row.in % run == 0 &&
           std::all_of(plan.axes.begin(), plan.axes.end(),
                       [&](const CopyAxis& axis) { return axis.in % run == 0; });
  };
  const auto stores_by = [&](int64_t run) {
    return plan.out_offset % run == 0 && plan.column.out % run == 0 &&
           std::all_of(plan.axes.begin(), plan.axes.end(),
                       [&](const CopyAxis& axis) { return axis.out % run == 0; });
  };
  plan.wide_loads = loads_by(plan.lanes);
  plan.wide_stores = stores_by(plan.lanes);
  const int64_t vector = plan.vector();
  if ((plan.unit == 2 || plan.unit == 4) && plan.row.extent % vector == 0 &&
      plan.column.extent % vector == 0 && loads_by(vector) && stores_by(vector))
    plan.turns = 1;
}

int64_t parts_of(int64_t count, int64_t part) { return (count + part - 1) / part; }

int64_t tiles_of(const CopyPlan& plan) {
  int64_t tiles =
      parts_of(plan.row.extent, plan.tile_rows()) * parts_of(plan.column.extent, plan.tile_columns());
  for (const CopyAxis& axis : plan.axes) tiles *= axis.extent;
  return tiles;
}

CopyPlan plan_copy(const StridedCopyDesc& desc) {
  CopyPlan plan;
  plan.axes = merged_axes(desc);
  plan.unit = static_cast<int64_t>(desc.element_size);
  plan.in_offset = desc.in_offset;
  plan.out_offset = desc.out_offset;
  widen(plan);
  for (const CopyAxis& axis : plan.axes) plan.units *= axis.extent;
  choose_tiles(plan);
  if (plan.tiled) {
    if (plan.turns > 0 && plan.row.extent > kVectorTileRows && tiles_of(plan) >= kManyTiles) plan.turns = 2;
    plan.blocks = tiles_of(plan);
  } else {
    // Several loads on their way a thread, as long as all multiprocessors still get blocks enough.
    plan.each = plan.units >= int64_t{1} << 20 ? 4 : 1;
    plan.blocks = parts_of(plan.units, kCopyBlock * plan.each);
  }
  return plan;
}

// Adds the place of index `e` of `axes` to `from` and `to`; consumes `e`.
std::string walk(const std::vector<CopyAxis>& axes) {
  std::string text;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::string at = i == 0 ? "e" : fmt::format("e % (hone_index){}", axes[i].extent);
    if (axes[i].in != 0) text += fmt::format("    from += (hone_i64)({}) * {}LL;\n", at, axes[i].in);
    if (axes[i].out != 0) text += fmt::format("    to += (hone_i64)({}) * {}LL;\n", at, axes[i].out);
    if (i > 0) text += fmt::format("    e /= (hone_index){};\n", axes[i].extent);
  }
  return text;
}

// A unit after another, in the order in which they are written; all loads of a thread before its first store.
std::string direct_body(const CopyPlan& plan) {
  return fmt::format(
      "  HoneUnit unit[{0}];\n  hone_i64 place[{0}];\n"
      "#pragma unroll\n  for (int u = 0; u < {0}; ++u) {{\n"
      "    hone_index e = (block * {0} + u) * {1} + threadIdx.x;\n    place[u] = -1;\n"
      "    if (e >= (hone_index){2}) continue;\n"
      "    hone_i64 from = {3}LL, to = {4}LL;\n{5}    place[u] = to;\n    unit[u] = in[from];\n  }}\n"
      "#pragma unroll\n  for (int u = 0; u < {0}; ++u)\n    if (place[u] >= 0) out[place[u]] = unit[u];\n",
      plan.each, kCopyBlock, plan.units, plan.in_offset, plan.out_offset, walk(plan.axes));
}

// Warps read rows of the tile, which are consecutive in the input, and write columns, which are so in the output.
constexpr std::string_view kTileBody = R"cuda(
  typedef HoneVector<HoneUnit, kLanes> Wide;
  HoneUnit* const tile = (HoneUnit*)room;
  const int lane = (int)(threadIdx.x % 32) * kLanes, warp = (int)(threadIdx.x / 32);
#pragma unroll
  for (int k = 0; k < kSide; k += kWarps) {
    const hone_i64 r = row0 + warp + k, c = column0 + lane;
    HoneUnit* const put = tile + (warp + k) * kPitch + lane;
    if (r >= kRows) continue;
    const HoneUnit* const get = in + from + r * kRowStep + c;
    if (kWideLoads && c + kLanes <= kColumns) {
      *(Wide*)put = *(const Wide*)get;
    } else {
#pragma unroll
      for (int i = 0; i < kLanes; ++i)
        if (c + i < kColumns) put[i] = get[i];
    }
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSide; k += kWarps) {
    const hone_i64 c = column0 + warp + k, r = row0 + lane;
    const HoneUnit* const get = tile + lane * kPitch + warp + k;
    if (c >= kColumns) continue;
    HoneUnit* const put = out + to + c * kColumnStep + r;
    if (kWideStores && r + kLanes <= kRows) {
      Wide units;
#pragma unroll
      for (int i = 0; i < kLanes; ++i) units.at[i] = get[i * kPitch];
      *(Wide*)put = units;
    } else {
#pragma unroll
      for (int i = 0; i < kLanes; ++i)
        if (r + i < kRows) put[i] = get[i * kPitch];
    }
  }
)cuda";

// The same in vectors of 16 bytes. A tile in shared memory is columns of words, an element of 4 bytes or two of 2 bytes, that
// is of neighbouring rows. Four words of a column are a group, which a thread reads at once to store it; where groups lie
// changes from vector to vector of the input's rows, so that a warp's words lie in banks of their own, and its groups, too.
constexpr std::string_view kVectorTileBody = R"cuda(
  typedef HoneVector<unsigned, 4> Wide;
  constexpr bool kPairs = sizeof(HoneUnit) == 2;
  constexpr int kVector = 16 / sizeof(HoneUnit), kWords = kTileRows * (int)sizeof(HoneUnit) / 4, kGroups = kWords / 4;
  unsigned* const tile = (unsigned*)room;
  const int vector = (int)threadIdx.x % 8, place = (int)threadIdx.x / 8, column = vector * kVector;
  const auto word = [=](int c, int w) { return tile + c * kWords + (w / 4 ^ c / kVector) * 4 + w % 4; };
  Wide read[kTurns][2];
#pragma unroll
  for (int turn = 0; turn < kTurns; ++turn) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const hone_i64 r = row0 + turn * 64 + (kPairs ? 2 * place + i : place + 32 * i);
      if (r < kRows && column0 + column < kColumns)
        read[turn][i] = *(const Wide*)(in + from + r * kRowStep + column0 + column);
    }
  }
#pragma unroll
  for (int turn = 0; turn < kTurns; ++turn) {
    const Wide a = read[turn][0], b = read[turn][1];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (kPairs) {
        *word(column + 2 * i, turn * 32 + place) = (a.at[i] & 0xffffu) | b.at[i] << 16;
        *word(column + 2 * i + 1, turn * 32 + place) = a.at[i] >> 16 | (b.at[i] & 0xffff0000u);
      } else {
        *word(column + i, turn * 64 + place) = a.at[i];
        *word(column + i, turn * 64 + 32 + place) = b.at[i];
      }
    }
  }
  __syncthreads();
  Wide column_part[2 * kTurns];
#pragma unroll
  for (int k = 0; k < 2 * kTurns; ++k) {
    const int item = (int)threadIdx.x + k * 256;
    column_part[k] = *(const Wide*)word(item / kGroups, item % kGroups * 4);
  }
#pragma unroll
  for (int k = 0; k < 2 * kTurns; ++k) {
    const int item = (int)threadIdx.x + k * 256;
    const hone_i64 c = column0 + item / kGroups, r = row0 + item % kGroups * kVector;
    if (c < kColumns && r < kRows) hone_put(out + to + c * kColumnStep + r, column_part[k]);
  }
)cuda";

std::string tiled_body(const CopyPlan& plan) {
  return fmt::format(
             "  constexpr int kLanes = {}, kSide = {}, kPitch = {}, kWarps = {};\n"
             "  constexpr int kTurns = {}, kTileColumns = {}, kTileRows = {};\n"
             "  constexpr bool kWideLoads = {}, kWideStores = {};\n"
             "  constexpr hone_i64 kRows = {}, kRowStep = {}, kColumns = {}, kColumnStep = {};\n"
             "  const hone_index columns = {}, rows = {};\n"
             "  hone_index e = block;\n"
             "  const hone_i64 column0 = (hone_i64)(e % columns) * kTileColumns;\n  e /= columns;\n"
             "  const hone_i64 row0 = (hone_i64)(e % rows) * kTileRows;\n  e /= rows;\n"
             "  hone_i64 from = {}LL, to = {}LL;\n",
             plan.lanes, plan.side(), plan.pitch(), kTileWarps, plan.turns, plan.tile_columns(),
             plan.tile_rows(), plan.wide_loads, plan.wide_stores, plan.row.extent, plan.row.in,
             plan.column.extent, plan.column.out, parts_of(plan.column.extent, plan.tile_columns()),
             parts_of(plan.row.extent, plan.tile_rows()), plan.in_offset, plan.out_offset) +
         walk(plan.axes) + std::string(plan.turns > 0 ? kVectorTileBody : kTileBody);
}

std::string part_function(std::size_t number, const CopyPlan& plan) {
  return fmt::format(
      "HONE_FUNCTION void hone_part_{}(const {}* __restrict__ in, {}* __restrict__ out, hone_index block, "
      "void* room) "
      "{{\n  typedef {} HoneUnit;\n{}}}\n",
      number, unit_type(plan.unit), unit_type(plan.unit), unit_type(plan.unit),
      plan.tiled ? tiled_body(plan) : direct_body(plan));
}

std::string copy_kernel_function(std::span<const CopyPlan> plans) {
  std::string arguments, calls;
  int64_t room = 0;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::string_view type = unit_type(plans[i].unit);
    arguments += fmt::format("{}const {}* in{}, {}* out{}", i > 0 ? ", " : "", type, i, type, i);
    if (i + 1 < plans.size())
      calls += fmt::format(
          "  if (block < (hone_index){0}) return hone_part_{1}(in{1}, out{1}, block, room);\n  block -= "
          "(hone_index){0};\n",
          plans[i].blocks, i);
    else
      calls += fmt::format("  hone_part_{0}(in{0}, out{0}, block, room);\n", i);
    room = std::max(room, plans[i].tile_bytes());
  }
  const std::string shared =
      room > 0 ? fmt::format("  __shared__ HoneVector<unsigned, 4> room[{}];\n", parts_of(room, 16))
               : "  void* const room = nullptr;\n";
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1) {}({}) {{\n{}  hone_index block = "
      "blockIdx.x;\n{}}}\n",
      kCopyBlock, kStridedCopyEntry, arguments, shared, calls);
}

CopyPath path_of(const CopyPlan& plan) {
  return !plan.tiled ? CopyPath::kDirect : plan.turns > 0 ? CopyPath::kVectorTiles : CopyPath::kTiles;
}

}  // namespace

Result<StridedCopyKernel> generate_strided_copies(std::span<const StridedCopyDesc> parts) {
  if (parts.empty() || parts.size() > kMostCopyParts)
    return unsupported(fmt::format("a kernel of {} copies; one has up to {}", parts.size(), kMostCopyParts));
  StridedCopyKernel kernel;
  std::vector<CopyPlan> plans;
  bool small = true;
  for (const StridedCopyDesc& desc : parts) {
    if (element_count(desc.shape) == 0) return invalid("a copy of no elements");
    const CopyPlan& plan = plans.emplace_back(plan_copy(desc));
    kernel.blocks += plan.blocks;
    kernel.bytes += 2 * plan.units * plan.unit;
    kernel.paths.push_back(path_of(plan));
    small = small && plan.units < (int64_t{1} << 31);
  }
  if (kernel.blocks > 0x7fffffff) return unsupported("a copy of more blocks than a grid has");
  std::string text = std::string(kBasePrelude) +
                     fmt::format("typedef {} hone_index;\n", small ? "unsigned" : "unsigned long long");
  for (std::size_t i = 0; i < plans.size(); ++i) text += part_function(i, plans[i]);
  kernel.source = {.name = "strided_copy.cu", .text = text + copy_kernel_function(plans), .options = {}};
  return kernel;
}

}  // namespace hone::kernels::gpu
