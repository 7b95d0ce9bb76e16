#include "kernels/cuda/contraction.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kContractionTile = 64;  // rows and columns of a block

// A block computes 64 × 64 sums, a thread 4 × 4 of them. Neighbours read neighbours, whichever axis those lie along.
constexpr std::string_view kTiledText = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_contraction(const HoneElement* x0, const HoneElement* x1,
    HoneElement* y) {
  constexpr int kTile = 64, kStep = 16;
  __shared__ HoneSum of_a[kStep][kTile + 1], of_b[kStep][kTile + 1];
  const int t = (int)threadIdx.x;
  hone_i64 block = blockIdx.x;
  const hone_i64 first_column = block % kColumnTiles * kTile;
  block /= kColumnTiles;
  const hone_i64 first_row = block % kRowTiles * kTile, batch = block / kRowTiles;
  x0 += hone_batch_0(batch);
  x1 += hone_batch_1(batch);
  y += hone_batch_y(batch);
  HoneSum sums[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = 0;
  for (hone_i64 first = 0; first < kDepth; first += kStep) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = t + 256 * i;
      const int row = kRowsLie ? at % kTile : at / kStep, k_of_a = kRowsLie ? at / kTile : at % kStep;
      const int column = kColumnsLie ? at % kTile : at / kStep, k_of_b = kColumnsLie ? at / kTile : at % kStep;
      of_a[k_of_a][row] = first_row + row < kRows && first + k_of_a < kDepth
          ? (HoneSum)HoneForm::held(x0[hone_row_0(first_row + row) + hone_depth_0(first + k_of_a)]) : (HoneSum)0;
      of_b[k_of_b][column] = first_column + column < kColumns && first + k_of_b < kDepth
          ? (HoneSum)HoneForm::held(x1[hone_column_1(first_column + column) + hone_depth_1(first + k_of_b)]) : (HoneSum)0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kStep; ++k) {
      HoneSum left[4], right[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        left[i] = of_a[k][t / 16 + 16 * i];
        right[i] = of_b[k][t % 16 + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const hone_i64 row = first_row + t / 16 + 16 * i, column = first_column + t % 16 + 16 * j;
      if (row < kRows && column < kColumns) y[hone_row_y(row) + hone_column_y(column)] = HoneForm::stored(sums[i][j]);
    }
}
)cuda";

// An axis, and how the result steps along it.
struct PlacedAxis {
  const ContractionAxis* axis;
  int64_t y_step;
};
using PlacedAxes = std::vector<PlacedAxis>;

int64_t count_of(const PlacedAxes& axes) {
  int64_t count = 1;
  for (const PlacedAxis& placed : axes) count *= placed.axis->extent;
  return count;
}

// Where number `i` of these axes' places lies: `step` of each axis.
template <typename Step>
std::string offset_text(std::string_view name, const PlacedAxes& axes, Step step) {
  std::string text = fmt::format("HONE_FUNCTION hone_i64 {}(hone_i64 i) {{\n  hone_i64 at = 0;\n", name);
  for (std::size_t k = axes.size(); k-- > 0;) {
    const int64_t extent = axes[k].axis->extent;
    if (step(axes[k]) != 0) text += fmt::format("  at += i % {}LL * {}LL;\n", extent, step(axes[k]));
    text += fmt::format("  i /= {}LL;\n", extent);
  }
  return text + "  return at;\n}\n";
}

std::string operand_offset_text(std::string_view group, std::size_t operand, const PlacedAxes& axes) {
  return offset_text(fmt::format("hone_{}_{}", group, operand), axes,
                     [operand](const PlacedAxis& placed) { return placed.axis->steps[operand]; });
}
std::string result_offset_text(std::string_view group, const PlacedAxes& axes) {
  return offset_text(fmt::format("hone_{}_y", group), axes,
                     [](const PlacedAxis& placed) { return placed.y_step; });
}

// The axes as those of matrices: in both and in the result, in the first, in the second, summed.
struct ContractionGroups {
  PlacedAxes batch, rows, columns, depth;
};

ContractionGroups groups_of(const ContractionProgram& program) {
  ContractionGroups groups;
  int64_t y_step = 1;
  for (std::size_t i = program.axes.size(); i-- > 0;) {
    const ContractionAxis& axis = program.axes[i];
    if (axis.summed) {
      groups.depth.push_back({&axis, 0});
      continue;
    }
    const bool first = axis.steps[0] != 0, second = program.operands > 1 && axis.steps[1] != 0;
    PlacedAxes& group = first && !second ? groups.rows : second && !first ? groups.columns : groups.batch;
    group.insert(group.begin(), {&axis, y_step});
    y_step *= axis.extent;
  }
  std::stable_sort(groups.depth.begin(), groups.depth.end(), [](const PlacedAxis& a, const PlacedAxis& b) {
    return a.axis->steps[0] > b.axis->steps[0];
  });
  return groups;
}

bool lies_along(const PlacedAxes& axes, std::size_t operand) {
  return !axes.empty() && axes.back().axis->steps[operand] == 1;
}

std::string tiled_text(const ContractionGroups& groups, int64_t row_tiles, int64_t column_tiles) {
  std::string text = fmt::format(
      "constexpr hone_i64 kRows = {}, kColumns = {}, kDepth = {}, kRowTiles = {}, kColumnTiles = {};\n"
      "constexpr bool kRowsLie = {}, kColumnsLie = {};\n",
      count_of(groups.rows), count_of(groups.columns), count_of(groups.depth), row_tiles, column_tiles,
      lies_along(groups.rows, 0), lies_along(groups.columns, 1));
  for (const std::size_t operand : {0, 1}) {
    text += operand_offset_text("batch", operand, groups.batch);
    text += operand_offset_text("depth", operand, groups.depth);
  }
  text += operand_offset_text("row", 0, groups.rows) + operand_offset_text("column", 1, groups.columns);
  text += result_offset_text("batch", groups.batch) + result_offset_text("row", groups.rows) +
          result_offset_text("column", groups.columns);
  return text + std::string(kTiledText);
}

// A thread a result: loops over the summed axes, an offset of each operand along.
std::string direct_text(const ContractionProgram& program, int64_t results) {
  PlacedAxes kept;
  std::vector<const ContractionAxis*> summed;
  for (const ContractionAxis& axis : program.axes) {
    if (axis.summed)
      summed.push_back(&axis);
    else
      kept.push_back({&axis, 0});
  }
  std::string text, parameters, starts, loops, term;
  for (std::size_t operand = 0; operand < program.operands; ++operand) {
    text += operand_offset_text("kept", operand, kept);
    parameters += fmt::format("const HoneElement* x{}, ", operand);
    starts += fmt::format("  x{0} += hone_kept_{0}(e);\n", operand);
    std::string place = "0LL";
    for (std::size_t i = 0; i < summed.size(); ++i)
      if (summed[i]->steps[operand] != 0) place += fmt::format(" + i{} * {}LL", i, summed[i]->steps[operand]);
    term += fmt::format("{}(HoneSum)HoneForm::held(x{}[{}])", operand > 0 ? " * " : "", operand, place);
  }
  for (std::size_t i = 0; i < summed.size(); ++i)
    loops += fmt::format("  for (hone_i64 i{0} = 0; i{0} < {1}LL; ++i{0})\n", i, summed[i]->extent);
  return text +
         fmt::format(
             "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}({2}HoneElement* y) {{\n"
             "  const hone_i64 e = (hone_i64)blockIdx.x * {0} + threadIdx.x;\n  if (e >= {3}LL) return;\n"
             "{4}  HoneSum sum = 0;\n{5}    sum += {6};\n  y[e] = HoneForm::stored(sum);\n}}\n",
             kContractionBlock, kContractionEntry, parameters, results, starts, loops, term);
}

Status check_contraction(const ContractionProgram& program) {
  if (!number_form(program.dtype) || program.dtype == DType::kBool || program.operands < 1 ||
      program.operands > kMostContracted)
    return unsupported(
        fmt::format("a sum of products of {} tensors of {}", program.operands, dtype_name(program.dtype)));
  for (const ContractionAxis& axis : program.axes) {
    if (axis.extent < 1 || axis.steps.size() != program.operands) return unsupported("a sum of nothing");
  }
  return {};
}

}  // namespace

