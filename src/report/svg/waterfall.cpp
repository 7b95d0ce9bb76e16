#include "report/svg/waterfall.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/text.h"
#include "report/words.h"

namespace hone::report::svg {
namespace {

using analyze::Analysis;
using analyze::Cause;

struct WaterfallRow {
  Cause cause;
  double before_ms = 0;
  double after_ms = 0;
};

double ms_of(const Analysis* analysis, Cause cause) {
  if (analysis == nullptr) return 0;
  for (const analyze::LedgerRow& row : analysis->ledger)
    if (row.cause == cause) return row.ms;
  return 0;
}

std::vector<WaterfallRow> rows_of(const Analysis& before, const Analysis* after) {
  std::vector<WaterfallRow> rows;
  for (Cause cause : analyze::all_causes()) {
    WaterfallRow row{cause, ms_of(&before, cause), ms_of(after, cause)};
    if (row.before_ms > 0 || row.after_ms > 0) rows.push_back(row);
  }
  return rows;
}

// Where things stand: labels in a column at the left, or above the bars on a phone; values at the right.
struct Frame {
  double plot_left, plot_right, row_height, bar_height, label_drop;

  static Frame of(const Canvas& canvas, bool pair) {
    double bar = canvas.compact ? 9 : 12;
    double bars = pair ? 2 * bar + 3 : bar + 4;
    if (canvas.compact) return {0, canvas.width, bars + 34, bar, 19};
    return {178, canvas.width - 178, bars + 17, bar, 0};
  }
};

class WaterfallPainter {
 public:
  WaterfallPainter(const Analysis& before, const Analysis* after, const Canvas& canvas)
      : before_(before),
        after_(after),
        canvas_(canvas),
        frame_(Frame::of(canvas, after != nullptr)),
        limit_(std::max(before.step.ms.median, after == nullptr ? 0 : after->step.ms.median)) {}

  Markup paint() {
    std::vector<WaterfallRow> rows = rows_of(before_, after_);
    double height = frame_.row_height * static_cast<double>(rows.size() + 1) + 30;
    Markup content = grid(height);
    total_row();
    for (const WaterfallRow& row : rows) cause_row(row);
    content += content_;
    return document(canvas_, height, "The ledger: milliseconds of the step by cause, adding up to the step",
                    content);
  }

 private:
  double x(double ms) const {
    return frame_.plot_left + (limit_ > 0 ? ms / limit_ : 0) * (frame_.plot_right - frame_.plot_left);
  }

  Markup grid(double height) const {
    Markup marks;
    double bottom = height - 24;
    for (double tick : ticks(limit_, canvas_.compact ? 4 : 8)) {
      // On a phone labels stand over the plot: a grid would run through them.
      marks += line(x(tick), canvas_.compact ? bottom - 4 : 0, x(tick), bottom, "grid");
      Anchor anchor = canvas_.compact && tick == 0 ? Anchor::kStart : Anchor::kMiddle;
      const bool micro = limit_ < 1;  // as fixed_ms
      const std::string_view unit = tick > 0 ? "" : micro ? " µs" : " ms";
      marks +=
          text(x(tick), bottom + 16, fmt::format("{:g}{}", micro ? tick * 1e3 : tick, unit), "axis", anchor);
    }
    return marks;
  }

  std::string values(double before_ms, double after_ms) const {
    if (after_ == nullptr) return fixed_ms(before_ms, limit_);
    return fmt::format("{} → {}", fixed_number(before_ms, limit_), fixed_ms(after_ms, limit_));
  }

  void labels(std::string_view name, const std::string& value, std::string_view css) {
    double middle = y_ + (frame_.row_height - frame_.label_drop) / 2 + 4.5;
    double baseline = canvas_.compact ? y_ + 15 : middle;
    content_ += text(canvas_.compact ? 0 : frame_.plot_left - 14, baseline, name, css,
                     canvas_.compact ? Anchor::kStart : Anchor::kEnd);
    content_ += text(canvas_.width, baseline, value, fmt::format("{} value", css), Anchor::kEnd);
  }

  double bar_top() const {
    double bars = after_ == nullptr ? frame_.bar_height + 4 : 2 * frame_.bar_height + 3;
    return y_ + frame_.label_drop + (frame_.row_height - frame_.label_drop - bars) / 2;
  }

  void bar(double start_ms, double ms, bool is_after, const std::string& css, std::string_view name,
           double step_ms) {
    if (ms <= 0) return;
    double height = after_ == nullptr ? frame_.bar_height + 4 : frame_.bar_height;
    double top = bar_top() + (is_after ? frame_.bar_height + 3 : 0);
    std::string tip = fmt::format(
        "{}{}: {}, {} of {}", name, after_ == nullptr ? "" : (is_after ? ", after" : ", before"),
        fixed_ms(ms, step_ms), format_percent(step_ms > 0 ? ms / step_ms : 0), fixed_ms(step_ms, step_ms));
    const char* side = after_ != nullptr && !is_after ? "before" : "after";
    content_ +=
        box(x(start_ms), top, x(start_ms + ms) - x(start_ms), height, fmt::format("{} {}", css, side), tip);
  }

  void total_row() {
    double before_ms = before_.step.ms.median, after_ms = after_ == nullptr ? 0 : after_->step.ms.median;
    labels("step", values(before_ms, after_ms), "label strong");
    bar(0, before_ms, false, "total", "step", before_ms);
    bar(0, after_ms, true, "total", "step", after_ms);
    y_ += frame_.row_height;
  }

  void cause_row(const WaterfallRow& row) {
    std::string_view name = row_label(before_, row.cause);
    labels(name, values(row.before_ms, row.after_ms), "label");
    std::string css = cause_class(row.cause);
    bar(before_at_, row.before_ms, false, css, name, before_.step.ms.median);
    if (after_ != nullptr) bar(after_at_, row.after_ms, true, css, name, after_->step.ms.median);
    before_at_ += row.before_ms;
    after_at_ += row.after_ms;
    y_ += frame_.row_height;
  }

  const Analysis& before_;
  const Analysis* after_;
  const Canvas& canvas_;
  Frame frame_;
  double limit_;
  Markup content_;
  double y_ = 0;
  double before_at_ = 0, after_at_ = 0;
};

}  // namespace

Markup waterfall(const Analysis& before, const Analysis* after, const Canvas& canvas) {
  return WaterfallPainter(before, after, canvas).paint();
}

}  // namespace hone::report::svg
