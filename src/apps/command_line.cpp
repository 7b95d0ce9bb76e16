#include "apps/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <type_traits>
#include <utility>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "apps/command.h"
#include "apps/help.h"
#include "core/spelling.h"
#include "core/version.h"
#include "report/text.h"

namespace hone::apps {
namespace {

std::string joined(int argc, char** argv) {
  std::string line = "hone";
  for (int i = 1; i < argc; ++i) line += std::string(" ") + argv[i];
  return line;
}

// The long names of its options.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// What of a command's line is wrong; CLI11's own words where they are clear.
std::string fault(const CLI::App& command, const CLI::ParseError& error, const CommandNotes& notes) {
  for (const CLI::Option* option : command.get_options())
    if (option->results().size() > 1 &&
        static_cast<int>(option->results().size()) > option->get_items_expected_max())
      return fmt::format("{} is given {} times; give it once", option->get_name(), option->results().size());
  // "--top: 1 required N:POSITIVE missing"
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.find(": ") != text.npos)
    return text.substr(0, text.find(": ")) + " lacks its value";
  std::vector<std::string> surplus = command.remaining();
  std::erase(surplus, "--");  // which divides, and is nothing itself
  if (surplus.empty()) return text;
  const auto option = std::find_if(surplus.begin(), surplus.end(), [](const std::string& word) {
    return word.size() > 1 && word.front() == '-';
  });
  if (option != surplus.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::string advice = suggestion(name, option_names(command));
    const bool of_program = advice.empty() && !notes.verbatim.empty();
    return fmt::format("there is no option '{}'{}", report::clean_utf8(*option),
                       of_program ? "; if it is the program's, write -- before the program" : advice);
  }
  return fmt::format("'{}' is one too many{}", report::clean_utf8(surplus.front()),
                     notes.surplus.empty() ? "" : ": " + notes.surplus);
}

// The one line, "hone: …" apart, that says what is wrong with the command line.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv,
                       const std::map<std::string, CommandNotes>& notes) {
  const auto commands = app.get_subcommands();
  if (!commands.empty()) {
    const std::string name = commands[0]->get_name();
    const auto found = notes.find(name);
    return fmt::format("{}; see hone {} --help",
                       fault(*commands[0], error, found == notes.end() ? CommandNotes() : found->second),
                       name);
  }
  // CLI11 says only that a subcommand is missing where an unknown one was given.
  const std::string given = argc > 1 ? report::clean_utf8(argv[1]) : "";
  return (given.empty() ? std::string("no command was given")
          : given[0] == '-'
              ? fmt::format("there is no option '{}' before the command", given)
              : fmt::format("there is no command '{}'{}", given, suggestion(given, command_names(app)))) +
         "; see hone --help";
}

namespace fs = std::filesystem;

constexpr const char* kStandardStream = "-";

// Whether both names are of one file, there or not. Devices may be one for reading and writing: a terminal.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  if (fs::exists(a, failed)) return fs::is_regular_file(a, failed) && fs::equivalent(a, b, failed);
  return fs::absolute(a, failed).lexically_normal() == fs::absolute(b, failed).lexically_normal();
}

// Whether the file that an option of the chosen command names can be written, which is known before the work,
// and is neither read by the command nor written for another option.
Status check_written_file(const CLI::App& command, const CommandNotes& notes, const CLI::Option& written) {
  if (written.count() == 0 || written.results()[0] == kStandardStream) return {};
  const std::string option = written.get_name();
  const fs::path path = written.results()[0], folder = path.parent_path();
  std::error_code failed;
  if (fs::is_directory(path, failed))
    return usage_error(fmt::format("{} {}: is a folder; name a file", option, path.string()));
  if (!folder.empty() && !fs::is_directory(folder, failed))
    return invalid(fmt::format("cannot write '{}': there is no folder '{}'", path.string(), folder.string()));
  for (const CLI::Option* other : command.get_options()) {
    const bool names_a_file = other->get_positional() || other->get_type_name() == "FILE";
    if (other == &written || !names_a_file || notes.verbatim.contains(other)) continue;
    for (const std::string& name : other->results())
      if (same_file(path, name))
        return usage_error(
            fmt::format("{} {}: is what {} names; hone never writes over that, give another "
                        "name",
                        option, path.string(), other->get_name()));
  }
  return {};
}

