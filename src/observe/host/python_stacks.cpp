#include "observe/host/python_stacks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "observe/host/mappings.h"
#include "observe/host/python_lines.h"

namespace hone::observe {
namespace {

constexpr std::size_t kMostFrames = 256, kMostThreads = 512, kMostText = 1024, kMostTable = 1 << 20;
constexpr std::size_t kDebugWords = 72;
constexpr int kTries = 3;
// Of objects: reference count, type; of those with a size, that behind them.
constexpr uint32_t kTypeOffset = 8, kSizeOffset = 16;
constexpr uint32_t kTypeName = 24;     // of a type
constexpr uint32_t kPthreadTid = 720;  // of glibc's struct pthread on x86-64, since 2.4

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_python(std::string_view file) {
  return file.starts_with("libpython3") || file.starts_with("python3");
}

// "libpython3.10.so.1.0", "python3.9" → 10, 9.
int minor_in(std::string_view file) {
  const std::size_t at = file.find("python3.");
  int minor = 0;
  if (at != std::string_view::npos) std::from_chars(file.data() + at + 8, file.data() + file.size(), minor);
  return minor;
}

struct Runtime {
  uint64_t address = 0;
  int minor = 0;
};

std::optional<Runtime> find_runtime(int pid, bool& any_python) {
  std::string_view last;
  const std::vector<Mapping> mappings = mappings_of(pid);
  for (const Mapping& mapping : mappings) {
    const std::string_view file = file_name(mapping.path);
    if (mapping.path == last || !is_python(file)) continue;
    last = mapping.path;
    any_python = true;
    const auto address = symbol_address(pid, mapping, "_PyRuntime");
    if (!address) continue;
    Runtime runtime{*address, minor_in(file)};
    ProcessMemory memory(pid);
    if (const auto version = symbol_address(pid, mapping, "Py_Version"))
      if (const auto hex = memory.value<uint64_t>(*version); hex && *hex >> 24 == 3)
        runtime.minor = static_cast<int>((*hex >> 16) & 0xff);
    return runtime;
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<PythonStacks>> PythonStacks::open(int pid) {
  bool any_python = false;
  const std::optional<Runtime> runtime = find_runtime(pid, any_python);
  if (!runtime && !any_python) return std::optional<PythonStacks>();
  if (!runtime) return unsupported("this Python does not say where its runtime is");
  std::array<uint64_t, kDebugWords> words{};
  ProcessMemory memory(pid);
  if (!memory.read(runtime->address, words.data(), sizeof(words)))
    return Error{ErrorCode::kUnsupported, "the system does not permit to read its memory"};
  std::optional<PythonLayout> layout = layout_by_debug_offsets(words);
  if (!layout) layout = layout_of_version(runtime->minor);
  if (!layout)
    return unsupported(fmt::format("Python 3.{} is not known to hone; 3.9 to 3.13 are", runtime->minor));
  return std::optional(PythonStacks(pid, runtime->address, *layout));
}

int PythonStacks::tid_of(uint64_t state) {
  if (layout_.native_thread_id != 0) return static_cast<int>(pointer(state + layout_.native_thread_id));
  return memory_.value<int32_t>(pointer(state + layout_.thread_id) + kPthreadTid).value_or(0);
}

std::vector<PythonThread> PythonStacks::threads() {
  memory_.forget();
  std::vector<PythonThread> threads;
  uint64_t interpreter = pointer(runtime_ + layout_.interpreters_head);
  for (int i = 0; interpreter != 0 && i < 16;
       ++i, interpreter = pointer(interpreter + layout_.interpreter_next)) {
    uint64_t state = pointer(interpreter + layout_.threads_head);
    for (; state != 0 && threads.size() < kMostThreads; state = pointer(state + layout_.thread_next))
      if (const int tid = tid_of(state); tid > 0) threads.push_back({tid, state});
  }
  return threads;
}

uint64_t PythonStacks::top_frame(uint64_t state) {
  const uint64_t frame = pointer(state + layout_.frame);
  return layout_.in_cframe && frame != 0 ? pointer(frame + *layout_.in_cframe) : frame;
}

std::optional<std::vector<PythonFrame>> PythonStacks::stack(const PythonThread& thread) {
  for (int i = 0; i < kTries; ++i)
    if (auto frames = try_stack(thread.state)) return frames;
  return std::nullopt;
}

std::optional<std::vector<PythonFrame>> PythonStacks::try_stack(uint64_t state) {
  memory_.forget();
  const uint64_t top = top_frame(state);
  std::vector<PythonFrame> frames;
  bool whole = true;
  uint64_t frame = top;
  for (std::size_t seen = 0; frame != 0 && seen < kMostFrames; ++seen) {
    const auto code_address = memory_.value<uint64_t>(frame + layout_.frame_code);
    if (!code_address) {
      whole = false;
      break;
    }
    const bool is_pythons =
        !layout_.frame_owner ||
        memory_.value<uint8_t>(frame + *layout_.frame_owner).value_or(0) != PythonLayout::kOwnedByC;
    if (const Code& code = code_at(*code_address); code.good && is_pythons) {
      uint64_t instruction = 0;
      if (layout_.has_instruction_address()) {
        const uint64_t at = pointer(frame + layout_.frame_instruction);
        const uint64_t begin = *code_address + layout_.instructions;
        instruction = at > begin ? at - begin : 0;
      } else {
        const int32_t number = memory_.value<int32_t>(frame + layout_.frame_instruction).value_or(0);
        instruction = static_cast<uint64_t>(std::max(number, 0)) * (layout_.minor == 10 ? 2 : 1);
      }
      frames.push_back({code.function, code.file,
                        python_line(layout_.line_table, code.lines, code.first_line,
                                    static_cast<uint32_t>(std::min<uint64_t>(instruction, UINT32_MAX)))});
    }
    frame = pointer(frame + layout_.frame_previous);
  }
  memory_.forget();
  if (!whole || top_frame(state) != top) return std::nullopt;
  return frames;
}

const PythonStacks::Code& PythonStacks::code_at(uint64_t address) {
  const auto known = codes_.find(address);
  if (known != codes_.end()) return known->second;
  return codes_[address] = read_code(address);
}

std::optional<std::string> PythonStacks::text_at(uint64_t address) {
  const auto length = memory_.value<int64_t>(address + kSizeOffset);
  if (!length || *length < 0 || *length > static_cast<int64_t>(kMostText)) return std::nullopt;
  auto text = memory_.bytes(address + layout_.text_data, static_cast<std::size_t>(*length));
  if (!text) return std::nullopt;
  // What is not ASCII stands elsewhere, in another form: a name like that is shown by its place alone.
  if (std::ranges::any_of(*text, [](char c) { return c < 0x20 || c > 0x7e; })) return "?";
  return text;
}

PythonStacks::Code PythonStacks::read_code(uint64_t address) {
  Code code;
  const uint64_t type = pointer(address + kTypeOffset);
  if (type == 0 || memory_.text(pointer(type + kTypeName)) != "code") return code;
  const auto function = text_at(pointer(address + layout_.name));
  const auto file = text_at(pointer(address + layout_.file));
  const auto first_line = memory_.value<int32_t>(address + layout_.first_line);
  const uint64_t lines = pointer(address + layout_.lines);
  const auto size = memory_.value<int64_t>(lines + kSizeOffset);
  if (!function || !file || !first_line || !size || *size < 0 || *size > static_cast<int64_t>(kMostTable))
    return code;
  const auto table = memory_.bytes(lines + layout_.bytes_data, static_cast<std::size_t>(*size));
  if (!table) return code;
  code = {*function, *file, *table, *first_line, true};
  return code;
}

}  // namespace hone::observe
