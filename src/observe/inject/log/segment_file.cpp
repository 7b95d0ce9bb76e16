#include "observe/inject/log/segment_file.h"

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hone::observe::inject {
namespace {

// A write past RLIMIT_FSIZE raises SIGXFSZ, which ends a program that does not expect it. While this lives, the
// calling thread is told by the write's result instead.
class NoSignalOfFileSize {
 public:
  NoSignalOfFileSize() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~NoSignalOfFileSize() {
    const int kept = errno;
    const timespec now = {0, 0};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &now) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = kept;
  }
  NoSignalOfFileSize(const NoSignalOfFileSize&) = delete;
  NoSignalOfFileSize& operator=(const NoSignalOfFileSize&) = delete;

 private:
  sigset_t signal_, before_;
  bool was_pending_ = false;
};

}  // namespace

bool SegmentFile::create(const char* run_folder, const trace::segments::FileHeader& header) {
  char path[sizeof(path_)];
  int length = std::snprintf(path, sizeof(path), "%s/%s", run_folder, trace::segments::kFolder);
  if (length <= 0 || length > static_cast<int>(sizeof(path)) - 64) return errno = ENAMETOOLONG, false;
  mkdir(path, 0777);
  std::snprintf(path + length, sizeof(path) - static_cast<size_t>(length), "/%d-%lld%s", header.pid,
                static_cast<long long>(header.monotonic_ns), trace::segments::kExtension);
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
  if (file < 0) return false;
  const iovec part = {const_cast<trace::segments::FileHeader*>(&header), sizeof(header)};
  const bool written = write_all(file, &part, 1);
  const int error = errno;
  close(file);
  if (!written) {
    unlink(path);
    return errno = error, false;
  }
  std::snprintf(path_, sizeof(path_), "%s", path);
  return true;
}

bool SegmentFile::append(const iovec* parts, int count) {
  if (!exists()) return errno = EIO, false;
  const int file = open(path_, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return false;
  const bool written = write_all(file, parts, count);
  const int error = errno;
  close(file);
  return errno = error, written;
}

bool SegmentFile::write_all(int file, const iovec* parts, int count) {
  NoSignalOfFileSize no_signal;
  const uint64_t before = bytes_;
  uint64_t after = before;
  for (int i = 0; i < count; ++i) {
    const char* at = static_cast<const char*>(parts[i].iov_base);
    for (size_t left = parts[i].iov_len; left > 0;) {
      const ssize_t wrote = write(file, at, left);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        const int error = wrote < 0 ? errno : ENOSPC;
        if (ftruncate(file, static_cast<off_t>(before)) != 0)
          path_[0] = 0;  // damaged: nothing more goes there
        return errno = error, false;
      }
      at += wrote;
      left -= static_cast<size_t>(wrote);
      after += static_cast<uint64_t>(wrote);
    }
  }
  bytes_ = after;
  return true;
}

}  // namespace hone::observe::inject
