// A program that uses the fake CUDA and hone's interface for hooks, one line of its input after the other; after each
// it writes "ok". At the end of its input it exits with 0.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/inject/nvtx_abi.h"
#include "observe/inject/testing/fake_cuda.h"
#include "trace/segments/record.h"

namespace {

namespace nvtx = hone::observe::inject::nvtx;
namespace segments = hone::trace::segments;

// As a hook gets at the library: by its path. Does nothing where there is none.
template <typename Function>
Function* of_hone(const char* name) {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
  if (!library) return nullptr;
  return reinterpret_cast<Function*>(dlsym(library, name));
}

uint32_t intern(const std::string& text) {
  return of_hone<uint32_t(const char*)>("hone_intern")(text.c_str());
}
void mark(const std::string& name) {
  of_hone<void(uint32_t, uint32_t)>("hone_mark")(static_cast<uint32_t>(segments::MarkKind::kUser),
                                                 intern(name));
}
uint64_t begin_range(const std::string& name) {
  return of_hone<uint64_t(uint32_t, uint32_t, uint32_t, int64_t)>("hone_range_begin")(
      static_cast<uint32_t>(segments::RangeKind::kOperator), intern(name), intern("f32[2,3]"), 17);
}
void end_range(uint64_t token) { of_hone<void(uint64_t)>("hone_range_end")(token); }

// A step of training as hooks see it: operators around launches, the optimizer's mark, and the program waits.
void one_step() {
  for (const char* name : {"aten::mm", "aten::relu", "aten::mm"}) {
    const uint64_t range = begin_range(name);
    fake_runtime_launch(std::strcmp(name, "aten::mm") == 0 ? "gemm" : "_Z4reluPf");
    usleep(200);
    end_range(range);
  }
  fake_synchronize();
  of_hone<void(uint32_t, uint32_t)>("hone_mark")(static_cast<uint32_t>(segments::MarkKind::kOptimizer),
                                                 intern("Adam"));
}

// A step of a native program, which has no hooks: launches, and it waits for them.
void one_plain_step() {
  for (const char* kernel : {"first", "second", "third", "fourth", "first"}) {
    fake_runtime_launch(kernel);
    usleep(150);
  }
  fake_synchronize();
}

// A step of launches that are all alike; `waits` says whether the program waits for them.
void one_chain(bool waits) {
  for (int i = 0; i < 20; ++i) {
    fake_runtime_launch("tiny");
    usleep(20);
  }
  if (waits) fake_synchronize();
}

// As the hooks of Python tell of a capture.
void capture_as_told() {
  of_hone<void()>("hone_capture_begins")();
  const uint64_t range = begin_range("aten::mm");
  fake_capture_graph("a_kernel");
  end_range(range);
  of_hone<void()>("hone_capture_ends")();
}

// A program's copy of the NVTX header: functions that a tool replaces.
nvtx::Function core_functions[16], domain_functions[16];
nvtx::Function* core_table[17];
nvtx::Function* domain_table[17];

int nvtx_table(int module, nvtx::Function*** table, unsigned* entries) {
  auto* functions = module == nvtx::kCore ? core_functions : domain_functions;
  auto* pointers = module == nvtx::kCore ? core_table : domain_table;
  for (int i = 0; i < 16; ++i) pointers[i] = &functions[i];
  *table = pointers;
  *entries = 16;
  return module == nvtx::kCore || module == nvtx::kDomains;
}

const void* nvtx_export(uint32_t table) {
  static const nvtx::Callbacks callbacks = {sizeof(nvtx::Callbacks), nvtx_table};
  return table == nvtx::kCallbacksTable ? &callbacks : nullptr;
}

// Launches that are all alike within an NVTX range, whose number counts on.
void one_ranged_step() {
  static const bool there = of_hone<int(nvtx::ExportTable)>("InitializeInjectionNvtx2")(nvtx_export) != 0;
  static int number = 0;
  if (!there) return;
  const std::string name = "batch " + std::to_string(number++);
  reinterpret_cast<int (*)(const char*)>(core_functions[nvtx::kRangePushA])(name.c_str());
  one_chain(false);
  reinterpret_cast<int (*)()>(core_functions[nvtx::kRangePop])();
}

void use_nvtx() {
  if (!of_hone<int(nvtx::ExportTable)>("InitializeInjectionNvtx2")(nvtx_export)) return;
  const auto push = reinterpret_cast<int (*)(const char*)>(core_functions[nvtx::kRangePushA]);
  const auto pop = reinterpret_cast<int (*)()>(core_functions[nvtx::kRangePop]);
  const auto start = reinterpret_cast<uint64_t (*)(const char*)>(core_functions[nvtx::kRangeStartA]);
  const auto end = reinterpret_cast<void (*)(uint64_t)>(core_functions[nvtx::kRangeEnd]);
  const auto mark_wide = reinterpret_cast<void (*)(const wchar_t*)>(core_functions[nvtx::kMarkW]);
  const auto domain_push = reinterpret_cast<int (*)(void*, const nvtx::EventAttributes*)>(
      domain_functions[nvtx::kDomainRangePushEx]);
  const auto domain_pop = reinterpret_cast<int (*)(void*)>(domain_functions[nvtx::kDomainRangePop]);
  push("outer");
  nvtx::EventAttributes event = {};
  event.message_type = nvtx::kAscii;
  event.message = "inner";
  domain_push(nullptr, &event);
  domain_pop(nullptr);
  pop();
  const uint64_t started = start("elsewhere");
  std::thread([&] { end(started); }).join();
  mark_wide(L"\u00b5");
}

void use_threads(int count) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 200; ++k) {
        const uint64_t range = begin_range("in a thread");
        fake_runtime_launch("of_a_thread");
        end_range(range);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void fork_worker() {
  const pid_t child = fork();
  if (child == 0) {
    mark("in the child");
    const uint64_t range = begin_range("worker");
    usleep(300'000);
    end_range(range);
    usleep(400'000);
    _exit(0);
  }
  wait_for(child);
}

void fork_before_cuda() {
  const pid_t child = fork();
  if (child == 0) {
    cuInit(0);
    for (int i = 0; i < 3; ++i) {
      usleep(100'000);
      fake_runtime_launch("of_a_child");
    }
    usleep(400'000);
    _exit(0);
  }
  wait_for(child);
}

void fork_many(int count) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      mark("one of many");
      usleep(600'000);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) wait_for(child);
}

void fork_and_execute() {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(127);
  }
  wait_for(child);
}

[[noreturn]] void crash() {
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::raise(SIGSEGV);
  std::abort();
}

void limit_files(long bytes) {
  const rlimit limit = {static_cast<rlim_t>(bytes), RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

// Of CUPTI's state, which were made while a call of the program went on; -1: there is no CUPTI here.
int cupti_changes_beside_calls() {
  void* cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (!cupti) return -1;
  return reinterpret_cast<int (*)()>(dlsym(cupti, "fake_cupti_changes_beside_calls"))();
}

void load_module(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string cubin((std::istreambuf_iterator<char>(file)), {});
  fake_load_module(cubin.data(), cubin.size());
}

void perform(const std::string& what, const std::string& with, char** arguments) {
  const int count = std::atoi(with.c_str());
  const auto times = [&](auto action) {
    for (int i = 0; i < count; ++i) action();
  };
  if (what == "load") of_hone<void()>("hone_flush");
  if (what == "init") cuInit(0);
  if (what == "launch") times([] { fake_runtime_launch("a_kernel"); });
  if (what == "driver") times([] { fake_driver_launch("by_driver"); });
  if (what == "copy") fake_copy(4096);
  if (what == "peer") fake_peer_copy(8192);
  if (what == "set") fake_set(512);
  if (what == "allocate") fake_allocate(1 << 20);
  if (what == "sync") fake_synchronize();
  if (what == "ask") fake_get_device();
  if (what == "capture") fake_capture_graph("a_kernel");
  if (what == "graph") fake_launch_graph();
  if (what == "module") load_module(with);
  if (what == "mark") mark(with);
  if (what == "note") of_hone<void(const char*)>("hone_note")(with.c_str());
  if (what == "ranges") times([] { end_range(begin_range("aten::add")); });
  if (what == "steps") times(one_step);
  if (what == "plain") times(one_plain_step);
  if (what == "chain") times([] { one_chain(true); });
  if (what == "alike") times([] { one_chain(false); });
  if (what == "ranged") times(one_ranged_step);
  if (what == "nested") {
    const uint64_t outer = begin_range("outer");
    begin_range("forgotten");
    end_range(outer);
  }
  if (what == "sample") {
    const uint32_t frames[] = {intern("f (a.py:1)"), intern("g (a.py:2)"), intern("h (a.py:3)")};
    of_hone<void(int64_t, uint32_t, const uint32_t*, uint32_t)>("hone_sample")(42, 1, frames, 3);
  }
  if (what == "nvtx") use_nvtx();
  if (what == "threads") use_threads(count);
  if (what == "fork") fork_worker();
  if (what == "forkcuda") fork_before_cuda();
  if (what == "forks") fork_many(count);
  if (what == "forkexec") fork_and_execute();
  if (what == "exec") execv("/proc/self/exe", arguments);
  if (what == "leave") of_hone<void(const char*)>("hone_leave_device")("the program profiles itself");
  if (what == "return") of_hone<void()>("hone_return_device")();
  if (what == "captured") capture_as_told();
  if (what == "limit") limit_files(std::atol(with.c_str()));
  if (what == "mode") std::printf("mode %u\n", *of_hone<const volatile uint32_t*()>("hone_mode")());
  if (what == "sigusr1") std::signal(SIGUSR1, [](int) { _exit(77); });
  static std::vector<std::thread> busy;
  if (what == "busy") busy.emplace_back(fake_busy_launches, count);
  if (what == "join") {
    for (auto& thread : busy) thread.join();
    busy.clear();
  }
  if (what == "beside") std::printf("beside %d\n", cupti_changes_beside_calls());
  if (what == "alone" && fake_cuda_is_listened_to()) _exit(99);
  if (what == "exit") std::exit(count);
  if (what == "_exit") _exit(count);
  if (what == "crash") crash();
}

}  // namespace

int main(int, char** arguments) {
  char line[256];
  setvbuf(stdin, nullptr, _IONBF, 0);  // what another program is executed for must stay in the pipe
  while (std::fgets(line, sizeof(line), stdin)) {
    std::string what = line;
    what.resize(what.find_first_of("\r\n"));
    const size_t space = what.find(' ');
    const std::string with = space == std::string::npos ? "" : what.substr(space + 1);
    perform(what.substr(0, space), with, arguments);
    std::puts("ok");
    std::fflush(stdout);
  }
  return 0;
}
