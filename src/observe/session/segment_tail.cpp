#include "observe/session/segment_tail.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace hone::observe {
namespace {

namespace fs = std::filesystem;
namespace segments = trace::segments;

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
// A record beyond this is none: images of counters are the largest.
constexpr uint32_t kMostRecordBytes = 64U << 20;

// How much was read at that place: less than asked for only at the end.
std::size_t read_at(int descriptor, std::span<std::byte> into, uint64_t at) {
  std::size_t got = 0;
  while (got < into.size()) {
    const ssize_t count =
        ::pread(descriptor, into.data() + got, into.size() - got, static_cast<off_t>(at + got));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  return got;
}

template <typename T>
T copied(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(static_cast<void*>(&value), bytes.data(), sizeof value);
  return value;
}

}  // namespace

void SegmentTail::read(const std::function<void(const SegmentRecord&)>& visit) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed))
    if (entry->path().extension() == segments::kExtension) files_.try_emplace(entry->path());
  for (auto& [path, file] : files_)
    if (!file.broken) read_file(path, file, visit);
}

void SegmentTail::read_file(const fs::path& path, File& file,
                            const std::function<void(const SegmentRecord&)>& visit) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  std::size_t wanted = kReadBytes;
  while (true) {
    buffer_.resize(wanted);
    const std::span<const std::byte> bytes =
        std::span(buffer_).first(read_at(descriptor, buffer_, file.at));
    std::size_t used = 0;
    if (file.at == 0) {
      if (bytes.size() < sizeof(segments::FileHeader)) break;
      const auto header = copied<segments::FileHeader>(bytes);
      file.broken = header.magic != segments::kMagic || header.header_bytes < sizeof(segments::FileHeader) ||
                    header.header_bytes > bytes.size();
      if (file.broken) break;
      file.pid = header.pid;
      used = header.header_bytes;
    }
    std::size_t needed = 0;  // of a record that is not whole here
    while (bytes.size() - used >= sizeof(segments::Head)) {
      const auto head = copied<segments::Head>(bytes.subspan(used));
      if (head.kind == segments::Kind::kEnd) break;  // not written yet
      file.broken = head.bytes < sizeof(segments::Head) || head.bytes % 8 != 0 || head.bytes > kMostRecordBytes;
      if (file.broken) break;
      if (bytes.size() - used < head.bytes) {
        needed = head.bytes;
        break;
      }
      const SegmentRecord record{file.pid, head.kind, bytes.subspan(used, head.bytes)};
      if (head.kind == segments::Kind::kName && head.bytes >= sizeof(segments::Name)) {
        const auto name = record.as<segments::Name>();
        const auto text = record.bytes.subspan(sizeof(segments::Name));
        names_[{file.pid, name.id}] = std::string(reinterpret_cast<const char*>(text.data()),
                                                  std::min<std::size_t>(name.length, text.size()));
      }
      visit(record);
      used += head.bytes;
    }
    file.at += used;
    const bool more = bytes.size() == wanted && (used > 0 || needed > wanted);
    if (file.broken || !more) break;
    wanted = std::max(kReadBytes, needed);
  }
  ::close(descriptor);
}

std::string_view SegmentTail::name(int pid, uint32_t id) const {
  const auto found = names_.find({pid, id});
  return found == names_.end() ? std::string_view() : found->second;
}

}  // namespace hone::observe
