// Where CPython keeps what a stack is made of: offsets in its structures, by version. From 3.13 on the interpreter says most
// of them itself (_Py_DebugOffsets, at the beginning of _PyRuntime); for the versions before, they are those of the
// headers (Include/internal/pycore_{interp,runtime,frame}.h, Include/cpython/{code,pystate,unicodeobject}.h), which
// do not change within a minor version. Builds with --with-pydebug have other ones: their frames fail every check.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace hone::observe {

// How a code object tells the lines of its instructions.
enum class LineTable : uint8_t { kPairs39, kPairs310, kLocations };

struct PythonLayout {
  int minor = 0;  // of version 3
  // Of _PyRuntime, and of an interpreter.
  uint32_t interpreters_head = 0, interpreter_next = 0, threads_head = 0;
  // Of a thread's state. 0 for `native_thread_id`: it has the pthread_t alone.
  uint32_t thread_next = 8, thread_id = 0, native_thread_id = 0;
  uint32_t frame = 0;                 // the innermost frame, or what points to it:
  std::optional<uint32_t> in_cframe;  // the offset in that
  // Of a frame.
  uint32_t frame_code = 0, frame_previous = 0, frame_instruction = 0;
  std::optional<uint32_t> frame_owner;  // a byte: kOwnedByC for what the interpreter puts between frames
  // Of a code object.
  uint32_t file = 0, name = 0, lines = 0, first_line = 0, instructions = 0;
  LineTable line_table = LineTable::kLocations;
  // Of a string that is ASCII, and of a bytes object: where the characters begin.
  uint32_t text_data = 40, bytes_data = 32;

  static constexpr uint8_t kOwnedByC = 3;
  // Whether a frame's instruction is an address; before 3.11 it is a number.
  bool has_instruction_address() const { return minor >= 11; }
};

// Of versions 3.9 to 3.12; nothing: another.
std::optional<PythonLayout> layout_of_version(int minor);

// What the interpreter says: the words at the beginning of _PyRuntime, 72 at least. Nothing: it says nothing, or
// is one without the global lock, or of another version than 3.13.
std::optional<PythonLayout> layout_by_debug_offsets(std::span<const uint64_t> words);

}  // namespace hone::observe
