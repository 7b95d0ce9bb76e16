// A text that depends on who made the program, such as a fix: what speeds up a PyTorch program cannot be
// written into one that calls CUDA itself.
#pragma once

#include <string_view>

#include "trace/framework.h"

namespace hone::analyze {

// Empty where `native` holds for the framework's programs, too.
struct FrameworkText {
  std::string_view pytorch = {};
  std::string_view jax = {};
  std::string_view tensorflow = {};
  std::string_view hone = {};
  std::string_view native = {};  // for programs that call the device's libraries themselves

  constexpr std::string_view of(trace::Framework framework) const {
    const std::string_view own = framework == trace::Framework::kPyTorch      ? pytorch
                                 : framework == trace::Framework::kJax        ? jax
                                 : framework == trace::Framework::kTensorFlow ? tensorflow
                                 : framework == trace::Framework::kHone       ? hone
                                                                              : native;
    return own.empty() ? native : own;
  }
};

// What a run of ours can be told, whatever it ran on. Groups of passes go by their names in the pipeline.
inline constexpr std::string_view kFuseWithHone =
    "fuse these operators with their neighbours (passes: fold, fuse; hone lab MODEL measures what that wins)";
inline constexpr std::string_view kOtherKernelsOfHone =
    "choose kernels anew while nothing else runs (hone lab MODEL --no-cache), or try another number of "
    "threads "
    "(--threads N)";

}  // namespace hone::analyze
