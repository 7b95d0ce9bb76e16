#include "observe/host/native_stacks.h"

#if defined(HONE_HAS_LIBDW) && defined(__x86_64__)

#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include <cxxabi.h>
#include <elfutils/libdwfl.h>

namespace hone::observe {
namespace {

std::string readable(const char* symbol) {
  if (symbol == nullptr) return {};
  int failed = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &failed),
                                                    std::free);
  return failed == 0 && text ? text.get() : symbol;
}

// Debug information in files of its own is not looked for: that may ask a server.
int no_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
                  char**) {
  return -1;
}

class LibdwStacks : public NativeStacks {
 public:
  explicit LibdwStacks(int pid) : pid_(pid) {}
  ~LibdwStacks() override {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }
  LibdwStacks(const LibdwStacks&) = delete;
  LibdwStacks& operator=(const LibdwStacks&) = delete;

  bool start() {
    callbacks_.find_elf = dwfl_linux_proc_find_elf;
    callbacks_.find_debuginfo = no_debug_file;
    dwfl_ = dwfl_begin(&callbacks_);
    if (dwfl_ == nullptr || dwfl_linux_proc_report(dwfl_, pid_) != 0 ||
        dwfl_report_end(dwfl_, nullptr, nullptr) != 0)
      return false;
    static const Dwfl_Thread_Callbacks kThreads = {next_thread,   get_thread, read_word,
                                                   set_registers, nullptr,    nullptr};
    return dwfl_attach_state(dwfl_, nullptr, pid_, &kThreads, this);
  }

  std::vector<uint64_t> unwind(const ThreadRegisters& registers, std::string_view stack,
                               std::size_t most) override {
    registers_ = &registers;
    stack_ = stack;
    addresses_.clear();
    most_ = most;
    dwfl_getthread_frames(dwfl_, pid_, see_frame, this);
    return addresses_;
  }

  const NativeFrame& frame(uint64_t address, bool innermost) override {
    // A return address may be behind the function's end: the call is before it.
    const uint64_t at = innermost ? address : address - 1;
    const auto [known, is_new] = frames_.try_emplace(at);
    if (is_new) known->second = find_frame(at);
    return known->second;
  }

 private:
  NativeFrame find_frame(uint64_t at) {
    NativeFrame frame;
    Dwfl_Module* module = dwfl_addrmodule(dwfl_, at);
    if (module == nullptr) return frame;
    frame.function = readable(dwfl_module_addrname(module, at));
    if (Dwfl_Line* line = dwfl_module_getsrc(module, at); line != nullptr) {
      int number = 0;
      if (const char* file = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
          file != nullptr) {
        frame.file = file;
        frame.line = number;
        return frame;
      }
    }
    const char* file = nullptr;
    const char* name = dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, &file, nullptr);
    frame.file = file != nullptr ? file : name != nullptr ? name : "";
    return frame;
  }

  static pid_t next_thread(Dwfl*, void* self, void** thread) {
    if (*thread != nullptr) return 0;
    *thread = self;
    return static_cast<LibdwStacks*>(self)->pid_;
  }
  static bool get_thread(Dwfl*, pid_t, void* self, void** thread) {
    *thread = self;
    return true;
  }
  static bool read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* self) {
    const auto& own = *static_cast<LibdwStacks*>(self);
    const uint64_t start = own.registers_->stack_pointer();
    if (address < start || address - start + sizeof(*result) > own.stack_.size()) return false;
    std::memcpy(result, own.stack_.data() + (address - start), sizeof(*result));
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* self) {
    const ThreadRegisters& registers = *static_cast<LibdwStacks*>(self)->registers_;
    for (int i = 0; i < ThreadRegisters::kCount; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Dwarf_Word value = registers.values[at];
      if (registers.known[at] && !dwfl_thread_state_registers(thread, i, 1, &value)) return false;
    }
    dwfl_thread_state_register_pc(thread, registers.values[ThreadRegisters::kInstruction]);
    return true;
  }
  static int see_frame(Dwfl_Frame* state, void* self) {
    auto& own = *static_cast<LibdwStacks*>(self);
    Dwarf_Addr address = 0;
    bool activation = false;
    if (!dwfl_frame_pc(state, &address, &activation)) return DWARF_CB_ABORT;
    own.addresses_.push_back(address);
    return own.addresses_.size() < own.most_ ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  int pid_;
  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  const ThreadRegisters* registers_ = nullptr;
  std::string_view stack_;
  std::vector<uint64_t> addresses_;
  std::size_t most_ = 0;
  std::unordered_map<uint64_t, NativeFrame> frames_;
};

}  // namespace

std::unique_ptr<NativeStacks> NativeStacks::open(int pid) {
  auto stacks = std::make_unique<LibdwStacks>(pid);
  if (!stacks->start()) return nullptr;
  return stacks;
}

}  // namespace hone::observe

#else

namespace hone::observe {

std::unique_ptr<NativeStacks> NativeStacks::open(int) { return nullptr; }

}  // namespace hone::observe

#endif
