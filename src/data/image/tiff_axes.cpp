#include "data/image/tiff_axes.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/core.h>

namespace hone::data {
namespace {

constexpr int64_t kMostPages = int64_t{1} << 24;

std::optional<int64_t> count_from(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() || value < 1 || value > kMostPages) return std::nullopt;
  return value;
}

// The value of an XML attribute within one tag.
std::optional<std::string_view> xml_attribute(std::string_view tag, std::string_view name) {
  for (std::size_t at = tag.find(name); at != std::string_view::npos; at = tag.find(name, at + 1)) {
    const bool starts = at > 0 && (tag[at - 1] == ' ' || tag[at - 1] == '\n' || tag[at - 1] == '\t');
    std::string_view rest = tag.substr(at + name.size());
    if (!starts || !rest.starts_with('=') || rest.size() < 2) continue;
    const char quote = rest[1];
    if (quote != '"' && quote != '\'') continue;
    rest.remove_prefix(2);
    const std::size_t end = rest.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }
  return std::nullopt;
}

std::optional<int64_t> xml_count(std::string_view tag, std::string_view name) {
  const auto text = xml_attribute(tag, name);
  return text ? count_from(*text) : std::nullopt;
}

// "images=12\nchannels=2\nslices=3\n…" as ImageJ writes it.
int64_t imagej_count(std::string_view description, std::string_view key) {
  const std::size_t at = description.find("\n" + std::string(key) + "=");
  if (at == std::string_view::npos) return 1;
  return count_from(description.substr(at + key.size() + 2)).value_or(1);
}

// `order`: the axes of pages, the fastest first, of "Z", "C" and "T".
void set_steps(StackAxes& axes, std::string_view order) {
  int64_t step = 1;
  for (const char axis : order) {
    if (axis == 'C') axes.channel_step = step, step *= axes.channels;
    if (axis == 'Z') axes.depth_step = step, step *= axes.depth;
    if (axis == 'T') axes.time_step = step, step *= axes.times;
  }
}

Result<StackAxes> ome_axes(std::string_view description, std::size_t at, int64_t samples) {
  const std::string_view tag = description.substr(at, description.substr(at).find('>'));
  const auto order = xml_attribute(tag, "DimensionOrder");
  const auto z = xml_count(tag, "SizeZ"), c = xml_count(tag, "SizeC"), t = xml_count(tag, "SizeT");
  if (!order || order->size() != 5 || !order->starts_with("XY") || !z || !c || !t)
    return corrupt(
        "its OME description lacks DimensionOrder, SizeZ, SizeC or SizeT, or one of them is no number");
  for (const char axis : {'Z', 'C', 'T'})
    if (order->find(axis) == std::string_view::npos)
      return corrupt(fmt::format("its OME description has the unknown DimensionOrder '{}'", *order));
  StackAxes axes;
  axes.samples = samples;
  if (*c % samples != 0)
    return corrupt(
        fmt::format("its OME description counts {} channels, but each page holds {}", *c, samples));
  axes.channels = *c / samples;
  axes.depth = *z;
  axes.times = *t;
  set_steps(axes, order->substr(2));
  return axes;
}

}  // namespace

Result<StackAxes> stack_axes(std::string_view description, int64_t pages, int64_t samples) {
  StackAxes axes;
  axes.samples = samples;
  axes.depth = pages;
  const std::size_t pixels = description.find("<Pixels");
  if (description.find("<OME") != std::string_view::npos && pixels != std::string_view::npos) {
    HONE_ASSIGN(axes, ome_axes(description, pixels, samples));
  } else if (description.starts_with("ImageJ=")) {
    axes.channels = imagej_count(description, "channels");
    axes.depth = imagej_count(description, "slices");
    axes.times = imagej_count(description, "frames");
    if (axes.channels * axes.depth * axes.times == 1) axes.depth = imagej_count(description, "images");
    set_steps(axes, "CZT");
  }
  const int64_t described = axes.channels * axes.depth * axes.times;
  if (described != pages)
    return unsupported(
        fmt::format("its description tells of {} pages ({} channels, {} deep, {} times), the file has {}; "
                    "write the stack into one file, or read its pages as single images",
                    described, axes.channels, axes.depth, axes.times, pages));
  return axes;
}

}  // namespace hone::data
