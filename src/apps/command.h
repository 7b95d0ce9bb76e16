// What the subcommands of the program share: how one is declared, how its result becomes an exit status,
// where progress goes. Each subcommand is one file with one add_…_command(); main.cpp lists them.
#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace hone::apps {

// Collects what the chosen subcommand has to run; main runs it after parsing.
struct Program {
  CLI::App app{
      "hone: measure an AI program, say where every millisecond goes,\nmake it faster, and prove it."};
  std::function<Status()> chosen;
  std::string command_line;  // as typed, for reports
  int exit_code = 0;  // of a command that succeeded in running, but found something wrong (failed tests, say)

  // A subcommand whose `run` is called when it was chosen.
  CLI::App* add(const std::string& name, const std::string& summary, std::function<Status()> run);
};

// Shows progress on stderr: a bar on a terminal, a line every few seconds elsewhere. Says nothing in the
// first two seconds, so that quick work stays quiet.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  // `fraction` in [0, 1]; `detail` is what is being done right now.
  void update(double fraction, const std::string& detail = {});
  // Clears the bar; later updates show nothing.
  void finish();

 private:
  std::string label_;
  int64_t start_ns_;
  int64_t last_ns_ = 0;
  bool terminal_;
  bool shown_ = false;
  bool finished_ = false;
};

// Set by SIGINT and SIGTERM: long work looks here and stops cleanly.
bool interrupted();
void watch_interrupts();

// For options that take a number above 0.
CLI::Validator positive();

// The one line, "hone: …" apart, that says what is wrong with the command line.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv);

// Whether the file that --json of the chosen command names can be written: known before the work.
Status check_json_path(const CLI::App& app);

// Writes `json` to the file that --json named; nothing where it named none. Text that is not UTF-8 (names of
// a hostile model) is replaced.
Status write_json(const std::string& path, const nlohmann::ordered_json& json);

void add_bench_command(Program&);
void add_ceilings_command(Program&);
void add_compare_command(Program&);
void add_conformance_command(Program&);
void add_explain_command(Program&);
void add_lab_command(Program&);
void add_optimize_command(Program&);
void add_run_command(Program&);
void add_show_command(Program&);
void add_zoo_command(Program&);

}  // namespace hone::apps
