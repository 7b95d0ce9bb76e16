// The file of a process in the run folder's segments/. It is opened for each write and holds no descriptor in
// between: programs close descriptors that they do not know (daemons), and would then write their own data where
// ours stood.
#pragma once

#include <cstdint>

#include <sys/uio.h>

#include "trace/segments/record.h"

namespace hone::observe::inject {

class SegmentFile {
 public:
  // Makes the file with its header. False, with errno, where that cannot be.
  bool create(const char* run_folder, const trace::segments::FileHeader& header);
  bool exists() const { return path_[0] != 0; }
  const char* path() const { return path_; }

  // Appends all of it or nothing: what a full disk or a limit leaves half written is cut off again. False, with errno, where
  // that cannot be.
  bool append(const iovec* parts, int count);

  uint64_t bytes() const { return bytes_; }

  // In the child of a fork.
  void forget() { path_[0] = 0, bytes_ = 0; }

 private:
  bool write_all(int file, const iovec* parts, int count);

  char path_[4096] = {};
  uint64_t bytes_ = 0;  // of whole records
};

}  // namespace hone::observe::inject
