#include "trace/import/ncu/csv.h"

#include <algorithm>

namespace hone::trace::ncu {

std::string CsvReader::cell() {
  std::string text;
  if (at_ < text_.size() && text_[at_] == '"') {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"' && (at_ + 1 >= text_.size() || text_[at_ + 1] != '"')) break;
      if (text_[at_] == '"') ++at_;
      text += text_[at_];
    }
    at_ = std::min(at_ + 1, text_.size());
  }
  const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
  text += text_.substr(at_, end - at_);
  at_ = end;
  while (!text.empty() && text.back() == '\r') text.pop_back();
  return text;
}

bool CsvReader::next(std::vector<std::string>& cells) {
  cells.clear();
  while (at_ < text_.size()) {
    cells.push_back(cell());
    const bool line_ends = at_ >= text_.size() || text_[at_] == '\n';
    if (at_ < text_.size()) ++at_;
    if (!line_ends) continue;
    if (cells.size() > 1 || !cells[0].empty()) return true;
    cells.clear();
  }
  return !cells.empty();
}

}  // namespace hone::trace::ncu
