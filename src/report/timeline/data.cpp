#include "report/timeline/data.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "report/svg/chart.h"
#include "report/text.h"
#include "trace/operator_class.h"

namespace hone::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameLength = 240;  // templates of kernels run to thousands of characters

// Texts, once each, in order of first use.
class Texts {
 public:
  std::size_t index(const std::string& text) {
    const auto [found, added] = index_.emplace(text, list_.size());
    if (added) list_.push_back(shortened(clean_utf8(text), kNameLength));
    return found->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  Json list_ = Json::array();
};

// Links as small numbers; one that only a single bar has leads nowhere and becomes 0.
class Links {
 public:
  explicit Links(const std::vector<analyze::TimelineSpan>& spans) {
    for (const analyze::TimelineSpan& span : spans) ++uses_[span.link];
  }
  std::size_t number(uint64_t link) {
    if (link == 0 || uses_[link] < 2) return 0;
    return numbers_.emplace(link, numbers_.size() + 1).first->second;
  }

 private:
  std::unordered_map<uint64_t, int> uses_;
  std::unordered_map<uint64_t, std::size_t> numbers_;
};

int64_t ns(double ms) { return std::isfinite(ms) ? std::llround(std::clamp(ms, -1e9, 1e9) * 1e6) : 0; }

// The gaps of devices by cause.
Json idle_json(const std::vector<analyze::IdleSpan>& gaps, Texts& names) {
  Json t = Json::array(), s = Json::array(), d = Json::array(), n = Json::array(), c = Json::array();
  int64_t before = 0;
  for (const analyze::IdleSpan& gap : gaps) {
    const int64_t start = ns(gap.start_ms);
    t.push_back(gap.track);
    s.push_back(start - before);
    before = start;
    d.push_back(ns(gap.ms));
    n.push_back(names.index(gap.name));
    c.push_back(static_cast<int>(gap.cause));
  }
  return {{"t", std::move(t)},
          {"s", std::move(s)},
          {"d", std::move(d)},
          {"n", std::move(n)},
          {"c", std::move(c)}};
}

}  // namespace

std::string timeline_json(const analyze::Analysis& analysis, const MergedTimeline& timeline,
                          const std::vector<analyze::IdleSpan>& gaps) {
  Texts names, kinds;
  Links links(timeline.spans);
  Json t = Json::array(), s = Json::array(), d = Json::array(), n = Json::array(), k = Json::array(),
       c = Json::array(), p = Json::array(), l = Json::array();
  int64_t before = 0;
  for (const analyze::TimelineSpan& span : timeline.spans) {
    const int64_t start = ns(span.start_ms);
    t.push_back(span.track);
    s.push_back(start - before);
    before = start;
    d.push_back(ns(span.ms));
    n.push_back(names.index(span.name));
    k.push_back(kinds.index(span.kind));
    c.push_back(static_cast<int>(span.op_class));
    p.push_back(std::max(0, span.depth));
    l.push_back(links.number(span.link));
  }
  Json tracks = Json::array(), classes = Json::array(), causes = Json::array();
  for (const std::string& name : analysis.timeline_tracks) tracks.push_back(shortened(clean_utf8(name), 80));
  for (int i = 0; i < trace::kOperatorClassCount; ++i)
    classes.push_back(trace::operator_class_name(static_cast<trace::OperatorClass>(i)));
  for (const analyze::Cause cause : analyze::all_causes())
    causes.push_back({analyze::cause_label(cause), svg::cause_class(cause)});
  Json idle = idle_json(gaps, names);
  const Json json = {{"step_ns", ns(analysis.step.as_recorded().median)},
                     {"tracks", std::move(tracks)},
                     {"classes", std::move(classes)},
                     {"causes", std::move(causes)},
                     {"idle", std::move(idle)},
                     {"names", names.take()},
                     {"kinds", kinds.take()},
                     {"t", std::move(t)},
                     {"s", std::move(s)},
                     {"d", std::move(d)},
                     {"n", std::move(n)},
                     {"k", std::move(k)},
                     {"c", std::move(c)},
                     {"p", std::move(p)},
                     {"l", std::move(l)}};
  // ASCII only, and "<" as an escape, so that no name can end the element.
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace hone::report
