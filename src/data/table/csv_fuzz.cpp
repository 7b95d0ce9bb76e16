// libFuzzer target: no text may crash the reader of tables, and every row has as many cells as the heading.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/table/csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto table = hone::data::parse_table({reinterpret_cast<const char*>(data), size});
  if (!table.ok()) return 0;
  for (const auto& row : table->rows)
    if (row.cells.size() != table->heading.size()) std::abort();
  return 0;
}
