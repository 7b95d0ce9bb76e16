#include "apps/completion.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone::apps {
namespace {

// Within single quotes of a POSIX shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Within single quotes of fish, where a backslash escapes.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "'";
}

// A description for zsh's _arguments, in which brackets and colons have a meaning.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) out += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out;
}

bool takes_folder(const OptionInfo& option) { return option.value == "DIR"; }
bool takes_file(const OptionInfo& option) { return option.value.find("FILE") != std::string::npos; }

std::vector<std::string> names_of(std::span<const CommandInfo> commands) {
  std::vector<std::string> names;
  for (const CommandInfo& command : commands) names.push_back(command.name);
  return names;
}

// What positionals take: a fixed list of words, or files.
std::vector<std::string> positional_values(const CommandInfo& command) {
  std::vector<std::string> values;
  for (const OptionInfo& positional : command.positionals)
    values.insert(values.end(), positional.offered.begin(), positional.offered.end());
  return values;
}

// The words of one kind after which an option's value comes: "lab --out|lab --json".
std::string bash_values(const CommandInfo& command, const OptionInfo& option) {
  if (option.value.empty()) return {};
  std::vector<std::string> words;
  for (const std::string& name : option.names) words.push_back(command.name + " " + name);
  const std::string reply = !option.offered.empty()
                                ? fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                                              shell_quoted(fmt::format("{}", fmt::join(option.offered, " "))))
                            : takes_folder(option) ? std::string("COMPREPLY=($(compgen -d -- \"$word\"))")
                            : takes_file(option)   ? std::string("COMPREPLY=($(compgen -f -- \"$word\"))")
                                                   : std::string("COMPREPLY=()");
  return fmt::format("    '{}') {}; return;;\n", fmt::join(words, "'|'"), reply);
}

}  // namespace

std::string bash_completion(std::span<const CommandInfo> commands) {
  std::string values, options;
  for (const CommandInfo& command : commands) {
    std::vector<std::string> names;
    for (const OptionInfo& option : command.options) {
      values += bash_values(command, option);
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
    const std::vector<std::string> words = positional_values(command);
    options += fmt::format("    {}) options={} words={};;\n", command.name,
                           shell_quoted(fmt::format("{}", fmt::join(names, " "))),
                           shell_quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  return fmt::format(R"(# Completion of hone in bash: source <(hone completion bash)
_hone() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
  local options= words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W {0} -- "$word"))
    return
  fi
  case "$command $before" in
{1}  esac
  case "$command" in
{2}  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _hone hone
)",
                     shell_quoted(fmt::format("{} --help --version", fmt::join(names_of(commands), " "))),
                     values, options);
}

std::string zsh_completion(std::span<const CommandInfo> commands) {
  std::string list, cases;
  for (const CommandInfo& command : commands) {
    list += "    " + shell_quoted(zsh_text(command.name) + ":" + command.summary) + "\n";
    cases += fmt::format("    {})\n      _arguments -s", command.name);
    for (const OptionInfo& option : command.options) {
      const std::string action = !option.offered.empty() ? fmt::format("({})", fmt::join(option.offered, " "))
                                 : takes_folder(option)  ? std::string("_files -/")
                                 : takes_file(option)    ? std::string("_files")
                                                         : std::string(" ");
      const std::string value =
          option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), action);
      for (const std::string& name : option.names)
        cases += " \\\n        " + shell_quoted(fmt::format("*{}[{}]{}", name, zsh_text(option.help), value));
    }
    const std::vector<std::string> words = positional_values(command);
    if (!command.positionals.empty())
      cases +=
          " \\\n        " +
          shell_quoted(words.empty() ? std::string("*:file:_files")
                                     : fmt::format("*:{}:({})", zsh_text(command.positionals[0].names[0]),
                                                   fmt::join(words, " ")));
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef hone
# Completion of hone in zsh: hone completion zsh > a folder of $fpath/_hone
_hone() {{
  local -a commands=(
{0}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{1}  esac
}}
if [[ $funcstack[1] == _hone ]]; then
  _hone "$@"
else
  compdef _hone hone
fi
)",
                     list, cases);
}

std::string fish_completion(std::span<const CommandInfo> commands) {
  std::string out = "# Completion of hone in fish: hone completion fish | source\n";
  for (const CommandInfo& command : commands) {
    out += fmt::format("complete -c hone -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       fish_quoted(command.summary));
    const std::string here =
        fmt::format("complete -c hone -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionInfo& option : command.options) {
      std::string line = here;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty()) line += takes_file(option) || takes_folder(option) ? " -r -F" : " -x";
      if (!option.offered.empty())
        line += " -a " + fish_quoted(fmt::format("{}", fmt::join(option.offered, " ")));
      out += line + " -d " + fish_quoted(option.help) + "\n";
    }
    if (const std::vector<std::string> words = positional_values(command); !words.empty())
      out += fmt::format("{} -f -a {}\n", here, fish_quoted(fmt::format("{}", fmt::join(words, " "))));
  }
  return out;
}

}  // namespace hone::apps
