// Where a thread's stacks were when they were sampled: which lines of the program's own code, and how often. Samples come
// every few milliseconds and say nothing about one step; their shares do.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace hone::trace::segments {

class StackTally {
 public:
  // A sample: "function (file:line)", innermost first. It counts for the innermost frame that is in nobody's library,
  // or for the innermost of all.
  void add(int64_t tid, std::span<const std::string_view> frames);

  // The lines that most samples of the thread fall on: "Python, 80 samples of the main thread: 41 % in step
  // (train.py:40), 22 % in encode (data.py:12)". Empty without samples.
  std::string text(int64_t main_tid) const;

 private:
  std::map<int64_t, std::map<std::string, uint64_t, std::less<>>> lines_;  // by thread: samples by line
};

}  // namespace hone::trace::segments
