// Files through POSIX calls: every system error becomes one line that names the path.
#include "core/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/open_files.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call

Error system_error(std::string_view doing, const fs::path& path, int error) {
  const auto code = error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return {code,
          fmt::format("cannot {} '{}': {}", doing, path.string(), std::generic_category().message(error))};
}

int open_retrying(const fs::path& path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// What a chain of links ends at, whether or not it is there.
fs::path link_target(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code failed;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, failed); ++i) {
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) break;
    path = path.parent_path() / target;
  }
  return path;
}

// The open descriptor that a name stands for: /dev/stdout, /dev/fd/3; -1: none.
int descriptor_named(const fs::path& path) {
  const std::string& name = path.native();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  constexpr std::string_view kFolder = "/dev/fd/";
  int number = -1;
  if (!name.starts_with(kFolder)) return -1;
  const char* end = name.data() + name.size();
  const auto [rest, failed] = std::from_chars(name.data() + kFolder.size(), end, number);
  return failed == std::errc() && rest == end ? number : -1;
}

Error is_folder(const fs::path& path) {
  return invalid(fmt::format("cannot read '{}': it is a folder, not a file", path.string()));
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  const Descriptor file(open_retrying(path, O_RDONLY | O_NONBLOCK));  // a pipe must not block the open
  if (file.value < 0) return system_error("read", path, errno);
  struct stat status {};
  if (::fstat(file.value, &status) != 0) return system_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) return is_folder(path);
  if (!S_ISREG(status.st_mode))
    return invalid(fmt::format("cannot read '{}': it is a pipe or a device, not a file", path.string()));
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->size_ = static_cast<std::size_t>(status.st_size);
  if (mapped->size_ == 0) return std::shared_ptr<const MappedFile>(std::move(mapped));
  void* data = ::mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (data == MAP_FAILED) {
    mapped->size_ = 0;
    return system_error("map", path, errno);
  }
  mapped->data_ = static_cast<const std::byte*>(data);
  mapped->path_ = path;
  mapped->stamp_ = stamp_of(status);
  internal::register_mapped(*mapped);
  return std::shared_ptr<const MappedFile>(std::move(mapped));
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  internal::unregister_mapped(*this);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::Stamp MappedFile::stamp_of(const struct stat& status) {
  return {status.st_dev, status.st_ino,
          static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec,
          static_cast<std::size_t>(status.st_size)};
}

Status MappedFile::check_unchanged() const {
  struct stat status {};
  if (data_ == nullptr || ::stat(path_.c_str(), &status) != 0) return {};
  const Stamp now = stamp_of(status);
  if (now.device != stamp_.device || now.inode != stamp_.inode) return {};
  if (now.modified_ns == stamp_.modified_ns && now.size == stamp_.size) return {};
  return corrupt(
      fmt::format("{}: was written to while it was being used: what was read may be half old and half new; "
                  "run again, and "
                  "replace the file by renaming a new one over it",
                  path_.string()));
}

Result<std::string> read_file(const fs::path& path) {
  const Descriptor file(open_retrying(path, O_RDONLY));
  if (file.value < 0) return system_error("read", path, errno);
  struct stat status {};
  if (::fstat(file.value, &status) != 0) return system_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) return is_folder(path);
  std::string text;
  if (S_ISREG(status.st_mode)) text.reserve(static_cast<std::size_t>(status.st_size));
  std::string chunk(std::size_t{1} << 16, '\0');
  while (true) {
    const ssize_t count = ::read(file.value, chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count > 0)
      text.append(chunk, 0, static_cast<std::size_t>(count));
    else if (errno != EINTR)
      return system_error("read", path, errno);
  }
}

