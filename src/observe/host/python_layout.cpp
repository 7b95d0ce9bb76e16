#include "observe/host/python_layout.h"

#include <cstring>
#include <string_view>

namespace hone::observe {
namespace {

constexpr PythonLayout kPython39 = {.minor = 9,
                                    .interpreters_head = 32,
                                    .interpreter_next = 0,
                                    .threads_head = 8,
                                    .thread_id = 176,
                                    .frame = 24,
                                    .in_cframe = std::nullopt,
                                    .frame_code = 32,
                                    .frame_previous = 24,
                                    .frame_instruction = 104,
                                    .frame_owner = std::nullopt,
                                    .file = 104,
                                    .name = 112,
                                    .lines = 120,
                                    .first_line = 40,
                                    .line_table = LineTable::kPairs39,
                                    .text_data = 48};

constexpr PythonLayout python310() {
  PythonLayout layout = kPython39;
  layout.minor = 10;
  layout.frame_instruction = 96;
  layout.line_table = LineTable::kPairs310;
  return layout;
}

constexpr PythonLayout kPython311 = {.minor = 11,
                                     .interpreters_head = 40,
                                     .interpreter_next = 0,
                                     .threads_head = 16,
                                     .thread_id = 152,
                                     .native_thread_id = 160,
                                     .frame = 56,
                                     .in_cframe = 8,
                                     .frame_code = 32,
                                     .frame_previous = 48,
                                     .frame_instruction = 56,
                                     .frame_owner = std::nullopt,
                                     .file = 112,
                                     .name = 128,  // the qualified one
                                     .lines = 136,
                                     .first_line = 72,
                                     .instructions = 184,
                                     .text_data = 48};

constexpr PythonLayout kPython312 = {.minor = 12,
                                     .interpreters_head = 40,
                                     .interpreter_next = 0,
                                     .threads_head = 72,
                                     .thread_id = 136,
                                     .native_thread_id = 144,
                                     .frame = 56,
                                     .in_cframe = 0,
                                     .frame_code = 0,
                                     .frame_previous = 8,
                                     .frame_instruction = 56,
                                     .frame_owner = 70,
                                     .file = 112,
                                     .name = 128,
                                     .lines = 136,
                                     .first_line = 68,
                                     .instructions = 192};

// Places of words in _Py_DebugOffsets of 3.13.
enum DebugOffset : std::size_t {
  kCookie = 0,
  kVersion = 1,
  kFreeThreaded = 2,
  kInterpretersHead = 5,
  kInterpreterNext = 8,
  kThreadsHead = 9,
  kThreadNext = 21,
  kCurrentFrame = 23,
  kThreadId = 24,
  kNativeThreadId = 25,
  kFramePrevious = 29,
  kFrameExecutable = 30,
  kFrameInstruction = 31,
  kFrameOwner = 33,
  kCodeFile = 35,
  kCodeQualifiedName = 37,
  kCodeLines = 38,
  kCodeFirstLine = 39,
  kCodeInstructions = 43,
  kBytesData = 66,
  kTextData = 70,
  kDebugOffsets
};

}  // namespace

std::optional<PythonLayout> layout_of_version(int minor) {
  switch (minor) {
    case 9:
      return kPython39;
    case 10:
      return python310();
    case 11:
      return kPython311;
    case 12:
      return kPython312;
    default:
      return std::nullopt;
  }
}

std::optional<PythonLayout> layout_by_debug_offsets(std::span<const uint64_t> words) {
  constexpr std::string_view kSays = "xdebugpy";
  if (words.size() <= kTextData || std::memcmp(&words[kCookie], kSays.data(), kSays.size()) != 0)
    return std::nullopt;
  const uint64_t version = words[kVersion];  // PY_VERSION_HEX
  if (version >> 24 != 3 || ((version >> 16) & 0xff) != 13 || words[kFreeThreaded] != 0) return std::nullopt;
  const auto word = [&](DebugOffset at) { return static_cast<uint32_t>(words[at]); };
  PythonLayout layout;
  layout.minor = 13;
  layout.interpreters_head = word(kInterpretersHead);
  layout.interpreter_next = word(kInterpreterNext);
  layout.threads_head = word(kThreadsHead);
  layout.thread_next = word(kThreadNext);
  layout.thread_id = word(kThreadId);
  layout.native_thread_id = word(kNativeThreadId);
  layout.frame = word(kCurrentFrame);
  layout.frame_code = word(kFrameExecutable);
  layout.frame_previous = word(kFramePrevious);
  layout.frame_instruction = word(kFrameInstruction);
  layout.frame_owner = word(kFrameOwner);
  layout.file = word(kCodeFile);
  layout.name = word(kCodeQualifiedName);
  layout.lines = word(kCodeLines);
  layout.first_line = word(kCodeFirstLine);
  layout.instructions = word(kCodeInstructions);
  layout.text_data = word(kTextData);
  layout.bytes_data = word(kBytesData);
  return layout;
}

}  // namespace hone::observe
