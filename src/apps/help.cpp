#include "apps/help.h"

#include <sstream>
#include <utility>

// The whole of CLI11, for its Formatter; command_line.cpp makes do with App.hpp, which compiles faster.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace hone::apps {
namespace {

constexpr std::size_t kNames = 28, kWidth = kHelpWidth;

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(FormsOf forms_of) : forms_of_(std::move(forms_of)) { column_width(kNames); }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage;
    for (const std::string& form : forms_of_(app->get_name()))
      usage += fmt::format("{}hone {} {}\n", usage.empty() ? "Usage: " : "       ", app->get_name(), form);
    return usage.empty() ? CLI::Formatter::make_usage(app, std::move(name)) : usage;
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";  // a flag
    const std::string type = option->get_type_name();
    const bool needed = option->get_required() && option->nonpositional();
    // Without what CLI11 checks the value for, which follows a colon.
    return (type.empty() ? "" : " " + type.substr(0, type.find(':'))) + (needed ? " (needed)" : "");
  }

  // Without the value that a flag stands for: "--no-overlap{false}".
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string value = option->get_default_str();
    return wrapped_lines(
        option->get_description() + (value.empty() ? "" : fmt::format(" (default: {})", value)),
        kWidth - kNames);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::stringstream out;
    CLI::detail::format_help(out, command->get_name(),
                             wrapped_lines(command->get_description(), kWidth - kNames), kNames);
    return out.str();
  }

 private:
  FormsOf forms_of_;
};

}  // namespace

std::string wrapped_lines(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string lines;
  std::size_t used = 0;
  for (std::string word; words >> word; used += word.size()) {
    if (lines.empty()) {
    } else if (used + 1 + word.size() > width) {
      lines += '\n';
      used = 0;
    } else {
      lines += ' ';
      ++used;
    }
    lines += word;
  }
  return lines;
}

std::shared_ptr<CLI::FormatterBase> help_formatter(FormsOf forms_of) {
  return std::make_shared<HelpFormatter>(std::move(forms_of));
}

}  // namespace hone::apps
