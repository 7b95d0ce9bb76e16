#include "apps/full_screen.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "apps/signals.h"
#include "core/clock.h"

namespace hone::apps {
namespace {

// Alternate buffer, no cursor, no line breaks of the terminal's own; and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

// What a signal handler must know.
termios saved_modes;
std::atomic<bool> entered = false;
volatile std::sig_atomic_t asked_to_suspend = 0;

// Safe in a signal handler. What the terminal has not taken yet is thrown away: a stopped terminal (Ctrl-S) would
// otherwise hold the program for ever.
void give_back() {
  if (!entered.exchange(false)) return;
  ::tcflush(STDOUT_FILENO, TCOFLUSH);
  ::tcflow(STDOUT_FILENO, TCOON);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &saved_modes);
  if (::write(STDOUT_FILENO, kLeave.data(), kLeave.size()) < 0) {
    // It has gone.
  }
}

// The default action follows: SA_RESETHAND.
void on_end(int signal) {
  give_back();
  ::raise(signal);
}

void on_suspend(int) { asked_to_suspend = 1; }

// Handlers are safe here though not elsewhere (signals.cpp): no generated code runs beside a full screen.
constexpr int kEnds[] = {SIGQUIT};  // crashes do the last act themselves (signals.h)

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

bool FullScreen::possible() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && term != nullptr &&
         std::string_view(term) != "dumb";
}

FullScreen::FullScreen() {
  for (const int signal : kEnds) handle(signal, on_end, SA_RESETHAND);
  handle(SIGTSTP, on_suspend, 0);
  handle(SIGPIPE, SIG_IGN, 0);  // a terminal that has gone is seen by poll()
  set_last_act(give_back);
  enter();
}

FullScreen::~FullScreen() {
  leave();
  set_last_act(nullptr);
  for (const int signal : kEnds) std::signal(signal, SIG_DFL);
  std::signal(SIGTSTP, SIG_DFL);
  std::signal(SIGPIPE, SIG_DFL);
}

void FullScreen::enter() {
  if (::tcgetattr(STDIN_FILENO, &saved_modes) != 0) return;
  termios modes = saved_modes;
  modes.c_lflag &=
      static_cast<tcflag_t>(~(ICANON | ECHO));  // Ctrl-C and Ctrl-Z stay signals: they work whatever hangs
  modes.c_iflag &= static_cast<tcflag_t>(~(IXON | ICRNL));  // Ctrl-S would stop it
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  entered = true;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &modes);
  pending_ = kEnter;
  sent_ = 0;
  shown_.clear();
  last_size_ = size();
  send_some();
}

void FullScreen::leave() {
  // A moment for what is on its way, lest the end of an escape sequence is taken for text.
  const int64_t deadline = now_ns() + 200'000'000;
  while (sent_ < pending_.size() && now_ns() < deadline) {
    pollfd terminal{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&terminal, 1, 20) < 0 && errno != EINTR) break;
    send_some();
  }
  give_back();
}

void FullScreen::suspend() {
  leave();
  ::raise(SIGSTOP);
  enter();
  redraw_ = true;
}

FullScreen::Size FullScreen::size() const {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

void FullScreen::show(const std::vector<std::string>& lines) {
  if (sent_ < pending_.size()) return;
  pending_.clear();
  sent_ = 0;
  for (std::size_t i = 0; i < std::max(lines.size(), shown_.size()); ++i) {
    const std::string_view line = i < lines.size() ? std::string_view(lines[i]) : "";
    if (i < shown_.size() && shown_[i] == line) continue;
    pending_ += fmt::format("\x1b[{};1H{}\x1b[0m\x1b[K", i + 1, line);
  }
  shown_ = lines;
  send_some();
}

// In pieces that a terminal takes without waiting whenever it says that it takes anything.
void FullScreen::send_some() {
  constexpr std::size_t kPiece = 256;
  while (sent_ < pending_.size()) {
    pollfd terminal{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&terminal, 1, 0) <= 0 || (terminal.revents & POLLOUT) == 0) return;
    const std::size_t size = std::min(kPiece, pending_.size() - sent_);
    const ssize_t count = ::write(STDOUT_FILENO, pending_.data() + sent_, size);
    if (count <= 0) return;
    sent_ += static_cast<std::size_t>(count);
  }
}

void FullScreen::read_keys() {
  char bytes[64];
  const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (count > 0) keys_.append(bytes, static_cast<std::size_t>(count));
  // Readable, and nothing to read: the terminal has gone.
  if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) keys_ += kQuit;
}

// Arrows and other keys that send a sequence ("ESC [ A", "ESC O P", "ESC [ 5 ~") mean nothing here.
char FullScreen::next_key() {
  while (!keys_.empty()) {
    const char key = keys_.front();
    if (key != '\x1b') {
      keys_.erase(0, 1);
      return key;
    }
    std::size_t end = 1;
    if (end < keys_.size() && (keys_[end] == '[' || keys_[end] == 'O')) {
      ++end;
      while (end < keys_.size() && (keys_[end] < '@' || keys_[end] > '~')) ++end;
      ++end;
    }
    keys_.erase(0, end);
  }
  return kNoKey;
}

char FullScreen::wait(int milliseconds) {
  constexpr int kLook = 100;  // for requests to end, and another size
  const int64_t deadline = now_ns() + static_cast<int64_t>(milliseconds) * 1'000'000;
  while (true) {
    if (interrupted()) return kQuit;
    if (asked_to_suspend != 0) {
      asked_to_suspend = 0;
      suspend();
    }
    if (const char key = next_key(); key != kNoKey) return key;
    if (redraw_ || size() != last_size_) {
      redraw_ = false;
      last_size_ = size();
      shown_.clear();
      pending_ = sent_ < pending_.size() ? pending_.substr(sent_) + "\x1b[2J" : "\x1b[2J";
      sent_ = 0;
      return kResized;
    }
    send_some();
    const auto left = static_cast<int>((deadline - now_ns()) / 1'000'000);
    if (left <= 0) return kNoKey;
    pollfd streams[] = {{STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, POLLOUT, 0}};
    const nfds_t count = sent_ < pending_.size() ? 2 : 1;
    if (::poll(streams, count, std::min(left, kLook)) <= 0) continue;
    if ((streams[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return kQuit;
    if ((streams[0].revents & POLLIN) != 0) read_keys();
  }
}

}  // namespace hone::apps
