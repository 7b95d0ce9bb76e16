#include "apps/command.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "report/text.h"

namespace hone::apps {

CLI::App* Program::add(const std::string& name, const std::string& summary, std::function<Status()> run) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->callback([this, run = std::move(run)] { chosen = run; });
  return command;
}

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

CLI::Validator positive() {
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [read, failed] = std::from_chars(text.data(), end, value);
    const bool number = failed == std::errc() && read == end;
    return number && value > 0 ? "" : fmt::format("'{}' is not a number above 0", text);
  };
  return {check, "POSITIVE"};
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto commands = app.get_subcommands();
  if (!commands.empty()) return fmt::format("{}; see hone {} --help", error.what(), commands[0]->get_name());
  // CLI11 says only that a subcommand is missing where an unknown one was given.
  const std::string given = argc > 1 ? report::clean_utf8(argv[1]) : "";
  return (given.empty()     ? std::string("no command was given")
          : given[0] == '-' ? fmt::format("there is no option '{}' before the command", given)
                            : fmt::format("there is no command '{}'", given)) +
         "; see hone --help";
}

Status check_json_path(const CLI::App& app) {
  const CLI::Option* json = app.get_subcommands()[0]->get_option_no_throw("--json");
  if (json == nullptr || json->count() == 0) return {};
  const std::filesystem::path folder = std::filesystem::path(json->results()[0]).parent_path();
  std::error_code failed;
  if (folder.empty() || std::filesystem::is_directory(folder, failed)) return {};
  return invalid(
      fmt::format("cannot write '{}': there is no folder '{}'", json->results()[0], folder.string()));
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
