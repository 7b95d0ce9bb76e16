// What the subcommands of the program share, beside how they are declared (command_line.h): where progress
// and results go. Each subcommand is one file with one add_…_command(); main.cpp lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "apps/command_line.h"
#include "apps/signals.h"
#include "core/contention.h"
#include "core/result.h"

namespace hone::apps {

// Writes to stderr what is said beside the results. Where nobody can read it (a closed or full stderr) it is
// lost, and nothing else is.
void say(std::string_view text);

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
  std::string last_line_;  // said where there is no terminal
  bool terminal_;
  bool shown_ = false;
  bool finished_ = false;
};

// What the program exits with after `error`.
int exit_status(const Error& error);

// Most of what the machine has free, unless --memory says otherwise (model_options.h).
void set_default_memory_budget();

// Before anything else: a closed stdin, stdout or stderr becomes /dev/null, lest a file that is opened later
// gets its number and what is printed.
void open_standard_streams();
// At the end: whether everything that was printed arrived.
Status flush_output();

// From here on, what is printed to standard output and progress are left out; errors are not.
void silence_output();
bool is_silenced();
// Standard output as it was before that: for programs that are started.
int original_output();
// The same, and the name of a file that is what standard output was: for --json -.
Result<std::string> claim_standard_output();

// Writes `json` to the file that --json named; nothing where it named none. Text that is not UTF-8 (names of
// a hostile model) is replaced.
Status write_json(const std::string& path, const nlohmann::ordered_json& json);

// Says that the machine was busy while something was measured, and what follows; nothing where it was not.
void print_contention(const ContentionShare& share, std::string_view consequence);
// {"waited": 0.34, "disturbed": true}; null where it is not known.
nlohmann::ordered_json contention_json(const ContentionShare& share);

void add_about_commands(Program&);
void add_bench_command(Program&);
void add_ceilings_command(Program&);
void add_compare_command(Program&);
void add_conformance_command(Program&);
void add_explain_command(Program&);
void add_lab_command(Program&);
void add_optimize_command(Program&);
void add_profile_command(Program&);
void add_run_command(Program&);
void add_show_command(Program&);
void add_top_command(Program&);
void add_train_command(Program&);
void add_zoo_command(Program&);

}  // namespace hone::apps