// Names of files and folders that are none. An empty one is a script's variable that is not set.
Status check_names(const CLI::App& command, const CommandNotes& notes) {
  for (const CLI::Option* option : command.get_options()) {
    if (notes.verbatim.contains(option)) continue;
    const bool names_one =
        option->get_positional() || option->get_type_name() == "FILE" || option->get_type_name() == "DIR";
    for (const std::string& name : option->results()) {
      if (names_one && name.empty())
        return usage_error(fmt::format("{}: the name that is given is empty", option->get_name()));
      // "--json --out DIR": the parser takes the next option for the missing name.
      if (names_one && name.starts_with("--") && command.get_option_no_throw(name) != nullptr)
        return usage_error(fmt::format("{}: a name is missing before {}", option->get_name(), name));
    }
  }
  return {};
}

// What is wrong with a number that must be whole; empty: nothing.
template <typename T>
std::string check_whole(const std::string& text) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [read, failed] = std::from_chars(text.data(), end, value);
  if (failed == std::errc::result_out_of_range && read == end) return fmt::format("'{}' is too large", text);
  return failed == std::errc() && read == end ? "" : fmt::format("'{}' is not a whole number", text);
}

// What is wrong with a number that must be above 0; empty: nothing.
std::string check_positive(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [read, failed] = std::from_chars(text.data(), end, value);
  const bool number = failed == std::errc() && read == end;
  return number && value > 0 ? "" : fmt::format("'{}' is not a number above 0", text);
}

// What is wrong with a whole number that must not be negative; empty: nothing.
std::string check_not_negative(const std::string& text) {
  return text.starts_with('-') ? fmt::format("'{}' is a negative number", text) : "";
}

CLI::Option* add_to(CLI::App& app, const std::string& name, Target to, const std::string& help) {
  return std::visit(
      [&](auto* variable) {
        CLI::Option* option = app.add_option(name, *variable, help);
        using T = std::remove_pointer_t<decltype(variable)>;
        if constexpr (std::is_integral_v<T>) option->check(CLI::Validator(check_whole<T>, ""));
        return option;
      },
      to);
}

}  // namespace

Option Option::required(bool is_required) {
  option_->required(is_required);
  return *this;
}

Option Option::positive() {
  option_->check(CLI::Validator(check_positive, "POSITIVE"));
  return *this;
}

Option Option::not_negative() {
  option_->check(CLI::Validator(check_not_negative, ""));
  return *this;
}

Option Option::one_of(std::vector<std::string> values) {
  notes_->values[option_] = notes_->offered[option_] = values;
  option_->check(CLI::IsMember(std::move(values)));
  return *this;
}

Option Option::offers(std::vector<std::string> values) {
  notes_->offered[option_] = std::move(values);
  return *this;
}

Option Option::with_default() {
  option_->capture_default_str();
  return *this;
}

Option Option::excludes(const std::string& other) {
  option_->excludes(other);
  return *this;
}

Option Option::written() {
  notes_->written.push_back(option_);
  return *this;
}

Option Option::read() {
  notes_->read.push_back(option_);
  return *this;
}

Option Option::verbatim() {
  notes_->verbatim.insert(option_);
  return *this;
}

Option Option::takes_the_rest() {
  notes_->rest_is_verbatim = true;
  return verbatim();
}

bool Option::given() const { return option_->count() > 0; }

Option Command::positional(const std::string& name, Target to, const std::string& help) {
  CLI::Option* option = add_to(*app_, name, to, help)->type_name("");
  if (auto* text = std::get_if<std::string*>(&to)) notes_->texts[option] = *text;
  return Option(option, notes_);
}

Option Command::option(const std::string& usage, Target to, const std::string& help) {
  const std::size_t space = usage.find(' ');
  CLI::Option* option = add_to(*app_, usage.substr(0, space), to, help)->type_name(usage.substr(space + 1));
  if (std::holds_alternative<std::vector<std::string>*>(to))
    option->allow_extra_args(false);  // what follows may be a positional
  if (auto* text = std::get_if<std::string*>(&to)) notes_->texts[option] = *text;
  return Option(option, notes_);
}

Option Command::flag(const std::string& name, bool* to, const std::string& help, bool value) {
  return Option(app_->add_flag(name + (value ? "" : "{false}"), *to, help), notes_);
}

void Command::forms(std::vector<std::string> forms) { notes_->forms = std::move(forms); }

void Command::footer(const std::string& text) { app_->footer(wrapped_lines(text, kHelpWidth)); }

Program::Program(int argc, char** argv)
    : command_line(joined(argc, argv)),
      divided(
          std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; })),
      argc_(argc),
      argv_(argv),
      app_(std::make_unique<CLI::App>(
          "hone: measure an AI program, say where every millisecond goes,\nmake it faster, and prove it.")) {
  app_->name("hone");
  app_->formatter(help_formatter([this](const std::string& command) {
    const auto found = notes_.find(command);
    return found == notes_.end() ? std::vector<std::string>() : found->second.forms;
  }));
  app_->set_version_flag("--version", fmt::format("hone {}", kVersion));
  app_->require_subcommand(1);
  app_->fallthrough(false);
  app_->footer(wrapped_lines(std::string("Exit status: ") + kExitStatusText, kHelpWidth));
}

