#include "apps/manual.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/command_line.h"
#include "core/version.h"

namespace hone::apps {
namespace {

// Plain text for roff: a backslash, a leading dot or quote, and a hyphen that is a minus sign have a meaning.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (out.empty() && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string synopsis(const CommandInfo& command) {
  std::string forms;
  for (const std::string& form : command.forms)
    forms += (forms.empty() ? "" : "\n.br\n") + bold("hone " + command.name) + " " + roff(form);
  if (!forms.empty()) return forms;
  std::string line = bold("hone " + command.name);
  for (const OptionInfo& positional : command.positionals)
    line += " " + (positional.needed ? italic(positional.names[0]) : "[" + italic(positional.names[0]) + "]");
  return line + " [" + italic("options") + "]";
}

std::string entry(const OptionInfo& option, bool positional) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(positional ? italic(name) : bold(name));
  std::string text = roff(option.help);
  if (!option.values.empty())
    text += fmt::format(" ({})", roff(fmt::format("{}", fmt::join(option.values, ", "))));
  if (!option.fallback.empty()) text += roff(" (default: " + option.fallback + ")");
  return fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "),
                     option.value.empty() || positional ? "" : " " + italic(option.value), text);
}

}  // namespace

std::string manual_page(std::span<const CommandInfo> commands) {
  std::string page = fmt::format(
      ".TH HONE 1 \"\" \"hone {}\" \"User commands\"\n.SH NAME\nhone \\- measure an AI program, say where "
      "every "
      "millisecond goes, make it faster, and prove it\n.SH SYNOPSIS\n",
      kVersion);
  for (const CommandInfo& command : commands) page += synopsis(command) + "\n.br\n";
  page += ".SH COMMANDS\n";
  for (const CommandInfo& command : commands) {
    page += fmt::format(".SS {}\n{}\n", roff("hone " + command.name), roff(command.summary));
    for (const OptionInfo& positional : command.positionals) page += entry(positional, true);
    for (const OptionInfo& option : command.options) page += entry(option, false);
    if (!command.footer.empty()) {
      std::string footer = command.footer;
      std::replace(footer.begin(), footer.end(), '\n', ' ');
      page += ".PP\n" + roff(footer) + "\n";
    }
  }
  return page + ".SH EXIT STATUS\n" + roff(kExitStatusText) + "\n";
}

}  // namespace hone::apps
