// The library's square matrix product, prepacked: the highest rate that real operators can hope for. Square,
// large and with weights in the library's own format; nothing here is for running models (kernels/cpu/dnnl
// is).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/dtype.h"
#include "core/result.h"

namespace hone::kernels::roof {

class GemmProbe {
 public:
  // n × n by n × n. f32; bf16 with f32 result; i8 (u8 by i8) with i32 result. `unsupported` where the library
  // has no vectorised implementation on this CPU. Create and run under the same OpenMP thread count.
  static Result<GemmProbe> create(DType dtype, int64_t n);
  ~GemmProbe();
  GemmProbe(GemmProbe&&) noexcept;
  GemmProbe& operator=(GemmProbe&&) noexcept;

  Status run();
  double operations() const;                  // multiplications plus additions of a run
  const std::string& implementation() const;  // the library's name for it

 private:
  struct State;
  explicit GemmProbe(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// "2.6.3".
std::string dnnl_version_text();

}  // namespace hone::kernels::roof
