#include "core/open_files.h"

#include <array>
#include <atomic>
#include <cstring>

#include <unistd.h>

#include "core/file.h"

namespace hone {
namespace {

// A signal handler may neither lock nor allocate, so both tables are of fixed size and their entries atomic.
// A file that finds no place is merely not known here.
constexpr std::size_t kMostMapped = 1024;
constexpr std::size_t kMostUnfinished = 16;
constexpr std::size_t kLongestPath = 4096;

std::array<std::atomic<const MappedFile*>, kMostMapped> mapped_files{};

struct UnfinishedFile {
  enum State : int { kFree, kTaken, kNamed };
  std::atomic<int> state = kFree;
  std::array<char, kLongestPath> path{};
};
std::array<UnfinishedFile, kMostUnfinished> unfinished_files;

}  // namespace

Status check_mapped_files() {
  for (const auto& entry : mapped_files) {
    const MappedFile* file = entry.load();
    if (file != nullptr) HONE_CHECK(file->check_unchanged());
  }
  return {};
}

const char* mapped_file_at(const void* address) noexcept {
  for (const auto& entry : mapped_files) {
    const MappedFile* file = entry.load();
    if (file != nullptr && file->holds(address)) return file->name();
  }
  return nullptr;
}

void remove_unfinished_files() noexcept {
  for (UnfinishedFile& file : unfinished_files)
    if (file.state.load() == UnfinishedFile::kNamed) ::unlink(file.path.data());
}

void internal::register_mapped(const MappedFile& file) noexcept {
  for (auto& entry : mapped_files) {
    const MappedFile* free = nullptr;
    if (entry.compare_exchange_strong(free, &file)) return;
  }
}

void internal::unregister_mapped(const MappedFile& file) noexcept {
  for (auto& entry : mapped_files) {
    const MappedFile* own = &file;
    if (entry.compare_exchange_strong(own, nullptr)) return;
  }
}

int internal::register_unfinished(const std::filesystem::path& path) noexcept {
  const std::string& text = path.native();
  if (text.size() >= kLongestPath) return -1;
  for (std::size_t i = 0; i < unfinished_files.size(); ++i) {
    UnfinishedFile& file = unfinished_files[i];
    int free = UnfinishedFile::kFree;
    if (!file.state.compare_exchange_strong(free, UnfinishedFile::kTaken)) continue;
    std::memcpy(file.path.data(), text.c_str(), text.size() + 1);
    file.state = UnfinishedFile::kNamed;
    return static_cast<int>(i);
  }
  return -1;
}

void internal::unregister_unfinished(int place) noexcept {
  if (place >= 0) unfinished_files[static_cast<std::size_t>(place)].state = UnfinishedFile::kFree;
}

}  // namespace hone
