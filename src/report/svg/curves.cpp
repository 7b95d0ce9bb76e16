#include "report/svg/curves.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace hone::report::svg {
namespace {

constexpr double kCurvesHeight = 250, kTop = 12, kBottom = 34, kLeft = 58, kRight = 12;

class CurvesPainter {
 public:
  CurvesPainter(const LossCurves& curves, const Canvas& canvas) : curves_(curves), canvas_(canvas) {
    steps_ = std::max({curves.unchanged.size(), curves.again.size(), curves.changed.size()});
    double scale = 0;
    for (const double loss : curves.unchanged) scale += std::abs(loss);
    band_ =
        curves.unchanged.empty() ? 0 : curves.allowed * scale / static_cast<double>(curves.unchanged.size());
    for (const std::vector<double>* curve : {&curves.unchanged, &curves.again, &curves.changed})
      for (const double loss : *curve) see(loss);
    if (curves.unchanged.empty()) return;
    const auto [least, most] = std::minmax_element(curves.unchanged.begin(), curves.unchanged.end());
    see(*least - band_);
    see(*most + band_);
  }

  Markup paint() const {
    if (steps_ < 2 || !(high_ > low_)) return {};
    Markup content = axes() + band();
    content += path(curves_.again, "curve again") + path(curves_.unchanged, "curve before") +
               path(curves_.changed, "curve after");
    content += dots();
    return document(canvas_, kCurvesHeight, "losses step by step", content);
  }

 private:
  void see(double loss) {
    if (!std::isfinite(loss)) return;
    low_ = std::min(low_, loss);
    high_ = std::max(high_, loss);
  }
  double x(std::size_t step) const {
    return kLeft +
           static_cast<double>(step) / static_cast<double>(steps_ - 1) * (canvas_.width - kLeft - kRight);
  }
  double y(double loss) const {
    return kTop + (high_ - std::clamp(loss, low_, high_)) / (high_ - low_) * (kCurvesHeight - kTop - kBottom);
  }

  std::string points(const std::vector<double>& losses, double shift) const {
    std::string path;
    for (std::size_t i = 0; i < losses.size(); ++i)
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", number(x(i)), number(y(losses[i] + shift)));
    return path;
  }

  Markup path(const std::vector<double>& losses, std::string_view css) const {
    std::vector<double> finite;  // up to the first that is no number
    for (const double loss : losses) {
      if (!std::isfinite(loss)) break;
      finite.push_back(loss);
    }
    if (finite.size() < 2) return {};
    return tag("path", {{"d", points(finite, 0)}, {"class", std::string(css)}}, Markup());
  }

  Markup band() const {
    if (curves_.unchanged.size() < 2 || band_ <= 0) return {};
    std::string around = points(curves_.unchanged, band_);
    for (std::size_t i = curves_.unchanged.size(); i-- > 0;)
      around += fmt::format("L{} {}", number(x(i)), number(y(curves_.unchanged[i] - band_)));
    return tag("path", {{"d", around + "Z"}, {"class", "band"}}, Markup());
  }

  // What a pointer is told.
  Markup dots() const {
    Markup all;
    for (std::size_t i = 0; i < curves_.changed.size(); ++i) {
      if (!std::isfinite(curves_.changed[i])) continue;
      const std::string before =
          i < curves_.unchanged.size() ? fmt::format(", unchanged {:.5g}", curves_.unchanged[i]) : "";
      all += tag(
          "circle",
          {{"cx", number(x(i))}, {"cy", number(y(curves_.changed[i]))}, {"r", "2.5"}, {"class", "measured"}},
          tag("title", fmt::format("step {}: {:.5g}{}", i + 1, curves_.changed[i], before)));
    }
    return all;
  }

  Markup axes() const {
    Markup all;
    for (int i = 0; i <= 4; ++i) {
      const double loss = low_ + (high_ - low_) * i / 4;
      all += line(kLeft, y(loss), canvas_.width - kRight, y(loss), "grid");
      all += text(kLeft - 8, y(loss) + 4, fmt::format("{:.4g}", loss), "axis", Anchor::kEnd);
    }
    const std::size_t every = std::max<std::size_t>(1, steps_ / (canvas_.compact ? 4 : 10));
    for (std::size_t step = 0; step < steps_; step += every)
      all += text(x(step), kCurvesHeight - 14, fmt::format("{}", step + 1), "axis", Anchor::kMiddle);
    return all;
  }

  const LossCurves& curves_;
  const Canvas& canvas_;
  std::size_t steps_ = 0;
  double band_ = 0, low_ = INFINITY, high_ = -INFINITY;
};

}  // namespace

Markup loss_curves(const LossCurves& curves, const Canvas& canvas) {
  return CurvesPainter(curves, canvas).paint();
}

}  // namespace hone::report::svg
