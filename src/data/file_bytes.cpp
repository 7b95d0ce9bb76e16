#include "data/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/hash.h"

namespace hone::data {
namespace {

constexpr std::size_t kMostPerCall = std::size_t{1} << 30;  // Linux moves at most 2 GiB a call

Error read_error(const std::filesystem::path& path, int error) {
  return {error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
          fmt::format("cannot read '{}': {}", path.string(), std::generic_category().message(error))};
}

// Reads up to data.size() bytes from `offset`; fewer at the end of the file.
Result<std::size_t> read_at(int descriptor, std::span<std::byte> data, uint64_t offset,
                            const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < data.size()) {
    const ssize_t count = ::pread(descriptor, data.data() + done, std::min(data.size() - done, kMostPerCall),
                                  static_cast<off_t>(offset + done));
    if (count == 0) break;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return read_error(path, errno);
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

Result<FileBytes> FileBytes::read(const std::filesystem::path& path, StageTimes& times, std::size_t most) {
  const StageTimer timer(times, Stage::kRead);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0) return read_error(path, errno);
  struct stat status {};
  if (::fstat(file.value, &status) != 0) return read_error(path, errno);
  if (!S_ISREG(status.st_mode))
    return invalid(fmt::format("cannot read '{}': it is not a file", path.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > most)
    return unsupported(fmt::format("{}: its {} bytes are over the limit of {}", path.string(), size, most));
  FileBytes result;
  result.data_ = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(size, 1));
  HONE_ASSIGN(result.size_, read_at(file.value, {result.data_.get(), size}, 0, path));
  return result;
}

Result<FileBytes> FileBytes::read_part(const std::filesystem::path& path, uint64_t offset, std::size_t size,
                                       StageTimes& times) {
  const StageTimer timer(times, Stage::kRead);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0) return read_error(path, errno);
  struct stat status {};
  if (::fstat(file.value, &status) != 0) return read_error(path, errno);
  const auto whole = static_cast<uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || offset > whole || size > whole - offset)
    return corrupt(fmt::format("{}: bytes {} to {} should be there, but it has {}", path.string(), offset,
                               offset + size, whole));
  FileBytes result;
  result.data_ = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(size, 1));
  HONE_ASSIGN(result.size_, read_at(file.value, {result.data_.get(), size}, offset, path));
  if (result.size_ != size)
    return corrupt(fmt::format("{}: it became shorter while it was read", path.string()));
  return result;
}

uint64_t file_version(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return fnv1a(fmt::format("{}|{}|{}.{}", path.string(), status.st_size, status.st_mtim.tv_sec,
                           status.st_mtim.tv_nsec));
}

}  // namespace hone::data
