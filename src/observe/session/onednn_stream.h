// What oneDNN says of every primitive that it runs (ONEDNN_VERBOSE), taken out of a program's standard output: oneDNN has no
// other place for it. The rest of the output arrives as it was written, only through a pipe.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/result.h"

namespace hone::observe {

// Divides a stream that comes in pieces. A line of oneDNN may begin in the middle of one of the program's.
class OneDnnFilter {
 public:
  using Take = std::function<void(std::string_view)>;
  // `others` gets the program's own bytes, `lines` those of oneDNN's lines with their ends.
  OneDnnFilter(Take others, Take lines) : others_(std::move(others)), lines_(std::move(lines)) {}

  void take(std::string_view piece);
  // What may still become the beginning of a line of oneDNN is the program's.
  void give_up_waiting();
  bool waits() const { return !within_ && !held_.empty(); }

 private:
  Take others_, lines_;
  std::string held_;     // outside of a line: the beginning of a mark; within: the line so far
  bool within_ = false;  // a line of oneDNN
};

class OneDnnStream {
 public:
  // Writes the lines of oneDNN to `log`, which is made with the first, and everything else to `output`.
  static Result<std::unique_ptr<OneDnnStream>> open(int output, std::filesystem::path log);
  ~OneDnnStream();
  OneDnnStream(const OneDnnStream&) = delete;
  OneDnnStream& operator=(const OneDnnStream&) = delete;

  // What the program's standard output is to be.
  int program_end() const { return write_end_; }
  static std::vector<std::pair<std::string, std::string>> environment();

  // Once the program has been started: only it holds its end now.
  void program_has_started();
  // Once the program has ended: waits for what is still in the pipe, and no longer for processes that it left behind.
  void finish();

 private:
  OneDnnStream(int read_end, int write_end, int wake, int output, std::filesystem::path log);
  void run();

  int read_end_, write_end_, wake_, output_;
  std::filesystem::path log_path_;
  int log_ = -1;
  bool failed_ = false;  // to write the log: the program's output goes on
  std::thread thread_;
};

}  // namespace hone::observe
