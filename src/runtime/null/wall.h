// Memory that the host cannot touch: pages without any right, but while an Opening lives. What a device of
// its own does by having its memory elsewhere, done with the means of the host: whoever follows a device
// address outside the device's queue crashes, in every test and without any GPU.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "core/result.h"

namespace hone::runtime {

// Thread-safe.
class Wall {
 public:
  Wall() = default;
  ~Wall();
  Wall(const Wall&) = delete;
  Wall& operator=(const Wall&) = delete;

  // Aligned to kTensorAlignment, filled with 0xff (a NaN in every float format). The page behind a block is
  // never opened: kernels that run over its end crash, too.
  Result<std::byte*> allocate(std::size_t bytes);
  void release(std::byte* block);
  // Whether `address` lies in a block.
  bool holds(const void* address) const;

  // The blocks can be read and written while one of these lives; also those allocated meanwhile.
  class Opening {
   public:
    explicit Opening(Wall& wall) : wall_(wall) { wall_.open(); }
    ~Opening() { wall_.close(); }
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;

   private:
    Wall& wall_;
  };

 private:
  struct Pages {
    std::byte* start = nullptr;
    std::size_t bytes = 0;  // that open; one closed page follows
  };
  void open();
  void close();
  void protect(const Pages& pages, bool opened) const;

  mutable std::mutex mutex_;
  std::map<const std::byte*, Pages> blocks_;  // by address
  int openings_ = 0;
};

}  // namespace hone::runtime
