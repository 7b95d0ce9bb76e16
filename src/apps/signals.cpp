#include "apps/signals.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>

#include <sys/time.h>
#include <unistd.h>

#include "core/open_files.h"

namespace hone::apps {
namespace {

// timeout(1) and terminals send one request as two signals, one right after the other: no second request.
constexpr int64_t kSameRequestNs = 200'000'000;

std::atomic<int> first_signal = 0;
std::atomic<int64_t> first_signal_ns = 0;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "signal handlers must not wait for locks");

int64_t clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// In a handler only write(2) may speak.
void say_raw(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;  // nobody can read it
}

[[noreturn]] void end_now() {
  remove_unfinished_files();
  if (::isatty(STDERR_FILENO) != 0) say_raw("\r\033[K");  // a progress bar
  say_raw("hone: interrupted\n");
  ::_exit(interrupted_status());
}

void on_deadline(int) { end_now(); }

void on_request_to_end(int signal) {
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) {
    if (clock_ns() - first_signal_ns.load() > kSameRequestNs) end_now();
    return;
  }
  first_signal_ns = clock_ns();
  itimerval grace{};
  grace.it_value.tv_sec = static_cast<time_t>(kGraceSeconds);
  grace.it_value.tv_usec = static_cast<suseconds_t>((kGraceSeconds - static_cast<int>(kGraceSeconds)) * 1e6);
  ::setitimer(ITIMER_REAL, &grace, nullptr);
}

void on_bad_memory(int signal, siginfo_t* info, void*) {
  const char* file = mapped_file_at(info->si_addr);
  if (file == nullptr) {  // a bug: as if nobody had looked
    std::signal(signal, SIG_DFL);
    return;
  }
  remove_unfinished_files();
  say_raw("hone: ");
  say_raw(file);
  say_raw(
      ": was cut short while it was being used; run again, and replace the file by renaming a new one over "
      "it\n");
  ::_exit(1);
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

void watch_signals() {
  handle(SIGINT, on_request_to_end);
  handle(SIGTERM, on_request_to_end);
  handle(SIGALRM, on_deadline);
  handle(SIGXFSZ, SIG_IGN);  // a file past the size limit: the write fails and its error is reported
  struct sigaction action {};
  action.sa_sigaction = on_bad_memory;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

bool interrupted() { return first_signal.load(std::memory_order_relaxed) != 0; }

Status check_may_write() {
  if (interrupted()) return Error{ErrorCode::kCancelled, "interrupted; nothing was written"};
  return check_mapped_files();
}

int interrupted_status() {
  const int signal = first_signal.load();
  return 128 + (signal != 0 ? signal : SIGINT);
}

}  // namespace hone::apps
