// What advice must be like, for the tests of all rules: it begins with what to do, and it names no framework but
// the program's own.
#pragma once

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <string_view>

#include "trace/framework.h"

namespace hone::analyze::words {

// The actions that advice begins with; a new one is added here.
inline constexpr std::string_view kActions[] = {
    "accumulate", "add",     "allocate", "allow",    "begin",   "cache", "call",    "check",   "choose",
    "collect",    "compile", "compute",  "convert",  "copy",    "cut",   "do",      "drive",   "explain",
    "find",       "fix",     "fuse",     "gather",   "give",    "join",  "keep",    "leave",   "let",
    "look",       "make",    "move",     "multiply", "overlap", "pad",   "prepare", "profile", "propagate",
    "put",        "read",    "reduce",   "remove",   "reuse",   "run",   "set",     "sort",    "split",
    "take",       "try",     "update",   "use",      "widen",   "write"};

inline bool begins_with_an_action(std::string_view advice) {
  const auto end =
      std::find_if_not(advice.begin(), advice.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  const std::string_view word(advice.begin(), end);
  return std::find(std::begin(kActions), std::end(kActions), word) != std::end(kActions);
}

struct FrameworkName {
  std::string_view name;
  trace::Framework framework;
};

// What only programs of one framework can be told.
inline constexpr FrameworkName kNamesOfFrameworks[] = {
    {"torch", trace::Framework::kPyTorch},
    {"nn.", trace::Framework::kPyTorch},
    {"F.", trace::Framework::kPyTorch},
    {"DataLoader", trace::Framework::kPyTorch},
    {"FSDP", trace::Framework::kPyTorch},
    {"DistributedDataParallel", trace::Framework::kPyTorch},
    {"AccumulateGrad", trace::Framework::kPyTorch},
    {".item()", trace::Framework::kPyTorch},
    {".cpu()", trace::Framework::kPyTorch},
    {".sum()", trace::Framework::kPyTorch},
    {"channels_last", trace::Framework::kPyTorch},
    {"fused=True", trace::Framework::kPyTorch},
    {"enable_gqa", trace::Framework::kPyTorch},
    {"with_stack", trace::Framework::kPyTorch},
    {"index_add_", trace::Framework::kPyTorch},
    {"repeat_interleave", trace::Framework::kPyTorch},
    {"Conv2d", trace::Framework::kPyTorch},
    {"conv1d", trace::Framework::kPyTorch},
    {"jax", trace::Framework::kJax},
    {"jnp", trace::Framework::kJax},
    {"lax.", trace::Framework::kJax},
    {"XLA", trace::Framework::kJax},
    {"Flax", trace::Framework::kJax},
    {"tf.function", trace::Framework::kTensorFlow},
    {"tf.keras", trace::Framework::kTensorFlow},
    {"tf.config", trace::Framework::kTensorFlow},
    {"jit_compile", trace::Framework::kTensorFlow},
    {"--lossy", trace::Framework::kHone},
    {"(pass", trace::Framework::kHone},
    {"CUBLAS_", trace::Framework::kNative},
    {"CUDNN_", trace::Framework::kNative},
    {"cublas", trace::Framework::kNative},
    {"cudaStream", trace::Framework::kNative},
    {"cudaMemcpy", trace::Framework::kNative},
    {"CUDA_MODULE", trace::Framework::kNative}};

inline bool names(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
    if (at == 0 || name.front() == '.' ||
        (std::isalpha(static_cast<unsigned char>(text[at - 1])) == 0 && text[at - 1] != '.'))
      return true;
  return false;
}

// The first name in `text` that a program of `framework` has no use for; empty: none. TensorFlow, whose advice is
// not written for every rule, is told for the others what is told to programs that call the device
// themselves. A text for programs of any framework may hold no name at all: `framework` is none.
inline std::string_view foreign_name(std::string_view text, std::optional<trace::Framework> framework) {
  const auto may_name = [&](trace::Framework of) {
    return framework == of || (framework == trace::Framework::kTensorFlow && of == trace::Framework::kNative);
  };
  for (const FrameworkName& row : kNamesOfFrameworks)
    if (!may_name(row.framework) && names(text, row.name)) return row.name;
  return {};
}

}  // namespace hone::analyze::words
