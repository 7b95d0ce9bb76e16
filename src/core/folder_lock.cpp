#include "core/folder_lock.h"

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/file.h>

namespace hone {

Result<std::unique_ptr<const Descriptor>> lock_folder(const std::filesystem::path& folder) {
  auto lock = std::make_unique<const Descriptor>(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock->value >= 0 && ::flock(lock->value, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return invalid(folder.string() +
                   ": another process is at work in this folder; end it, or take another folder");
  return lock;
}

}  // namespace hone
