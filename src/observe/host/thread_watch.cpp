#include "observe/host/thread_watch.h"

#include <array>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::observe {
namespace {

using State = trace::segments::ThreadState;

struct CallRow {
  long call;
  State state;
};

// Calls in which a thread waits; in all others it is at work.
constexpr CallRow kWaitingCalls[] = {
    {SYS_read, State::kFile},           {SYS_pread64, State::kFile},    {SYS_readv, State::kFile},
    {SYS_preadv, State::kFile},         {SYS_write, State::kFile},      {SYS_pwrite64, State::kFile},
    {SYS_writev, State::kFile},         {SYS_fsync, State::kFile},      {SYS_fdatasync, State::kFile},
    {SYS_openat, State::kFile},         {SYS_newfstatat, State::kFile}, {SYS_getdents64, State::kFile},
    {SYS_ppoll, State::kPipe},          {SYS_pselect6, State::kPipe},   {SYS_epoll_pwait, State::kPipe},
    {SYS_recvfrom, State::kPipe},       {SYS_recvmsg, State::kPipe},    {SYS_sendto, State::kPipe},
    {SYS_sendmsg, State::kPipe},        {SYS_accept, State::kPipe},     {SYS_accept4, State::kPipe},
    {SYS_connect, State::kPipe},        {SYS_wait4, State::kPipe},      {SYS_waitid, State::kPipe},
    {SYS_futex, State::kLock},          {SYS_nanosleep, State::kSleep}, {SYS_clock_nanosleep, State::kSleep},
    {SYS_sched_yield, State::kRunning},
#ifdef SYS_open
    {SYS_open, State::kFile},           {SYS_poll, State::kPipe},       {SYS_select, State::kPipe},
    {SYS_epoll_wait, State::kPipe},
#endif
};

State state_of(int64_t call, uint64_t argument, uint64_t second) {
  // Waiting for none of no files is how time.sleep() of older Pythons passes time.
#ifdef SYS_poll
  if ((call == SYS_select && argument == 0) || (call == SYS_poll && second == 0)) return State::kSleep;
#endif
  if (call == SYS_pselect6 && argument == 0) return State::kSleep;
  if (call == SYS_ppoll && second == 0) return State::kSleep;
  for (const CallRow& row : kWaitingCalls)
    if (row.call == call) return row.state;
  return State::kOther;
}

bool has_file_argument(int64_t call) {
  switch (call) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
      return true;
    default:
      return false;
  }
}

}  // namespace

ThreadMoment parse_syscall(std::string_view text) {
  ThreadMoment moment;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text == "running") {
    moment.state = State::kRunning;
    return moment;
  }
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, moment.call);
  if (error != std::errc()) return {};
  std::array<uint64_t, 8> words{};
  std::size_t count = 0;
  while (count < words.size() && end - at > 3 && at[0] == ' ' && at[1] == '0' && at[2] == 'x') {
    const auto [next, bad] = std::from_chars(at + 3, end, words[count], 16);
    if (bad != std::errc()) break;
    at = next;
    ++count;
  }
  if (moment.call < 0 && count == 2) {  // in no call: a page of memory is being fetched
    moment.state = State::kPageFault;
    moment.stack_pointer = words[0];
    moment.instruction = words[1];
    return moment;
  }
  if (count < words.size()) return {};
  moment.argument = words[0];
  moment.stack_pointer = words[6];
  moment.instruction = words[7];
  moment.state = state_of(moment.call, words[0], words[1]);
  return moment;
}

ThreadWatch::ThreadWatch(int pid, int tid)
    : pid_(pid),
      file_(::open(fmt::format("/proc/{}/task/{}/syscall", pid, tid).c_str(), O_RDONLY | O_CLOEXEC)) {}

ThreadWatch::~ThreadWatch() {
  if (file_ >= 0) ::close(file_);
}

ThreadWatch::ThreadWatch(ThreadWatch&& other) noexcept
    : pid_(other.pid_), file_(std::exchange(other.file_, -1)) {}

ThreadMoment ThreadWatch::look() {
  std::array<char, 256> text{};
  const ssize_t length = file_ < 0 ? -1 : ::pread(file_, text.data(), text.size(), 0);
  if (length <= 0) return {};
  ThreadMoment moment = parse_syscall({text.data(), static_cast<std::size_t>(length)});
  if (moment.state != State::kFile || !has_file_argument(moment.call)) return moment;
  std::array<char, 256> name{};
  const ssize_t named =
      ::readlink(fmt::format("/proc/{}/fd/{}", pid_, moment.argument).c_str(), name.data(), name.size());
  const std::string_view file(name.data(), named > 0 ? static_cast<std::size_t>(named) : 0);
  if (!file.starts_with('/') || file.starts_with("/dev/")) moment.state = State::kPipe;
  return moment;
}

}  // namespace hone::observe
