#include "core/file_names.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace hone {
namespace {

// File systems take 255 bytes; the rest is for the extension, a number, and the temporary name
// that a file has while it is written (core/file.h).
constexpr std::size_t kLongest = 180;

std::string plain(std::string_view name) {
  std::string text(name.substr(0, kLongest));
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-') c = '_';
  return text.empty() ? "_" : text;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::vector<std::string> file_names(const std::vector<std::string>& names, std::string_view extension) {
  std::vector<std::string> files(names.size());
  std::set<std::string> taken;
  for (const bool changed : {false, true}) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string base = plain(names[i]);
      if (!files[i].empty() || (base != names[i]) != changed) continue;
      std::string name = base;
      for (int number = 2; !taken.insert(lower(name)).second; ++number)
        name = base + "-" + std::to_string(number);
      files[i] = name + std::string(extension);
    }
  }
  return files;
}

}  // namespace hone
