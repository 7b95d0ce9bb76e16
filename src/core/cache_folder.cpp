#include "core/cache_folder.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace hone {
namespace fs = std::filesystem;

fs::path cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "hone";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return fs::path(home) / ".cache" / "hone";
  return {};
}

void make_room(const fs::path& folder, std::string_view extension, std::size_t most_bytes) {
  struct Kept {
    fs::path path;
    std::size_t bytes;
    fs::file_time_type used;
  };
  std::vector<Kept> files;
  std::size_t bytes = 0;
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() != extension) continue;
    std::error_code gone;
    const Kept file{entry->path(), static_cast<std::size_t>(entry->file_size(gone)),
                    entry->last_write_time(gone)};
    if (gone) continue;
    bytes += file.bytes;
    files.push_back(file);
  }
  if (bytes < most_bytes) return;
  std::sort(files.begin(), files.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& file : files) {
    if (bytes < most_bytes / 2) break;
    fs::remove(file.path, error);
    bytes -= file.bytes;
  }
}

void mark_used(const fs::path& file) {
  std::error_code ignored;  // a folder that cannot be written to
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
}

}  // namespace hone
