#include "lab/program/edits.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/file.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kContext = 3;  // lines around a change, as `diff -u`

struct Line {
  char mark = ' ';  // ' ', '-' or '+'
  std::string text;
  int old_line = 0;      // of the file before
  bool unended = false;  // the file ends within it
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Where in the bytes of a line its `column`-th character begins.
std::size_t byte_of(const std::string& line, int column) {
  std::size_t at = 0;
  for (int seen = 0; at < line.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(line[at]) & 0xC0) != 0x80;
    if (begins && seen++ == column) break;
  }
  return at;
}

// What one line of the file becomes.
struct Changed {
  std::vector<std::string> before;  // lines of their own
  std::string line;
};

Changed change_line(const std::string& line, int number, const std::vector<Insertion>& insertions) {
  Changed changed{{}, line};
  std::vector<const Insertion*> within;
  for (const Insertion& insertion : insertions) {
    if (insertion.line != number) continue;
    if (insertion.column < 0)
      changed.before.push_back(insertion.text);
    else
      within.push_back(&insertion);
  }
  // From the end of the line, so that earlier columns still hold; of one place the last first.
  std::stable_sort(within.begin(), within.end(),
                   [](const Insertion* a, const Insertion* b) { return a->column < b->column; });
  for (auto at = within.rbegin(); at != within.rend(); ++at) {
    const std::size_t begin = byte_of(line, (*at)->column);
    changed.line.replace(begin, byte_of(line, (*at)->column + (*at)->removed) - begin, (*at)->text);
  }
  return changed;
}

std::vector<Line> marked_lines(const std::string& text, const std::vector<Insertion>& insertions) {
  const std::vector<std::string> lines = lines_of(text);
  const int count = static_cast<int>(lines.size());
  const bool goes_on = std::any_of(insertions.begin(), insertions.end(),
                                   [&](const Insertion& insertion) { return insertion.line > count; });
  std::vector<Line> all;
  for (int number = 1; number <= count + 1; ++number) {
    const bool there = number <= count;
    const bool unended = number == count && !text.ends_with('\n');
    const std::string& line = there ? lines[static_cast<std::size_t>(number - 1)] : std::string();
    const Changed changed = change_line(line, number, insertions);
    const bool differs = there && (changed.line != line || (unended && goes_on));
    if (differs) all.push_back({'-', line, number, unended});
    for (const std::string& before : changed.before) all.push_back({'+', before, number});
    if (there) all.push_back({differs ? '+' : ' ', changed.line, number, unended && !goes_on});
  }
  return all;
}

std::string hunk(const std::vector<Line>& lines, std::size_t begin, std::size_t end) {
  int old_first = 0, old_count = 0, new_count = 0, added_before = 0;
  for (std::size_t i = 0; i < begin; ++i)
    added_before += lines[i].mark == '+' ? 1 : lines[i].mark == '-' ? -1 : 0;
  std::string body;
  for (std::size_t i = begin; i < end; ++i) {
    const Line& line = lines[i];
    if (line.mark != '+') {
      if (old_first == 0) old_first = line.old_line;
      ++old_count;
    }
    new_count += line.mark != '-';
    body += fmt::format("{}{}\n", line.mark, line.text);
    if (line.unended) body += "\\ No newline at end of file\n";
  }
  if (old_first == 0) old_first = lines[begin].old_line;
  return fmt::format("@@ -{},{} +{},{} @@\n{}", old_first, old_count, old_first + added_before, new_count,
                     body);
}

std::string hunks(const std::vector<Line>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].mark == ' ') {
      ++i;
      continue;
    }
    const std::size_t begin = i > kContext ? i - kContext : 0;
    std::size_t last = i;  // of the changed lines of this hunk
    for (std::size_t j = i; j < lines.size() && j <= last + 2 * kContext; ++j)
      if (lines[j].mark != ' ') last = j;
    const std::size_t end = std::min(lines.size(), last + 1 + kContext);
    text += hunk(lines, begin, end);
    i = end;
  }
  return text;
}

// The file itself: `patch` follows no symbolic link.
fs::path real_path(const fs::path& file) {
  std::error_code none;
  const fs::path found = fs::weakly_canonical(file, none);
  return none ? file : found;
}

bool is_within(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

// In quotation marks where a reader of patches would take something else for it; GNU diff ends names with blanks by a tab.
std::string name_in_patch(const std::string& name) {
  std::string quoted;
  for (const char each : name) {
    if (each == '"' || each == '\\')
      quoted += fmt::format("\\{}", each);
    else if (static_cast<unsigned char>(each) < 0x20 || each == 0x7f)
      quoted += fmt::format("\\{:03o}", static_cast<unsigned char>(each));
    else
      quoted += each;
  }
  if (quoted != name) return fmt::format("\"{}\"", quoted);
  return name.find(' ') != std::string::npos ? name + "\t" : name;
}

}  // namespace

std::string with_insertions(const std::string& text, const std::vector<Insertion>& insertions) {
  std::string result;
  for (const Line& line : marked_lines(text, insertions))
    if (line.mark != '-') result += line.text + "\n";
  return result;
}

fs::path patch_folder(const std::vector<Edit>& edits, const fs::path& started_in) {
  fs::path folder = real_path(started_in);
  for (const Edit& edit : edits)
    while (!is_within(real_path(edit.file), folder) && folder != folder.parent_path())
      folder = folder.parent_path();
  return folder;
}

Result<std::string> unified_diff(const std::vector<Edit>& edits, const fs::path& folder) {
  std::vector<fs::path> files;  // in the order in which they are named
  std::map<fs::path, std::vector<Insertion>> by_file;
  for (const Edit& edit : edits) {
    const fs::path file = real_path(edit.file);
    if (!by_file.contains(file)) files.push_back(file);
    std::vector<Insertion>& all = by_file[file];
    for (const Insertion& insertion : edit.insertions)
      if (std::find(all.begin(), all.end(), insertion) == all.end()) all.push_back(insertion);
  }
  std::string diff;
  for (const fs::path& file : files) {
    HONE_ASSIGN(const std::string text, read_file(file.string()));
    const std::string name = file.lexically_relative(folder).string();
    diff += fmt::format("--- {}\n+++ {}\n{}", name_in_patch("a/" + name), name_in_patch("b/" + name),
                        hunks(marked_lines(text, by_file[file])));
  }
  return diff;
}

}  // namespace hone::lab
