// The command line: which subcommands there are, what each takes, and what is said where it is wrong. CLI11,
// which parses it, stays behind command_line.cpp and help.cpp: its headers take seconds to compile.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace hone::apps {

// Something that a subcommand takes; a handle, whose copies mean the same.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required(bool is_required = true);
  Option positive();  // a number above 0
  Option one_of(std::vector<std::string> values);
  Option with_default();  // --help says what the variable holds now
  Option excludes(const std::string& other);
  bool given() const;  // after the parsing

 private:
  CLI::Option* option_;
};

// The variable that gets the value. It outlives the parsing.
using Target = std::variant<std::string*, std::vector<std::string>*, int*, int64_t*, uint64_t*, double*>;

class Command {
 public:
  Command(CLI::App* app, std::string* surplus) : app_(app), surplus_(surplus) {}
  // A list takes all that are given.
  Option positional(const std::string& name, Target to, const std::string& help);
  // `usage` as --help shows it: "--out DIR", "-o,--out FILE". A list gets one value each time.
  Option option(const std::string& usage, Target to, const std::string& help);
  // Sets `to` to `value` where it is given.
  Option flag(const std::string& name, bool* to, const std::string& help, bool value = true);
  // What to say where more positionals are given than it takes.
  void on_surplus(std::string advice) { *surplus_ = std::move(advice); }
  // What --help says below the options.
  void footer(const std::string& text);

 private:
  CLI::App* app_;
  std::string* surplus_;
};

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

  const std::string command_line;  // as typed, for reports
  int exit_code = 0;  // of a command that succeeded in running, but found something wrong (failed tests, say)
  static constexpr int kNoVerdict = 3;  // exit_code of a recording that lacks too much to be judged

 private:
  int argc_;
  char** argv_;
  std::unique_ptr<CLI::App> app_;
  std::function<Status()> chosen_;
  std::map<std::string, std::string> surplus_;  // by command: what it says of positionals too many
};

}  // namespace hone::apps
