#include "report/sampled_words.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/units.h"
#include "report/text.h"

namespace hone::report {
namespace {

constexpr std::size_t kCourseColumns = 24;  // as many as a terminal shows of a column of words
constexpr std::array<std::string_view, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr double kSilentLink = 1e7;  // bytes a second: what a device that nobody copies to sees all the same

double part_mean(const std::vector<double>& profile, std::size_t column) {
  const std::size_t from = column * profile.size() / kCourseColumns;
  const std::size_t to = std::max(from + 1, (column + 1) * profile.size() / kCourseColumns);
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += profile[i];
  return sum / static_cast<double>(to - from);
}

}  // namespace

std::string sampled_text(const analyze::SampledFigure& figure, double value) {
  if (figure.unit == "B/s") return format_byte_rate(value);
  if (figure.unit == "Hz") return fmt::format("{:.2f} GHz", value * 1e-9);
  return fmt::format("{:.1f} {}", value, figure.unit);
}

std::string course_text(const analyze::SampledFigure& figure) {
  if (figure.profile.empty()) return {};
  const double largest = *std::max_element(figure.profile.begin(), figure.profile.end());
  const double scale = figure.unit == "%" ? 100 : largest;
  std::string text;
  for (std::size_t column = 0; column < kCourseColumns; ++column) {
    const double share = scale > 0 ? part_mean(figure.profile, column) / scale : 0;
    const double bar = std::clamp(share, 0.0, 1.0) * static_cast<double>(kBars.size() - 1);
    text += kBars[static_cast<std::size_t>(std::lround(bar))];
  }
  return text;
}

std::vector<analyze::SampledFigure> told_figures(const analyze::SampledDevice& device) {
  std::vector<analyze::SampledFigure> figures = device.figures;
  std::erase_if(figures, [](const analyze::SampledFigure& figure) {
    return figure.unit == "B/s" && figure.most < kSilentLink;
  });
  return figures;
}

std::string sampled_heading(const analyze::SampledDevice& device) {
  std::string text = fmt::format("GPU {}, sampled every {:g} µs", device.device, device.interval_us);
  if (device.steps > 0)
    text += fmt::format(" over {} of {}", counted(device.steps, "step"), format_ms(device.step_ms));
  return text;
}

std::vector<analyze::SampledDevice> shown_devices(const analyze::Analysis& analysis) {
  std::vector<analyze::SampledDevice> devices = analysis.sampled;
  std::erase_if(devices, [&](const analyze::SampledDevice& device) {
    return device.rank != analysis.ledger_rank ||
           (analysis.ledger_device >= 0 && device.device != analysis.ledger_device);
  });
  return devices;
}

}  // namespace hone::report
