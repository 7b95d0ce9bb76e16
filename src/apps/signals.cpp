#include "apps/signals.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/open_files.h"

namespace hone::apps {
namespace {

// timeout(1) and terminals send one request as two signals, one right after the other: no second request.
constexpr int64_t kSameRequestNs = 200'000'000;

std::atomic<int> first_signal = 0;
std::atomic<int> passed_signal = 0;  // the last request that was for somebody else
std::atomic<void (*)()> last_act = nullptr;
std::atomic<bool> patient = false;

void do_last_act() {
  if (void (*act)() = last_act.load(); act != nullptr) act();
}

// Whom requests are for; none: hone.
std::mutex passing;
std::function<void(const Request&)> pass_request;

// Where memory may be in any state only write(2) may speak.
void say_raw(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody can read it
}

[[noreturn]] void end_now() {
  remove_unfinished_files();
  do_last_act();
  if (::isatty(STDERR_FILENO) != 0) say_raw("\r\033[K");  // a progress bar
  say_raw("hone: interrupted\n");
  ::_exit(interrupted_status());
}

sigset_t set_of_requests() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : requests_to_end()) sigaddset(&set, signal);
  return set;
}

// Whether the request was for somebody else, who has it now.
bool passed_on(const siginfo_t& request) {
  const std::lock_guard lock(passing);
  if (!pass_request) return false;
  passed_signal = request.si_signo;
  pass_request({request.si_signo, request.si_code == SI_KERNEL});
  return true;
}

// The next request that arrives before `deadline_ns`, by now_ns(); 0: none did.
int wait_for_request(const sigset_t& requests, int64_t deadline_ns) {
  while (true) {
    const int64_t left = deadline_ns - now_ns();
    if (left <= 0) return 0;
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    const int signal = sigtimedwait(&requests, nullptr, &timeout);
    if (signal > 0) return signal;
  }
}

// Hears the first request to hone, and ends it when a second comes or the time of grace is over.
void listen() {
  const sigset_t requests = set_of_requests();
  siginfo_t request{};
  while (sigwaitinfo(&requests, &request) <= 0 || passed_on(request)) {
  }
  first_signal = request.si_signo;
  const int64_t start_ns = now_ns();
  const auto second_until = [&](double seconds) {
    const int64_t deadline_ns = start_ns + static_cast<int64_t>(seconds * 1e9);
    while (wait_for_request(requests, deadline_ns) != 0)
      if (now_ns() - start_ns > kSameRequestNs) return true;
    return false;
  };
  if (!second_until(kGraceSeconds) && patient) {
    if (::isatty(STDERR_FILENO) != 0) say_raw("\n");  // behind a progress bar
    say_raw(
        "hone: stopping after what runs now, within 20 s; interrupt again to end at once and lose what was "
        "measured\n");
    static_assert(kPatientGraceSeconds == 20);
    second_until(kPatientGraceSeconds);
  }
  end_now();
}

constexpr std::pair<int, const char*> kCrashes[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGABRT, "SIGABRT"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}};

// Addresses within the program, which `nm` of the same build turns into functions.
void say_where(int signal) {
  std::array<void*, 64> frames;
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  say_raw("\nhone: crashed (");
  for (const auto& [crash, name] : kCrashes)
    if (crash == signal) say_raw(name);
  say_raw("), a bug; please report it with these lines:\n");
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

void on_crash(int signal, siginfo_t* info, void*) {
  const char* file = signal == SIGBUS ? mapped_file_at(info->si_addr) : nullptr;
  if (file == nullptr) std::signal(signal, SIG_DFL);  // a second one, in here, ends it
  remove_unfinished_files();
  do_last_act();
  if (file == nullptr) {  // a bug: as if nobody had looked, but for where it is
    say_where(signal);
    (void)::raise(signal);
    return;
  }
  say_raw("hone: ");
  say_raw(file);
  say_raw(
      ": was cut short while it was being used; run again, and replace the file by renaming a new one over "
      "it\n");
  ::_exit(1);
}

}  // namespace

// No handlers: oneDNN's generated matrix products point the stack's register into a workspace on the heap while
// they compute, and a handler would write its frame over what lies below.
void watch_signals() {
  const sigset_t requests = set_of_requests();
  pthread_sigmask(SIG_BLOCK, &requests, nullptr);  // threads inherit it: all, as none has been started
  std::thread(listen).detach();
  std::signal(SIGXFSZ, SIG_IGN);  // a file past the size limit: the write fails and its error is reported
  std::array<void*, 1> frame;
  (void)::backtrace(frame.data(), 1);  // loads what it needs, which a handler must not
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // they say more
  ::sigaction(SIGBUS, &action, nullptr);
#else
  for (const auto& crash : kCrashes) ::sigaction(crash.first, &action, nullptr);
#endif
}

void be_patient_when_interrupted() { patient = true; }

void set_last_act(void (*act)()) { last_act = act; }

std::vector<int> requests_to_end() {
  // Who starts hone with nohup wants it to outlive its terminal; blocked, an ignored signal would arrive all the same.
  static const bool ends_with_terminal = [] {
    struct sigaction action {};
    return ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
  }();
  if (!ends_with_terminal) return {SIGINT, SIGTERM};
  return {SIGINT, SIGTERM, SIGHUP};
}

void pass_requests_to(std::function<void(const Request&)> pass) {
  const std::lock_guard lock(passing);
  pass_request = std::move(pass);
}

bool interrupted() { return first_signal.load(std::memory_order_relaxed) != 0; }

Status check_may_write() {
  if (interrupted()) return Error{ErrorCode::kCancelled, "interrupted; nothing was written"};
  return check_mapped_files();
}

int interrupted_status() {
  int signal = first_signal.load();
  if (signal == 0) signal = passed_signal.load();
  return 128 + (signal != 0 ? signal : SIGINT);
}

}  // namespace hone::apps
