#include "tests/observe/observed_program.h"

#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/testing/source_folder.h"

extern char** environ;

namespace hone::observe::testing {
namespace {

std::filesystem::path built(const std::string& file) { return build_folder() / file; }

}  // namespace

std::string fake_cupti() { return built("fake_cuda/libcupti.so.13"); }

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

RunFolder::RunFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "hone-observe-XXXXXX").string();
  path_ = mkdtemp(pattern.data());
  const int file = open((path_ / kControlFile).c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, sizeof(Control)) != 0) std::abort();
  void* page = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  control_ = new (page) Control;
  control_->bytes = sizeof(Control);
  control_->session_pid = getpid();
}

RunFolder::~RunFolder() {
  munmap(control_, sizeof(Control));
  std::error_code failed;
  std::filesystem::remove_all(path_, failed);
}

void RunFolder::order(trace::segments::Mode mode, uint32_t mark_runtime_call) {
  Order& order = control_->order;
  order.number += 1;
  order.mode = mode;
  order.block += 1;
  order.mark_runtime_call = mark_runtime_call;
  order.number += 1;
  syscall(SYS_futex, &order.number, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

ObservedProgram::ObservedProgram(RunFolder& folder, const std::map<std::string, std::string>& more,
                                 bool observed)
    : folder_(folder) {
  std::map<std::string, std::string> variables = {
      {"CUDA_INJECTION64_PATH", built("libhone_inject.so")},
      {"LD_LIBRARY_PATH", built("fake_cuda")},
      {"HONE_OBSERVE_CUPTI", fake_cupti()},
  };
  if (observed) variables[kFolderVariable] = folder.path();
  variables.insert(more.begin(), more.end());
  int to_program[2], from_program[2];
  if (pipe2(to_program, O_CLOEXEC) != 0 || pipe2(from_program, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to_program[0], 0);
    dup2(from_program[1], 1);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    execl(built("fake_cuda/fake_cuda_program").c_str(), "fake_cuda_program", "an argument", nullptr);
    _exit(127);
  }
  close(to_program[0]);
  close(from_program[1]);
  input_ = to_program[1];
  output_ = from_program[0];
}

ObservedProgram::~ObservedProgram() {
  if (status_ < 0) {
    kill(SIGKILL);
    wait();
  }
}

void ObservedProgram::begin(const std::string& line) {
  const std::string text = line + "\n";
  if (write(input_, text.data(), text.size()) < 0) return;
}

std::string ObservedProgram::perform(const std::string& line) {
  begin(line);
  std::string said;
  for (char c; read(output_, &c, 1) == 1;) {
    said += c;
    if (said.ends_with("ok\n")) break;
  }
  return said;
}

bool ObservedProgram::order(trace::segments::Mode mode, uint32_t mark_runtime_call) {
  folder_.order(mode, mark_runtime_call);
  const uint32_t number = folder_.control().order.number;
  return eventually([&] { return slot() && slot()->obeyed == number; });
}

void ObservedProgram::kill(int signal) { ::kill(pid_, signal); }

int ObservedProgram::wait() {
  if (status_ >= 0) return status_;
  close(input_);
  int status = 0;
  waitpid(pid_, &status, 0);
  close(output_);
  status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return status_;
}

Slot* ObservedProgram::slot() {
  for (Slot& slot : folder_.control().slots) {
    if (slot.pid == pid_) return &slot;
  }
  return nullptr;
}

}  // namespace hone::observe::testing
