// Breaks a database of Nsight Systems, written as rows (nsys_rows.h), a little further: what a fuzzer calls
// instead of flipping bits, which would seldom leave a database. Not part of the product.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace/testing/nsys_rows.h"

namespace hone::trace::nsys {

class RowsMutator {
 public:
  RowsMutator(std::vector<TableRow> rows, uint32_t seed) : rows_(std::move(rows)), random_(seed) {}

  // In one to `most` ways.
  std::vector<TableRow> mutate(uint32_t most = 4) {
    for (uint32_t i = 0, count = 1 + below(most); i < count && !rows_.empty(); ++i) change();
    return std::move(rows_);
  }

 private:
  uint32_t below(std::size_t bound) {
    return static_cast<uint32_t>(random_() % std::max<std::size_t>(bound, 1));
  }
  TableRow& any_row() { return rows_[below(rows_.size())]; }
  Cell* any_cell() {
    TableRow& row = any_row();
    return row.cells.empty() ? nullptr : &row.cells[below(row.cells.size())];
  }

  void change() {
    switch (below(11)) {
      case 0:
        rows_.erase(rows_.begin() + below(rows_.size()));
        return;
      case 1:
        return repeat();
      case 2:
        return move_in_time();
      case 3: {
        TableRow& row = any_row();
        if (!row.cells.empty()) row.cells.erase(row.cells.begin() + below(row.cells.size()));
        return;
      }
      case 4: {  // a whole table
        const std::string table = any_row().table;
        if (below(4) == 0) std::erase_if(rows_, [&](const TableRow& row) { return row.table == table; });
        return;
      }
      case 5:
        return swap_values();
      case 8:
        return change_column();
      case 6:
      case 7:
        if (Cell* cell = any_cell()) nudge(*cell);
        return;
      default:
        if (Cell* cell = any_cell()) cell->value = odd_value();
    }
  }

  static bool is_time(const Cell& cell) { return cell.column == "start" || cell.column == "end"; }
  static void add(Cell& cell, int64_t by) {
    int64_t number = 0;
    if (std::from_chars(cell.value.data(), cell.value.data() + cell.value.size(), number).ec == std::errc())
      cell.value =
          std::to_string(static_cast<int64_t>(static_cast<uint64_t>(number) + static_cast<uint64_t>(by)));
  }

  // A row again, some time later: what makes steps.
  void repeat() {
    TableRow row = any_row();
    const auto later = static_cast<int64_t>(random_() % 10'000'000);
    for (Cell& cell : row.cells)
      if (is_time(cell)) add(cell, later);
    rows_.insert(rows_.begin() + below(rows_.size() + 1), std::move(row));
  }
  void move_in_time() {
    const auto by = static_cast<int64_t>(random_() % 2'000'000) - 1'000'000;
    for (Cell& cell : any_row().cells)
      if (is_time(cell)) add(cell, by);
  }
  // The value of another row's cell of that name: ids then meet, or dangle.
  void swap_values() {
    Cell* cell = any_cell();
    if (cell == nullptr) return;
    for (const Cell& other : any_row().cells)
      if (other.column == cell->column || below(16) == 0) {
        cell->value = other.value;
        return;
      }
  }
  // A column in all rows of its table, or in some of them: gone, or one value.
  void change_column() {
    const TableRow& row = any_row();
    if (row.cells.empty() || below(4) > 0) return;
    const std::string table = row.table, column = row.cells[below(row.cells.size())].column;
    const std::string value = below(2) == 0 ? odd_value() : row.cells[below(row.cells.size())].value;
    const bool goes = below(3) == 0;
    const uint32_t one_in = below(2) == 0 ? 1 : 1 + below(20);
    for (TableRow& each : rows_) {
      if (each.table != table || below(one_in) > 0) continue;
      if (goes) std::erase_if(each.cells, [&](const Cell& cell) { return cell.column == column; });
      for (Cell& cell : each.cells)
        if (cell.column == column) cell.value = value;
    }
  }
  void nudge(Cell& cell) {
    constexpr int64_t kSteps[] = {1, -1, 2, 16, 1000, -1000, 1'000'000, int64_t{1} << 24, int64_t{1} << 32};
    add(cell, kSteps[below(std::size(kSteps))]);
  }
  std::string odd_value() {
    const std::string kOdd[] = {"",
                                "0",
                                "1",
                                "-1",
                                "59",
                                "60",
                                "4294967295",
                                "2305843009213693952",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "281474976710656",
                                "~1e300",
                                "~-0.5",
                                "~nan",
                                "\"",
                                "\"12x",
                                "\"\xff\xfe broken",
                                "\"<script>alert(1)</script>",
                                "\"cudaGraphLaunch_v10000",
                                "\"cudaStreamSynchronize_v3020",
                                "\"aten::mm, seq = 9, op_id = 3, sizes = [[4, 0], [99999999999, 3], []]",
                                "\"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                "\"_ZN2at6native29vectorized_elementwise_kernelILi4E",
                                "\"ProfilerStep#99999999999999999999",
                                "x\x01\x80"};
    return kOdd[below(std::size(kOdd))];
  }

  std::vector<TableRow> rows_;
  std::mt19937 random_;
};

}  // namespace hone::trace::nsys
