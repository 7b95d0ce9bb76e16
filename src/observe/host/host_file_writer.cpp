#include "observe/host/host_file_writer.h"

#include <ctime>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/clock.h"

namespace hone::observe {
namespace {

namespace segments = trace::segments;

constexpr std::size_t kWriteFrom = 1 << 16;

int64_t realtime_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

template <typename Record>
std::string_view bytes_of(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof(Record)};
}

}  // namespace

Result<HostFileWriter> HostFileWriter::create(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / segments::kHostFile;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return io_error(fmt::format("'{}' cannot be written", path.string()));
  HostFileWriter writer(file);
  segments::FileHeader header;
  header.monotonic_ns = now_ns();
  header.realtime_ns = realtime_ns();
  header.pid = ::getpid();
  header.parent_pid = ::getppid();
  writer.buffer_ += bytes_of(header);
  return writer;
}

HostFileWriter::HostFileWriter(HostFileWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      buffer_(std::move(other.buffer_)),
      names_(std::move(other.names_)),
      frames_(std::move(other.frames_)) {}

HostFileWriter::~HostFileWriter() {
  flush();
  if (file_ >= 0) ::close(file_);
}

template <typename Record>
void HostFileWriter::add(const Record& record, std::string_view following) {
  const Record whole = segments::with_head(record, static_cast<uint32_t>(following.size()));
  buffer_ += bytes_of(whole);
  buffer_ += following;
  buffer_.append((8 - following.size() % 8) % 8, '\0');
  if (buffer_.size() >= kWriteFrom) flush();
}

uint32_t HostFileWriter::name(std::string_view text) {
  if (text.empty()) return segments::kNoName;
  if (const auto known = names_.find(text); known != names_.end()) return known->second;
  segments::Name record;
  record.id = static_cast<uint32_t>(names_.size() + 1);
  record.length = static_cast<uint32_t>(text.size());
  add(record, text);
  return names_[std::string(text)] = record.id;
}

void HostFileWriter::process(int pid, int parent, std::string_view command) {
  segments::HostProcess record;
  record.pid = pid;
  record.parent = parent;
  record.command = name(command);
  add(record, {});
}

uint32_t HostFileWriter::frame(segments::StackKind what, std::string_view function, std::string_view file,
                               int32_t line) {
  segments::HostFrame record;
  record.what = what;
  record.function = name(function);
  record.file = name(file);
  record.line = line;
  const auto number = static_cast<uint32_t>(frames_.size() + 1);
  const auto [at, is_new] =
      frames_.emplace(std::tuple(static_cast<uint32_t>(what), record.function, record.file, line), number);
  record.id = at->second;
  if (is_new) add(record, {});
  return at->second;
}

void HostFileWriter::sample(segments::HostSample sample, std::span<const uint32_t> python,
                            std::span<const uint32_t> native) {
  sample.python = static_cast<uint32_t>(python.size());
  sample.native = static_cast<uint32_t>(native.size());
  std::string frames;
  for (const auto& stack : {python, native})
    frames.append(reinterpret_cast<const char*>(stack.data()), stack.size_bytes());
  add(sample, frames);
}

void HostFileWriter::use(const segments::HostUse& use) { add(use, {}); }

void HostFileWriter::note(std::string_view text) {
  segments::Note record;
  record.time_ns = now_ns();
  record.text = name(text);
  add(record, {});
}

void HostFileWriter::flush() {
  std::string_view rest = buffer_;
  while (file_ >= 0 && !rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written <= 0) {  // the disk is full: half a record at the end ends the file for its readers
      ::close(std::exchange(file_, -1));
      break;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

}  // namespace hone::observe
