#include "observe/inject/recorder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <initializer_list>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "observe/inject/futex.h"
#include "observe/inject/torch/operators.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
using segments::Mode;
namespace {

constexpr int64_t kFlushPeriod = 200'000'000;  // ns: what a program that is killed loses
constexpr int64_t kCollectPeriod =
    20'000'000;                             // ns: of 200 µs each, a twentieth of the samples that have room
constexpr int64_t kAfterFork = 20'000'000;  // ns: most children of a fork execute something else by then
constexpr size_t kStackBytes = 1 << 20;     // of the control thread: CUPTI works on it

void sleep_ns(int64_t ns) {
  const timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&time, nullptr);
}

bool lives(int32_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

}  // namespace

bool Recorder::start(const char* run_folder) {
  const int length = std::snprintf(folder_, sizeof(folder_), "%s", run_folder);
  if (length <= 0 || length >= static_cast<int>(sizeof(folder_)) || !map_control(run_folder)) return false;
  if (lives(control_->session_pid)) session_pid_ = control_->session_pid;
  take_slot();
  start_thread();
  return true;
}

bool Recorder::map_control(const char* run_folder) {
  char path[sizeof(folder_) + 64];
  std::snprintf(path, sizeof(path), "%s/%s", run_folder, kControlFile);
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);  // whatever has that name
  if (file < 0) return false;
  struct stat about;
  const bool large_enough = fstat(file, &about) == 0 && about.st_size >= static_cast<off_t>(sizeof(Control));
  void* page =
      large_enough ? mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  close(file);
  if (page == MAP_FAILED) return false;
  auto* control = static_cast<Control*>(page);
  if (control->magic != Control{}.magic || control->version != kControlVersion) {
    munmap(page, sizeof(Control));
    return false;
  }
  control_ = control;
  return true;
}

// A free slot; or the one of this pid, which a program that executes another keeps; or that of a dead process.
void Recorder::take_slot() {
  const int32_t pid = getpid();
  Slot* found = nullptr;
  for (const bool of_the_dead : {false, true}) {
    for (Slot& slot : control_->slots) {
      int32_t owner = slot.pid.load();
      const bool free = owner == 0 || owner == pid || (of_the_dead && !lives(owner));
      if (!found && free && slot.pid.compare_exchange_strong(owner, pid)) found = &slot;
    }
  }
  if (!found) return;
  found->marks = marks_.load();
  found->obeyed = 0;
  found->counted = 0;
  found->records = found->bytes = found->dropped = 0;
  control_->prospects[found - control_->slots.data()] = Prospect::kNone;
  control_->write_errors[found - control_->slots.data()] = 0;
  found->attachment = Attachment::kLoaded;
  slot_ = found;
}

// The program's signals are its own: none is handled in our thread, but for what a crash of that thread raises, so that
// the program's handler can say where it was.
void Recorder::start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, thread_main, this) == 0) pthread_setname_np(thread, "hone");
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Recorder::thread_main(void* recorder) {
  static_cast<Recorder*>(recorder)->run();
  return nullptr;
}

