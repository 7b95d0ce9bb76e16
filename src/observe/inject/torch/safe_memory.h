// Reads memory that may not be there: the learner follows every word that could be a pointer.
#pragma once

#include <cstddef>

namespace hone::observe::torch {

class SafeMemory {
 public:
  SafeMemory();
  ~SafeMemory();
  SafeMemory(const SafeMemory&) = delete;
  SafeMemory& operator=(const SafeMemory&) = delete;

  // Copies up to 4096 bytes; false if not all of them can be read. No signal is raised.
  bool read(const void* from, void* into, std::size_t bytes) const;

  template <typename T>
  bool read(const void* from, T& into) const {
    return read(from, &into, sizeof(T));
  }

 private:
  int pipe_[2] = {-1, -1};
};

}  // namespace hone::observe::torch
