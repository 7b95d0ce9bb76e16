// The stacks of a Python process's threads, read from outside while it runs: nothing is done inside of it, neither its
// global lock nor a signal is needed, and a thread that waits, or holds the lock in native code, shows where it
// is like any other. CPython 3.9 to 3.13 on 64-bit Linux.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "observe/host/process_memory.h"
#include "observe/host/python_layout.h"

namespace hone::observe {

struct PythonFrame {
  std::string_view function;  // qualified from 3.11 on; valid as long as the reader
  std::string_view file;
  int32_t line = 0;
};

struct PythonThread {
  int tid = 0;
  uint64_t state = 0;  // its address
};

// Not thread-safe.
class PythonStacks {
 public:
  // Nothing: no Python runs there. Errors: one does, and cannot be read; the message says why.
  static Result<std::optional<PythonStacks>> open(int pid);

  // Threads that Python knows.
  std::vector<PythonThread> threads();
  // Innermost first. Nothing: the thread changed its stack while it was read, three times in a row.
  std::optional<std::vector<PythonFrame>> stack(const PythonThread& thread);

 private:
  struct Code {
    std::string function, file, lines;
    int32_t first_line = 0;
    bool good = false;
  };

  PythonStacks(int pid, uint64_t runtime, const PythonLayout& layout)
      : memory_(pid), runtime_(runtime), layout_(layout) {}

  uint64_t pointer(uint64_t address) { return memory_.value<uint64_t>(address).value_or(0); }
  uint64_t top_frame(uint64_t state);
  std::optional<std::vector<PythonFrame>> try_stack(uint64_t state);
  const Code& code_at(uint64_t address);
  Code read_code(uint64_t address);
  std::optional<std::string> text_at(uint64_t address);
  int tid_of(uint64_t state);

  ProcessMemory memory_;
  uint64_t runtime_;
  PythonLayout layout_;
  std::unordered_map<uint64_t, Code> codes_;  // by address; good for some seconds: code seldom goes
};

}  // namespace hone::observe