Result<ContractionKernel> generate_contraction(const ContractionProgram& program) {
  HONE_CHECK(check_contraction(program));
  const NumberForm number = *number_form(program.dtype);
  const ContractionGroups groups = groups_of(program);
  const int64_t batch = count_of(groups.batch), rows = count_of(groups.rows),
                columns = count_of(groups.columns);
  std::string text = std::string(kBasePrelude);
  text += kWideForms;
  text += fmt::format("typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} HoneSum;\n", number.memory,
                      number.form, is_float(program.dtype) ? number.wide : "unsigned long long");
  ContractionKernel kernel;
  if (program.operands == 2 && rows > 1 && columns > 1 && !groups.depth.empty()) {
    const int64_t row_tiles = (rows + kContractionTile - 1) / kContractionTile;
    const int64_t column_tiles = (columns + kContractionTile - 1) / kContractionTile;
    kernel.blocks = batch * row_tiles * column_tiles;
    text += tiled_text(groups, row_tiles, column_tiles);
  } else {
    const int64_t results = batch * rows * columns;
    kernel.blocks = (results + kContractionBlock - 1) / kContractionBlock;
    text += direct_text(program, results);
  }
  kernel.source = {.name = "contraction.cu", .text = std::move(text), .options = {}};
  return kernel;
}

}  // namespace hone::kernels::gpu
