#include "apps/command.h"

#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "report/text.h"

namespace hone::apps {

namespace {

constexpr int64_t kQuietNs = 2'000'000'000;
constexpr int64_t kTerminalNs = 100'000'000;
constexpr int64_t kLineNs = 5'000'000'000;

volatile std::sig_atomic_t interrupt_flag = 0;

void on_signal(int) {
  if (interrupt_flag != 0) std::_Exit(130);  // the second Ctrl-C does not wait
  interrupt_flag = 1;
}

}  // namespace

bool interrupted() { return interrupt_flag != 0; }

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);  // a file past the size limit: the write fails and its error is reported
}

Status write_json(const std::string& path, const nlohmann::ordered_json& json) {
  if (path.empty()) return {};
  return write_file(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), start_ns_(now_ns()), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::finish() {
  if (shown_ && terminal_ && !finished_) fmt::print(stderr, "\r\033[K");
  finished_ = true;
}

void ProgressBar::update(double fraction, const std::string& detail) {
  const int64_t now = now_ns();
  if (finished_) return;
  if (now - start_ns_ < kQuietNs || now - last_ns_ < (terminal_ ? kTerminalNs : kLineNs)) return;
  last_ns_ = now;
  shown_ = true;
  if (!terminal_) {
    fmt::print(stderr, "{}: {:.0f} %{}{}\n", label_, fraction * 100, detail.empty() ? "" : ", ",
               report::clean_utf8(detail));
    return;
  }
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(fraction * kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  fmt::print(stderr, "\r\033[K{} {} {:3.0f} % {}", label_, bar, fraction * 100,
             report::shortened(report::clean_utf8(detail), 40));
  std::fflush(stderr);
}

}  // namespace hone::apps
