// Copies an f32 tensor N, C, spatial… from one layout to another, on oneDNN.
#pragma once

#include <memory>
#include <string>

#include "core/layout.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels {

namespace onednn {
class Execution;
}

class Reorder {
 public:
  static Result<std::unique_ptr<Reorder>> create(const Shape& shape, Layout from, Layout to);

  ~Reorder();
  Reorder(const Reorder&) = delete;
  Reorder& operator=(const Reorder&) = delete;

  const std::string& name() const;
  std::size_t scratch_bytes() const;

  // Channel padding of a blocked dst becomes zero. src and dst must not overlap.
  Status execute(const void* src, void* dst, void* scratch) noexcept;

 private:
  explicit Reorder(std::unique_ptr<onednn::Execution> execution);

  std::unique_ptr<onednn::Execution> execution_;
};

}  // namespace hone::kernels
