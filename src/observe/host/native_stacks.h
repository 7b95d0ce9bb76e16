// Stacks of native code of another process, by the unwind tables of its ELF files (elfutils' libdwfl): code without frame
// pointers, as distributions and wheels have it, is followed, too. x86-64; elsewhere, and where hone was built without
// libdw, there are none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hone::observe {

// Where a thread is: the registers that are known, by their DWARF numbers, and what lies on its stack.
struct ThreadRegisters {
  static constexpr int kCount = 17;
  static constexpr int kStackPointer = 7, kInstruction = 16;
  std::array<uint64_t, kCount> values{};
  std::array<bool, kCount> known{};

  void set(int number, uint64_t value) {
    values[static_cast<std::size_t>(number)] = value;
    known[static_cast<std::size_t>(number)] = true;
  }
  uint64_t stack_pointer() const { return values[kStackPointer]; }
};

struct NativeFrame {
  std::string function;  // demangled; empty: not known
  std::string file;      // of the source, where the binary tells it, else of the binary
  int32_t line = 0;
};

// Not thread-safe.
class NativeStacks {
 public:
  // The process's ELF files as they are mapped now. Null: they cannot be read, or this hone cannot.
  static std::unique_ptr<NativeStacks> open(int pid);
  virtual ~NativeStacks() = default;

  // Addresses of code, innermost first; `stack` is what lies from the stack's pointer on.
  virtual std::vector<uint64_t> unwind(const ThreadRegisters& registers, std::string_view stack,
                                       std::size_t most) = 0;
  // Of an address that unwind() gave; remembered.
  virtual const NativeFrame& frame(uint64_t address, bool innermost) = 0;
};

}  // namespace hone::observe
