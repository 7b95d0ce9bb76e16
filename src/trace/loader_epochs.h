// How a program's data loader prepares batches, as a recorder inside the program sees it each time that the loader begins an epoch.
// Analysis foretells by it what other processes would change.
#pragma once

#include <cstdint>

namespace hone::trace {

// What is known of an epoch that began, at the last moment that it was looked at.
struct LoaderEpoch {
  int rank = 0;
  int32_t loader = 0;       // counts the data loaders of its process
  int32_t workers = 0;      // processes that prepare batches; 0: the program does it itself
  int32_t prefetch = 0;     // batches that each of them may be ahead
  bool persistent = false;  // they live on from epoch to epoch
  bool forked = false;      // they begin as copies of the program, and not as programs of their own
  int64_t batches = -1;     // of an epoch; -1: not known before its end
  int64_t batch_size = -1;  // samples; -1: the program puts batches together itself
  int64_t start_ns = 0;     // when the epoch was asked for, on the trace's clock
  int64_t delivered = 0;    // batches so far
  int64_t starting_ns =
      0;  // that starting the processes took, before the first batch was asked for; 0: they were there
  int64_t ending_ns = 0;  // that ending those of the epoch before took; 0: none ended
  int64_t cpu_ns = 0;     // that they have taken of CPUs so far
  int32_t cpus = 0;       // that the program may use; 0: not known
  int32_t cores = 0;      // that these are on

  friend bool operator==(const LoaderEpoch&, const LoaderEpoch&) = default;
};

}  // namespace hone::trace
