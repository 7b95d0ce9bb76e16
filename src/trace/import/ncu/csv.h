// Comma-separated values with quotes (RFC 4180), as Nsight Compute prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::trace::ncu {

// One record after the other; quoted cells may hold commas, line ends and doubled quotes.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}
  // False at the end. Lines without any cell are passed over.
  bool next(std::vector<std::string>& cells);

 private:
  std::string cell();

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace hone::trace::ncu
