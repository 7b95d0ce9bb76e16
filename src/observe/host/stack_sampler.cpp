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
constexpr int kMostLooksForPython = 4;
// Where a round takes long, as with many processes, the next waits as many times as long: the machine is the program's.
constexpr int kRestFactor = 4;
// Beside Python's frames the innermost native ones say what a line is in; where there are none, they are the stack.
constexpr std::size_t kMostNativeBesidePython = 6, kMostNative = 64;
// A thread that runs is sampled by a clock of its own: what that saw last holds for so long.
constexpr int64_t kStillRunningNs = 3'000'000;
constexpr std::size_t kReadStackBytes = 16384;

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
  write_samples();
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
    // One that has just been started may load its interpreter yet, or execute another program.
    const bool may_change = !process.python && !process.unreadable && ++process.looks <= kMostLooksForPython;
    if (is_new || may_change) open(found.pid, process);
  }
}

void StackSampler::open(int pid, Process& process) {
  process.memory = std::make_unique<ProcessMemory>(pid);
  process.native = NativeStacks::open(pid);
  Result<std::optional<PythonStacks>> python = PythonStacks::open(pid);
  process.unreadable = !python.ok();
  if (!python.ok())
    notes_.insert(fmt::format("stacks of Python are sampled inside of the program, not from outside: {}",
                              python.error().message));
  else if (*python)
    process.python.emplace(std::move(**python));
}

void StackSampler::sample(int pid, Process& process) {
  if (process.unreadable || process.gone) return;
  std::vector<PythonThread> python;
  if (process.python) python = process.python->threads();
  bool main_seen = false;
  for (const PythonThread& thread : python) {
    sample_thread(pid, thread.tid, process, &thread);
    main_seen = main_seen || thread.tid == pid;
  }
  if (!main_seen) sample_thread(pid, pid, process, nullptr);
}

StackSampler::Thread& StackSampler::thread_of(int pid, int tid, Process& process) {
  const auto known = process.threads.find(tid);
  if (known != process.threads.end()) return known->second;
  Thread thread{ThreadWatch(pid, tid), nullptr, {}, {}, 0, {}};
  if (process.native) {
    int error = 0;
    thread.running = RunningThread::open(tid, error);
    if (!thread.running && error != ESRCH)
      notes_.insert(
          fmt::format("no native stacks of threads that run: perf_event_open is not permitted here ({})",
                      std::strerror(error)));
  }
  return process.threads.emplace(tid, std::move(thread)).first->second;
}

std::vector<uint64_t> StackSampler::native_stack(Process& process, Thread& thread,
                                                 const ThreadMoment& moment) {
  if (!process.native) return {};
  const std::size_t most = process.python ? kMostNativeBesidePython : kMostNative;
  std::optional<RunningMoment> ran = thread.running ? thread.running->last() : std::nullopt;
  if (!moment.waits()) {
    if (ran) {
      thread.ran_ns = ran->time_ns;
      thread.native_running = process.native->unwind(ran->registers, ran->stack, most);
    }
    return now_ns() - thread.ran_ns < kStillRunningNs ? thread.native_running : std::vector<uint64_t>();
  }
  if (moment.same_place(thread.last)) return thread.native;  // it has waited all the time
  ThreadRegisters registers;
  registers.set(ThreadRegisters::kStackPointer, moment.stack_pointer);
  registers.set(ThreadRegisters::kInstruction, moment.instruction);
  std::string stack(kReadStackBytes, '\0');
  while (!stack.empty() && !process.memory->read(moment.stack_pointer, stack.data(), stack.size()))
    stack.resize(stack.size() / 2);  // the stack ends before
  thread.last = moment;
  thread.native = process.native->unwind(registers, stack, most);
  return thread.native;
}

void StackSampler::write_samples() {
  for (const Taken& taken : taken_) {
    std::vector<uint32_t> native;
    for (std::size_t i = 0; i < taken.native.size(); ++i) {
      const NativeFrame& frame = taken.process->native->frame(taken.native[i], i == 0);
      if (frame.function.empty() && frame.file.empty()) continue;
      native.push_back(writer_.frame(trace::segments::StackKind::kNative,
                                     frame.function.empty() ? "?" : frame.function, frame.file, frame.line));
    }
    writer_.sample(taken.sample, taken.python, native);
  }
  taken_.clear();
}

void StackSampler::sample_thread(int pid, int tid, Process& process, const PythonThread* python) {
  Thread& thread = thread_of(pid, tid, process);
  trace::segments::HostSample sample;
  sample.time_ns = now_ns();
  sample.pid = pid;
  sample.tid = tid;
  const ThreadMoment moment = thread.watch.look();
  sample.state = moment.state;
  std::vector<uint32_t> frames;
  if (python != nullptr)
    if (const auto stack = process.python->stack(*python))
      for (const PythonFrame& frame : *stack)
        frames.push_back(
            writer_.frame(trace::segments::StackKind::kPython, frame.function, frame.file, frame.line));
  std::vector<uint64_t> native = native_stack(process, thread, moment);
  if (frames.empty() && native.empty() && sample.state == trace::segments::ThreadState::kUnknown) {
    process.gone = process.gone || tid == pid;
    return;
  }
  taken_.push_back({sample, std::move(frames), std::move(native), &process});
}

void StackSampler::read_uses(uint32_t block) {
  if (root_ == 0) return;
  for (const TreeProcess& process : process_tree(root_)) {
    know(process);
    trace::segments::HostUse use = use_of_process(process.pid);
    use.block = block;
    use.bytes_written -= std::min(use.bytes_written, bytes_recorded_by(folder_, process.pid));
    writer_.use(use);
  }
  trace::segments::HostUse machine = use_of_machine();
  machine.block = block;
  writer_.use(machine);
  writer_.flush();
}

}  // namespace hone::observe
