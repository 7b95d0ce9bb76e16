// Runs something that may crash in a child process that nobody else sees: no signal when it ends, no handlers of
// fork(), no output, no core file.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace hone::observe::torch {

enum class Ending { kAnswered, kCrashed, kSilent, kNoChild };

// `work` fills in `answer` in the child; it is copied back. Blocks for `milliseconds` at most. The child is a copy of
// this process with the calling thread alone: where another thread held a lock that `work` needs, it stays silent.
Ending run_apart(std::span<std::byte> answer, const std::function<void(std::span<std::byte>)>& work,
                 int milliseconds);

}  // namespace hone::observe::torch
