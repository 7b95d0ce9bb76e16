// A file descriptor that is closed when its scope ends.
#pragma once

#include <unistd.h>

namespace hone {

struct Descriptor {
  int value = -1;  // below 0: none
  explicit Descriptor(int descriptor) : value(descriptor) {}
  ~Descriptor() {
    if (value >= 0) ::close(value);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

}  // namespace hone
