#include "observe/session/source_text.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace hone::observe {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr uint32_t kMostLines = 1'000'000;

std::string trimmed(std::string text) {
  constexpr const char* kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  text = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  if (text.size() > kLongestLine) {
    std::size_t end = kLongestLine;  // not within a character of UTF-8
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
  }
  return text;
}

// By number, from 1, those that are in `wanted`. Nothing that is not a file of its own is opened: what a program names may be
// a pipe or a device.
void read_lines(const std::string& path, std::map<uint32_t, std::string>& wanted) {
  std::error_code failed;
  if (wanted.empty() || !std::filesystem::is_regular_file(path, failed) || failed) return;
  std::ifstream file(path);
  std::string line;
  for (uint32_t number = 1;
       number <= kMostLines && number <= wanted.rbegin()->first && std::getline(file, line); ++number)
    if (const auto found = wanted.find(number); found != wanted.end()) found->second = trimmed(line);
}

}  // namespace

void read_source_lines(trace::Trace& trace) {
  std::map<uint32_t, std::map<uint32_t, std::string>> texts;  // by file and line
  for (const trace::KernelSample& row : trace.kernel_samples)
    if (row.line_info == trace::LineInfo::kKnown) texts[row.file.index][row.line];
  for (auto& [file, lines] : texts) read_lines(std::string(trace.strings.text({file})), lines);
  for (trace::KernelSample& row : trace.kernel_samples) {
    if (row.line_info != trace::LineInfo::kKnown) continue;
    const std::string& text = texts[row.file.index][row.line];
    if (!text.empty()) row.source = trace.strings.intern(text);
  }
}

}  // namespace hone::observe
