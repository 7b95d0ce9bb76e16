// How --help reads: options with what they take (FILE, N), descriptions wrapped to 80 columns, defaults at
// their end.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class FormatterBase;
}

namespace hone::apps {

inline constexpr std::size_t kHelpWidth = 80;

// `text` in lines of at most `width` columns, broken between words; a longer word has its own line.
std::string wrapped_lines(const std::string& text, std::size_t width);

// The ways to write a command, each what stands after its name; empty: one, which its positionals say.
using FormsOf = std::function<std::vector<std::string>(const std::string& command)>;

std::shared_ptr<CLI::FormatterBase> help_formatter(FormsOf forms_of);

}  // namespace hone::apps