Program::~Program() = default;

Command Program::add(const std::string& name, const std::string& summary, std::function<Status()> run) {
  CLI::App* command = app_->add_subcommand(name, summary);
  command->callback([this, run = std::move(run)] { chosen_ = run; });
  command->add_flag("--quiet", quiet_, "print nothing but errors");
  return Command(command, &notes_[name]);
}

// "profile --steps 5 train.py --steps 300" is "profile --steps 5 -- train.py --steps 300", as of every program that starts others.
void Program::divide_from_program(std::vector<std::string>& words) const {
  const auto notes = words.empty() ? notes_.end() : notes_.find(words[0]);
  if (notes == notes_.end() || !notes->second.rest_is_verbatim) return;
  const CLI::App* command = app_->get_subcommand(words[0]);
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word == "--") return;
    if (word.size() < 2 || word[0] != '-') {
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), "--");
      return;
    }
    const CLI::Option* option = command->get_option_no_throw(word.substr(0, word.find('=')));
    if (option == nullptr) return;  // a slip of the pen, which is told
    if (option->get_items_expected_min() > 0 && word.find('=') == std::string::npos) ++at;
  }
}

std::optional<int> Program::parse() {
  try {
    std::vector<std::string> words(argv_ + 1, argv_ + argc_);
    // "help bench" is "bench --help".
    const std::vector<std::string> names = command_names(*app_);
    const bool asks = !words.empty() && words.size() <= 2 && words[0] == "help";
    if (asks && (words.size() == 1 || std::find(names.begin(), names.end(), words[1]) != names.end()))
      std::rotate(words.begin(), words.begin() + 1, words.end()), words.back() = "--help";
    divide_from_program(words);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app_->parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);  // --help, --version
    say(fmt::format("hone: {}\n", usage_text(*app_, error, argc_, argv_, notes_)));
    return 2;
  }
  return std::nullopt;
}

Status Program::run() {
  const CLI::App& command = *app_->get_subcommands()[0];
  CommandNotes& notes = notes_[command.get_name()];
  HONE_CHECK(check_names(command, notes));
  for (const CLI::Option* option : notes.written) HONE_CHECK(check_written_file(command, notes, *option));
  HONE_CHECK(use_standard_streams(notes));
  if (quiet_) silence_output();
  return chosen_();
}

// "-" becomes a name that opens the stream.
Status Program::use_standard_streams(CommandNotes& notes) const {
  std::string to_output;
  for (CLI::Option* option : notes.written) {
    if (option->count() == 0 || option->results()[0] != kStandardStream) continue;
    if (!to_output.empty())
      return usage_error(fmt::format("{} and {}: only one of them can go to standard output", to_output,
                                     option->get_name()));
    to_output = option->get_name();
    HONE_ASSIGN(*notes.texts.at(option), claim_standard_output());
  }
  for (CLI::Option* option : notes.read)
    if (option->count() > 0 && option->results()[0] == kStandardStream)
      *notes.texts.at(option) = "/dev/stdin";
  return {};
}

std::vector<CommandInfo> Program::commands() const {
  std::vector<CommandInfo> all;
  for (const CLI::App* command : std::as_const(*app_).get_subcommands({})) {
    const CommandNotes& notes = notes_.at(command->get_name());
    CommandInfo info{command->get_name(),  command->get_description(), notes.forms, {}, {},
                     command->get_footer()};
    for (const CLI::Option* option : command->get_options()) {
      OptionInfo row;
      for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
      if (row.names.empty()) row.names = {option->get_name()};
      const std::string type = option->get_type_name();
      if (option->get_type_size() > 0) row.value = type.substr(0, type.find(':'));
      row.help = option->get_description();
      row.fallback = option->get_default_str();
      if (const auto values = notes.values.find(option); values != notes.values.end())
        row.values = values->second;
      if (const auto offered = notes.offered.find(option); offered != notes.offered.end())
        row.offered = offered->second;
      if (option->get_positional() && option->get_name() == "COMMAND") row.offered = command_names(*app_);
      row.needed = option->get_required();
      (option->get_positional() ? info.positionals : info.options).push_back(std::move(row));
    }
    all.push_back(std::move(info));
  }
  return all;
}

Status Program::no_such_command(const std::string& name) const {
  return usage_error(fmt::format("there is no command '{}'{}; see hone --help", report::clean_utf8(name),
                                 suggestion(name, command_names(*app_))));
}

}  // namespace hone::apps
