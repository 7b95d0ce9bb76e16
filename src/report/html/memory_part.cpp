// What takes the memory of devices: its course, and who holds it when most is taken.
#include <fmt/format.h>

#include "report/code_text.h"
#include "report/description/memory_fields.h"
#include "report/html/parts.h"
#include "report/memory_words.h"
#include "report/svg/memory.h"
#include "report/text.h"

namespace hone::report::html {
namespace {

constexpr std::size_t kHoldingRows = 20;

Markup memory_legend(const analyze::DeviceMemory& device) {
  Markup legend =
      Markup::literal("<div class=\"legend\"><span><i class=\"memory-used\"></i>in tensors</span>");
  if (device.peak_reserved > 0)
    legend += Markup::literal(
        "<span><i style=\"background:var(--total)\"></i>of the device, with the allocator</span>");
  return legend + Markup::literal("</div>");
}

}  // namespace

Section memory_part(const analyze::Analysis& analysis) {
  Markup content;
  for (const analyze::DeviceMemory& device : memory_of(analysis)) {
    content += tag("h4", memory_heading(device));
    Markup lines;
    for (const std::string& sentence : memory_sentences(device))
      lines += tag("li", with_code(capitalised(sentence) + "."));
    content += tag("ul", lines);
    const Markup course =
        chart([&](const svg::Canvas& canvas) { return svg::memory_course(device, canvas); });
    if (!course.empty()) content += tag("div", {{"class", "card"}}, memory_legend(device) + course);
    content += table(memory_grid(analysis, device, Form::kPage, kHoldingRows));
  }
  if (content.empty()) return {};
  return section("memory", "Memory",
                 "Event by event, with who holds the memory of the device when most of it is taken.",
                 content);
}

}  // namespace hone::report::html
