// The command line: which subcommands there are, what each takes, and what is said where it is wrong. CLI11,
// which parses it, stays behind command_line.cpp and help.cpp: its headers take seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/command_info.h"
#include "core/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hone::apps {

// The command line is wrong: a failure that only this layer knows. Exit status 2.
inline constexpr ErrorCode kUsage{100};
inline Error usage_error(std::string message) { return {kUsage, std::move(message)}; }

// What is known of a command beside what CLI11 holds.
struct CommandNotes {
  std::vector<std::string> forms;                    // the ways to write it, where there are several
  std::string surplus;                               // what to say of positionals too many
  std::map<const CLI::Option*, std::string*> texts;  // the variables of options that are text
  std::map<const CLI::Option*, std::vector<std::string>> values;   // what an option takes where it takes few
  std::map<const CLI::Option*, std::vector<std::string>> offered;  // what shells complete
  std::vector<CLI::Option*> written, read;
  std::set<const CLI::Option*> verbatim;  // words of somebody else's command line
  bool rest_is_verbatim = false;          // from the first positional on
};

// Something that a subcommand takes; a handle, whose copies mean the same.
class Option {
 public:
  Option(CLI::Option* option, CommandNotes* notes) : option_(option), notes_(notes) {}
  Option required(bool is_required = true);
  Option positive();      // a number above 0
  Option not_negative();  // a number, 0 or above
  Option one_of(std::vector<std::string> values);
  Option offers(std::vector<std::string> values);  // shells complete these; others are not refused here
  Option with_default();                           // --help says what the variable holds now
  Option excludes(const std::string& other);
  // Names a file that the command writes: "-" is standard output, and then the command prints nothing else
  // there. It must be possible to write it, and it must not be what the command reads.
  Option written();
  // Names a file of which "-" is standard input.
  Option read();
  // Takes words that hone passes on: none of them is the name of a file to it.
  Option verbatim();
  // The words from the first that is no option on, those that look like options, too: they are of another program.
  Option takes_the_rest();
  bool given() const;  // after the parsing

 private:
  CLI::Option* option_;
  CommandNotes* notes_;
};

// The variable that gets the value. It outlives the parsing.
using Target = std::variant<std::string*, std::vector<std::string>*, int*, int64_t*, uint64_t*, double*>;

class Command {
 public:
  Command(CLI::App* app, CommandNotes* notes) : app_(app), notes_(notes) {}
  // A list takes all that are given.
  Option positional(const std::string& name, Target to, const std::string& help);
  // `usage` as --help shows it: "--out DIR", "-o,--out FILE". A list gets one value each time.
  Option option(const std::string& usage, Target to, const std::string& help);
  // Sets `to` to `value` where it is given.
  Option flag(const std::string& name, bool* to, const std::string& help, bool value = true);
  // What to say where more positionals are given than it takes.
  void on_surplus(std::string advice) { notes_->surplus = std::move(advice); }
  // The ways to write it, each what stands after its name, where there are several.
  void forms(std::vector<std::string> forms);
  // What --help says below the options.
  void footer(const std::string& text);

 private:
  CLI::App* app_;
  CommandNotes* notes_;
};

inline constexpr const char* kExitStatusText =
    "0 done; 1 not done, or a check failed; 2 the command line is wrong; 3 a recording lacks too much for a "
    "verdict; 130 interrupted (143 by SIGTERM).";

class Program {
 public:
  Program(int argc, char** argv);  // of main(); both outlive it
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // A subcommand whose `run` is called if it is chosen.
  Command add(const std::string& name, const std::string& summary, std::function<Status()> run);
  // The exit status if nothing is to run: help was asked for and printed, or an error said on stderr.
  std::optional<int> parse();
  // Runs what was chosen.
  Status run();

  // Every command as it was declared: what completions and the manual are made of.
  std::vector<CommandInfo> commands() const;
  // The error for a name that no command has; suggests one.
  Status no_such_command(const std::string& name) const;

  const std::string command_line;  // as typed, for reports
  const bool divided;              // it holds "--": what follows is no option
  int exit_code = 0;  // of a command that succeeded in running, but found something wrong (failed tests, say)
  static constexpr int kNoVerdict = 3;  // exit_code of a recording that lacks too much to be judged

 private:
  void divide_from_program(std::vector<std::string>& words) const;
  Status use_standard_streams(CommandNotes& notes) const;

  int argc_;
  char** argv_;
  std::unique_ptr<CLI::App> app_;
  std::function<Status()> chosen_;
  bool quiet_ = false;
  std::map<std::string, CommandNotes> notes_;  // by command
};

}  // namespace hone::apps
