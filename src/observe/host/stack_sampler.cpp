#include "observe/host/stack_sampler.h"

#include <chrono>
#include <csignal>

#include <fmt/format.h>
#include <pthread.h>

#include "core/clock.h"

namespace hone::observe {
namespace {

using std::chrono::microseconds, std::chrono::steady_clock;

constexpr microseconds kEvery{1000};
constexpr microseconds kLookForProcessesEvery{200'000};
// Where a round takes long, as with many processes, the next waits as many times as long: the machine is the program's.
constexpr int kRestFactor = 4;

}  // namespace

void StackSampler::start() {
  if (thread_.joinable() || root_ == 0) return;
  stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void StackSampler::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  processes_.clear();
  writer_.flush();
}

bool StackSampler::can_read_python() const {
  for (const TreeProcess& process : process_tree(root_))
    if (!PythonStacks::open(process.pid).ok()) return false;
  return true;
}

void StackSampler::run() {
  // Signals are for the thread that waits for the program.
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  find_processes();
  auto look_again = steady_clock::now() + kLookForProcessesEvery;
  auto next = steady_clock::now();
  while (!stopping_) {
    const auto begin = steady_clock::now();
    if (begin >= look_again) {
      find_processes();
      look_again = begin + kLookForProcessesEvery;
    }
    for (auto& [pid, process] : processes_) sample(pid, process);
    const auto took = steady_clock::now() - begin;
    next = std::max(next + kEvery, begin + kRestFactor * took);
    std::this_thread::sleep_until(next);
  }
}

void StackSampler::know(const TreeProcess& process) {
  if (known_.insert(process.pid).second) writer_.process(process.pid, process.parent, process.command);
}

void StackSampler::find_processes() {
  for (const TreeProcess& found : process_tree(root_)) {
    know(found);
    const auto [at, is_new] = processes_.try_emplace(found.pid);
    Process& process = at->second;
    if (is_new) {
      Result<std::optional<PythonStacks>> python = PythonStacks::open(found.pid);
      process.unreadable = !python.ok();
      if (!python.ok())
        notes_.insert(fmt::format("stacks of Python are sampled inside of the program, not from outside: {}",
                                  python.error().message));
      else if (*python)
        process.python.emplace(std::move(**python));
    }
  }
  std::erase_if(processes_, [](const auto& entry) { return entry.second.gone; });
}

void StackSampler::sample(int pid, Process& process) {
  if (process.unreadable) return;
  std::vector<PythonThread> python;
  if (process.python) python = process.python->threads();
  bool main_seen = false;
  for (const PythonThread& thread : python) {
    sample_thread(pid, thread.tid, process, &thread);
    main_seen = main_seen || thread.tid == pid;
  }
  if (!main_seen) sample_thread(pid, pid, process, nullptr);
}

void StackSampler::sample_thread(int pid, int tid, Process& process, const PythonThread* python) {
  const auto at = process.threads.try_emplace(tid, Thread{ThreadWatch(pid, tid)}).first;
  trace::segments::HostSample sample;
  sample.time_ns = now_ns();
  sample.pid = pid;
  sample.tid = tid;
  sample.state = at->second.watch.look().state;
  std::vector<uint32_t> frames;
  if (python != nullptr)
    if (const auto stack = process.python->stack(*python))
      for (const PythonFrame& frame : *stack)
        frames.push_back(
            writer_.frame(trace::segments::StackKind::kPython, frame.function, frame.file, frame.line));
  if (frames.empty() && sample.state == trace::segments::ThreadState::kUnknown) {
    process.gone = process.gone || tid == pid;
    return;
  }
  writer_.sample(sample, frames, {});
}

void StackSampler::read_uses(uint32_t block) {
  if (root_ == 0) return;
  for (const TreeProcess& process : process_tree(root_)) {
    know(process);
    trace::segments::HostUse use = use_of_process(process.pid);
    use.block = block;
    writer_.use(use);
  }
  trace::segments::HostUse machine = use_of_machine();
  machine.block = block;
  writer_.use(machine);
  writer_.flush();
}

}  // namespace hone::observe
