#include "apps/command.h"

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/memory_budget.h"
#include "report/text.h"

namespace hone::apps {

namespace {

constexpr int64_t kQuietNs = 2'000'000'000;
constexpr int64_t kTerminalNs = 100'000'000;
constexpr int64_t kLineNs = 5'000'000'000;

bool quiet = false;  // both are set once, before the work
bool output_closed = false;
int kept_output = STDOUT_FILENO;

}  // namespace

void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

int exit_status(const Error& error) {
  if (error.code == ErrorCode::kCancelled) return interrupted_status();
  return error.code == kUsage ? 2 : 1;
}

void set_default_memory_budget() {
  constexpr double kShare = 0.8;
  set_memory_budget(static_cast<std::size_t>(kShare * static_cast<double>(available_memory())));
}

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    if (descriptor == STDOUT_FILENO) output_closed = true;
    if (open("/dev/null", O_RDWR) != descriptor) return;
  }
}

Status flush_output() {
  if (std::fflush(stdout) != 0)
    return io_error(fmt::format("cannot write to standard output: not all of it arrived: {}",
                                std::generic_category().message(errno)));
  if (std::ferror(stdout) == 0) return {};
  // What an earlier write failed with is long overwritten in errno.
  return io_error("cannot write to standard output: not all of it arrived; is its disk full?");
}

void silence_output() {
  if (quiet) return;
  quiet = true;
  std::fflush(stdout);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  kept_output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
}

bool is_silenced() { return quiet; }

int original_output() { return kept_output; }

Result<std::string> claim_standard_output() {
  if (output_closed) return io_error("cannot write to standard output: it is closed");
  const int copy = dup(STDOUT_FILENO);
  if (copy < 0)
    return io_error(
        fmt::format("cannot write to standard output: {}", std::generic_category().message(errno)));
  silence_output();
  return fmt::format("/dev/fd/{}", copy);
}

Status write_json(const std::string& path, const nlohmann::ordered_json& json) {
  if (path.empty()) return {};
  return write_file(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_contention(const ContentionShare& share, std::string_view consequence) {
  if (share.disturbed())
    fmt::print("note: the machine was busy: {}; {}\n", contention_text(share), consequence);
}

nlohmann::ordered_json contention_json(const ContentionShare& share) {
  if (!share.known) return nullptr;
  return {{"waited", share.waited}, {"disturbed", share.disturbed()}};
}

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), start_ns_(now_ns()), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::finish() {
  if (shown_ && terminal_ && !finished_) say("\r\033[K");
  finished_ = true;
}

void ProgressBar::update(double fraction, const std::string& detail) {
  const int64_t now = now_ns();
  if (finished_ || quiet) return;
  if (now - start_ns_ < kQuietNs || now - last_ns_ < (terminal_ ? kTerminalNs : kLineNs)) return;
  last_ns_ = now;
  shown_ = true;
  if (!terminal_) {
    std::string line = fmt::format("{}: {:.0f} %{}{}\n", label_, fraction * 100, detail.empty() ? "" : ", ",
                                   report::clean_utf8(detail));
    if (line == last_line_) return;
    say(line);
    last_line_ = std::move(line);
    return;
  }
  constexpr int kWidth = 24;
  const int filled = static_cast<int>(fraction * kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < filled ? "█" : "░";
  say(fmt::format("\r\033[K{} {} {:3.0f} % {}", label_, bar, fraction * 100,
                  report::shortened(report::clean_utf8(detail), 40)));
}

}  // namespace hone::apps
