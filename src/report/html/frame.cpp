// What page parts are made of: sections, tabs, legends' home.
#include <algorithm>

#include <fmt/format.h>

#include "report/code_text.h"
#include "report/html/parts.h"
#include "report/text.h"

namespace hone::report::html {

std::string title_of(std::string_view name, std::size_t shown) {
  constexpr std::size_t kReadable = 400;
  const std::string clean = clean_utf8(name);
  return columns(clean) > shown ? shortened(clean, kReadable) : "";
}

Section section(std::string_view id, std::string_view title, std::string_view lead, const Markup& content,
                std::string_view name) {
  Markup inside = tag("h2", title);
  inside += tag("p", {{"class", "lead"}}, lead);
  return {std::string(id), std::string(name.empty() ? title : name),
          tag("section", {{"id", std::string(id)}}, inside + content)};
}

Markup contents_list(const std::vector<Section>& sections) {
  Markup items;
  for (const Section& part : sections)
    if (!part.content.empty()) items += tag("li", tag("a", {{"href", "#" + part.id}}, part.name));
  return tag("nav", {{"class", "contents"}, {"aria-label", "Contents"}}, tag("ul", items));
}

Markup all_sections(const std::vector<Section>& sections) {
  Markup all;
  for (const Section& part : sections) all += part.content;
  return all;
}

namespace {

constexpr std::size_t kLongWord = 20;  // characters that a narrow page has no line for
constexpr std::size_t kUnbroken = 64;  // columns of code that a line of any card on a wide page has room for

// Text whose long words, paths and calls, break where a reader would break them.
Markup breakable(std::string_view text) {
  Markup result;
  std::size_t done = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find(' ', at), text.size());
    if (end - at <= kLongWord) continue;
    for (std::size_t i = at; i + 1 < end; ++i)
      if (std::string_view("/(=,.").find(text[i]) != std::string_view::npos) {
        result += Markup::text(text.substr(done, i + 1 - done)) + Markup::literal("<wbr>");
        done = i + 1;
      }
  }
  return result + Markup::text(text.substr(done));
}

}  // namespace

// A browser would break a line within "--against".
Markup prose(std::string_view text) {
  const std::string bound = bind_units(text);
  Markup result;
  std::size_t done = 0;
  for (std::size_t at = bound.find(" --"); at != std::string::npos; at = bound.find(" --", at + 1)) {
    const std::size_t end = std::min(bound.find(' ', at + 1), bound.size());
    result += breakable(std::string_view(bound).substr(done, at + 1 - done));
    result += tag("span", {{"class", "option"}}, bound.substr(at + 1, end - at - 1));
    done = end;
  }
  return result + breakable(std::string_view(bound).substr(done));
}

Markup with_code(std::string_view text) {
  Markup result;
  for (const TextPart& part : code_parts(text))
    result += part.code ? tag("code", {{"class", columns(part.text) > kUnbroken ? "inline long" : "inline"}},
                              part.text)
                        : prose(part.text);
  return result;
}

Markup cell(std::string_view name, const std::string& value, std::optional<double> sort_by) {
  return tag("td",
             {{"class", "n"},
              {"data-name", value.empty() ? "" : std::string(name)},
              {"data-value", sort_by ? fmt::format("{:.6g}", *sort_by) : ""}},
             value);
}

Markup tabs(std::string_view id, std::string_view first_name, const Markup& first,
            std::string_view second_name, const Markup& second) {
  std::string one = fmt::format("{}-one", id), two = fmt::format("{}-two", id), name(id);
  // The ids are our own; the names of the panels are escaped by tag().
  Markup inside =
      Markup::literal(fmt::format("<input type=\"radio\" name=\"{0}\" id=\"{1}\">"
                                  "<input type=\"radio\" name=\"{0}\" id=\"{2}\" checked>",
                                  name, one, two));
  inside += tag("div", {{"class", "bar"}},
                tag("label", {{"for", one}}, first_name) + tag("label", {{"for", two}}, second_name));
  inside += tag("div", {{"class", "panel one"}}, first);
  inside += tag("div", {{"class", "panel two"}}, second);
  return tag("div", {{"class", "tabs"}}, inside);
}

Markup warnings_part(const std::vector<std::string>& warnings) {
  Markup all;
  for (const std::string& warning : warnings) all += tag("p", {{"class", "warning"}}, with_code(warning));
  return all;
}

}  // namespace hone::report::html