void Recorder::run() {
  if (forked_) {
    sleep_ns(kAfterFork);
    take_slot();
  }
  open_segment();
  std::snprintf(counter_request_, sizeof(counter_request_), "%s/%s/%d", folder_, kCountersFolder, getpid());
  std::snprintf(sampling_request_, sizeof(sampling_request_), "%s/%s/%d", folder_, kSamplingFolder, getpid());
  uint32_t obeyed = ~0u;
  while (recording() && !ended_) {
    uint32_t number = 0;
    DeviceOrder order;
    if (session_is_gone()) {
      obey(obeyed, {Mode::kFinished});
      break;
    }
    if (!read_order(number, order)) {
      sleep_ns(50'000);
      continue;
    }
    if (number != obeyed) {
      obey(number, order);
      obeyed = number;
    }
    const bool samples = mode() == Mode::kSampling;
    futex_wait(control_->order.number, number, samples ? kCollectPeriod : kFlushPeriod, true);
    tick();
  }
  output_.flush();
  say_how_it_stands();
}

void Recorder::open_segment() {
  if (output_.open(folder_, environment_, forked_)) return;
  output_.lost(Loss::kFile, 1);
  say_how_it_stands();
}

// False while the session is writing it.
bool Recorder::read_order(uint32_t& number, DeviceOrder& order) {
  const Order& page = control_->order;
  number = page.number.load(std::memory_order_acquire);
  if (number % 2 != 0) return false;
  order.mode = page.mode.load(std::memory_order_relaxed);
  order.counter_request = counter_request_;
  order.sampling_request = sampling_request_;
  order.mark_runtime_call = page.mark_runtime_call.load(std::memory_order_relaxed);
  order.mark_driver_call = page.mark_driver_call.load(std::memory_order_relaxed);
  const uint32_t block = page.block.load(std::memory_order_relaxed);
  const uint32_t python_stacks = page.python_stacks.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (page.number.load(std::memory_order_relaxed) != number) return false;
  block_ = block;
  __atomic_store_n(&python_stacks_, python_stacks, __ATOMIC_RELAXED);
  return true;
}

// A recorded block holds everything: it begins when all is being recorded, and ends before the first thing is not.
// Between it and a block left alone lies a time of neither, in which what is still on its way is delivered.
void Recorder::obey(uint32_t number, const DeviceOrder& order) {
  const bool records = is_recorded(order.mode);
  if (!records) {
    if (is_recorded(mode())) change_mode(Mode::kWaiting);
    torch::follow_mode(order.mode);
  }
  if (order.mode == Mode::kFinished) tell_hooks(order.mode);
  device_.obey(order);
  if (records) torch::follow_mode(order.mode);
  change_mode(order.mode);
  output_.flush();
  say_how_it_stands();
  slot_.load()->obeyed.store(number, std::memory_order_release);
  say_what_is_counted();
}

void Recorder::say_what_is_counted() {
  if (mode() != Mode::kCounters || !device_.counted()) return;
  output_.flush();
  Slot& slot = *slot_;
  slot.counted.store(slot.obeyed.load(std::memory_order_relaxed), std::memory_order_release);
}

void Recorder::tell_hooks(Mode mode) {
  __atomic_store_n(&mode_, static_cast<uint32_t>(mode), __ATOMIC_RELEASE);
}

void Recorder::change_mode(Mode mode) {
  tell_hooks(mode);
  output_.add(
      segments::with_head(segments::ModeChange{{}, monotonic_ns(), mode, block_, device_.launches()}));
}

void Recorder::tick() {
  if (environment_.flush_cupti) device_.flush(false);
  device_.describe_devices();
  if (mode() == Mode::kSampling) device_.collect_samples();
  output_.flush();
  say_how_it_stands();
  say_what_is_counted();
}

bool Recorder::session_is_gone() const { return session_pid_ != 0 && !lives(session_pid_); }

void Recorder::say_how_it_stands() {
  Slot& slot = *slot_;
  if (device_.unavailable()) {
    slot.attachment = Attachment::kHostOnly;
  } else if (device_.cuda_is_here()) {
    slot.attachment = device_.lent() ? Attachment::kLent : Attachment::kAttached;
  }
  if (ended_) slot.attachment = Attachment::kEnded;
  slot.marks.store(marks_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  slot.records.store(output_.records_written(), std::memory_order_relaxed);
  slot.bytes.store(output_.bytes_written(), std::memory_order_relaxed);
  slot.dropped.store(output_.records_lost(), std::memory_order_relaxed);
  if (const int error = output_.write_error(); error != 0 && &slot != &own_slot_)
    control_->write_errors[&slot - control_->slots.data()].store(error, std::memory_order_relaxed);
}

void Recorder::cuda_starts() {
  device_.cuda_starts();
  say_how_it_stands();
}

void Recorder::mark(segments::MarkKind what, uint32_t name, uint64_t launches) {
  if (!recording()) return;
  ThreadLog* log = output_.log();
  if (!log) return;
  log->add(segments::with_head(segments::Mark{{}, monotonic_ns(), log->tid, what, name, launches}));
  if (what == segments::MarkKind::kComing) expect_marks(Prospect::kModules);
  if (what == segments::MarkKind::kTraining) expect_marks(Prospect::kTraining);
  const uint32_t marks = marks_.fetch_add(1, std::memory_order_relaxed) + 1;
  slot_.load(std::memory_order_relaxed)->marks.store(marks, std::memory_order_relaxed);
}

// Where the session sees it at once: it must not touch CUPTI before such marks have had their time, and the segment may
// wait for a CUDA that starts.
void Recorder::expect_marks(Prospect prospect) {
  const Slot* slot = slot_;
  if (slot == &own_slot_) return;
  std::atomic<Prospect>& known = control_->prospects[slot - control_->slots.data()];
  if (known.load() < prospect) known = prospect;
}

// What is recorded of a block ends here.
void Recorder::lend_device(const char* reason) {
  if (is_recorded(mode()) && device_.attached()) change_mode(Mode::kWaiting);
  device_.lend(reason);
  output_.flush();
  say_how_it_stands();
}

void Recorder::take_device_back() {
  device_.take_back();
  say_how_it_stands();
}

// Operators are recorded meanwhile: kernels of replays belong to those that were open when they were captured.
void Recorder::capture_begins() {
  device_.capture_begins();
  torch::follow_mode(Mode::kOperators);
}

void Recorder::capture_ends() {
  torch::follow_mode(mode());
  device_.capture_ends();
}

void Recorder::process_ends() {
  if (!forked_) open_segment();  // a program may be shorter than our thread takes to begin
  ended_ = true;
  device_.process_ends();
  output_.flush();
  say_how_it_stands();
}

void Recorder::in_child() {
  environment_ = Environment::read();
  output_.in_child();
  device_.in_child();
  marks_ = 0;
  ended_ = false;
  forked_ = true;
  slot_ = &own_slot_;
  if (recording()) start_thread();
}

}  // namespace hone::observe::inject