Result<AtomicFile> AtomicFile::create(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  AtomicFile file;
  if (const int open = descriptor_named(path); open >= 0) {  // a stream: what it goes to was chosen by others
    file.path_ = path;
    file.descriptor_ = ::fcntl(open, F_DUPFD_CLOEXEC, 0);
    if (file.descriptor_ < 0) return system_error("write", path, errno);
    return file;
  }
  file.path_ = link_target(path);  // what a link points at is replaced, not the link
  std::error_code ignored;
  struct stat status {};
  const bool exists = ::stat(file.path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return invalid(fmt::format("cannot write '{}': it is a folder", path.string()));
  if (exists && !S_ISREG(status.st_mode)) {  // a pipe or a device: nothing to replace, write into it
    file.descriptor_ = open_retrying(file.path_, O_WRONLY);
    if (file.descriptor_ < 0) return system_error("write", path, errno);
    return file;
  }
  if (exists && ::access(file.path_.c_str(), W_OK) != 0) return system_error("write", path, errno);
  const fs::path folder = file.path_.has_parent_path() ? file.path_.parent_path() : fs::path(".");
  if (!fs::exists(folder, ignored))
    return not_found(
        fmt::format("cannot write '{}': the folder '{}' does not exist", path.string(), folder.string()));
  file.temporary_ = file.path_;
  file.temporary_ += fmt::format(".tmp-{}-{}", ::getpid(), counter.fetch_add(1));
  file.descriptor_ = open_retrying(file.temporary_, O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (file.descriptor_ < 0) {
    const int error = errno;
    file.temporary_.clear();
    return system_error("write", path, error);
  }
  file.unfinished_ = internal::register_unfinished(file.temporary_);
  if (exists && ::fchmod(file.descriptor_, status.st_mode & 07777) != 0)
    return system_error("keep the permissions of", path, errno);
  return file;
}

AtomicFile::~AtomicFile() { discard(); }

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  temporary_ = std::exchange(other.temporary_, {});
  unfinished_ = std::exchange(other.unfinished_, -1);
  descriptor_ = std::exchange(other.descriptor_, -1);
  position_ = std::exchange(other.position_, 0);
  buffer_ = std::exchange(other.buffer_, {});
  return *this;
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  internal::unregister_unfinished(std::exchange(unfinished_, -1));
}

Error AtomicFile::fail(int error) {
  discard();
  return system_error("write", path_, error);
}

Status AtomicFile::write_through(const char* data, std::size_t size) {
  while (size != 0) {
    const ssize_t count = ::write(descriptor_, data, std::min(size, kMaxTransfer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(errno);
    data += count;
    size -= static_cast<std::size_t>(count);
  }
  return {};
}

Status AtomicFile::flush() {
  if (descriptor_ < 0) return io_error(fmt::format("cannot write '{}': the file is closed", path_.string()));
  HONE_CHECK(write_through(buffer_.data(), buffer_.size()));
  buffer_.clear();
  return {};
}

Status AtomicFile::write(std::string_view text) {
  constexpr std::size_t kBuffer = std::size_t{1} << 16;
  if (descriptor_ < 0) return io_error(fmt::format("cannot write '{}': the file is closed", path_.string()));
  position_ += text.size();
  if (buffer_.size() + text.size() > kBuffer) HONE_CHECK(flush());
  if (text.size() > kBuffer) return write_through(text.data(), text.size());
  buffer_.append(text);
  return {};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  return write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Status AtomicFile::commit() {
  if (descriptor_ < 0) return io_error(fmt::format("cannot write '{}': the file is closed", path_.string()));
  HONE_CHECK(flush());
  // Pipes and some devices cannot be flushed to disk; that is no failure.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) return fail(errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) return fail(errno);
  if (temporary_.empty()) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return fail(errno);
  temporary_.clear();
  internal::unregister_unfinished(std::exchange(unfinished_, -1));
  return {};
}

Status write_file(const fs::path& path, std::string_view text) {
  HONE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HONE_CHECK(file.write(text));
  return file.commit();
}

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return io_error(fmt::format("cannot create the folder '{}': {}", path.string(), error.message()));
  if (!fs::is_directory(path, error))
    return invalid(fmt::format("cannot create the folder '{}': a file has that name", path.string()));
  return {};
}

Status check_folder(const fs::path& path) {
  std::error_code failed;
  fs::path there = fs::absolute(path, failed).lexically_normal();
  while (!fs::exists(there, failed) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, failed))
    return invalid(
        fmt::format("cannot create the folder '{}': '{}' is a file", path.string(), there.string()));
  if (::access(there.c_str(), W_OK | X_OK) != 0)
    return io_error(fmt::format("cannot write into the folder '{}': {}", there.string(),
                                std::generic_category().message(errno)));
  return {};
}

}  // namespace hone
