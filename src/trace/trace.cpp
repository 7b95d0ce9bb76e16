#include "trace/trace.h"

#include <array>
#include <limits>

#include <fmt/format.h>

namespace hone::trace {
namespace {

constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "step",       "operator", "region", "kernel",  "memcpy",        "memset",   "runtime",  "synchronization",
    "allocation", "input",    "io",     "compile", "communication", "function", "overhead", "other",
};

constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {
    "unknown", "forward", "backward", "optimizer", "data", "communication",
};

bool in_range(uint32_t index, std::size_t size) { return index < size; }

template <typename Detail>
Status check_details(const std::vector<Detail>& details, std::size_t rows, std::string_view what) {
  for (std::size_t i = 0; i < details.size(); ++i)
    if (!in_range(details[i].span, rows) || (i > 0 && details[i].span <= details[i - 1].span))
      return corrupt(fmt::format("trace: {} {} is of a span that is not there, or out of order", what, i));
  return {};
}

}  // namespace

std::string_view category_name(Category category) {
  return kCategoryNames[static_cast<std::size_t>(category)];
}

std::optional<Category> category_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kCategoryNames.size(); ++i)
    if (kCategoryNames[i] == name) return static_cast<Category>(i);
  return std::nullopt;
}

std::string_view phase_name(Phase phase) { return kPhaseNames[static_cast<std::size_t>(phase)]; }

std::optional<Phase> phase_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    if (kPhaseNames[i] == name) return static_cast<Phase>(i);
  return std::nullopt;
}

void SpanTable::reserve(std::size_t count) {
  start_ns.reserve(count);
  duration_ns.reserve(count);
  track.reserve(count);
  name.reserve(count);
  category.reserve(count);
  step.reserve(count);
  op.reserve(count);
  correlation.reserve(count);
}

void SpanTable::add(const Span& span) {
  start_ns.push_back(span.start_ns);
  duration_ns.push_back(span.duration_ns);
  track.push_back(span.track);
  name.push_back(span.name);
  category.push_back(span.category);
  step.push_back(span.step);
  op.push_back(span.op);
  correlation.push_back(span.correlation);
}

Span SpanTable::row(std::size_t i) const {
  return {start_ns[i], duration_ns[i], track[i], name[i], category[i], step[i], op[i], correlation[i]};
}

const KernelFamily& Trace::kernel(StringId id) const {
  static const KernelFamily kNothingKnown;
  return id.valid() && id.index < kernels.size() ? kernels[id.index] : kNothingKnown;
}

TrackId Trace::add_track(Track track) {
  tracks.push_back(std::move(track));
  return {static_cast<uint32_t>(tracks.size() - 1)};
}

OperatorId Trace::add_operator(Operator op) {
  op.what = operator_kind(op.kind);
  op.in_place = is_in_place(op.kind);
  operators.push_back(std::move(op));
  return {static_cast<uint32_t>(operators.size() - 1)};
}

Status Trace::validate() const {
  std::size_t rows = spans.size();
  if (spans.duration_ns.size() != rows || spans.track.size() != rows || spans.name.size() != rows ||
      spans.category.size() != rows || spans.step.size() != rows || spans.op.size() != rows ||
      spans.correlation.size() != rows)
    return corrupt("trace: the columns of the span table differ in length");
  for (std::size_t i = 0; i < tracks.size(); ++i)
    if (tracks[i].process.valid() && !in_range(tracks[i].process.index, tracks.size()))
      return corrupt(fmt::format("trace: track {} belongs to a process that is not there", i));
  for (std::size_t i = 0; i < rows; ++i) {
    Span span = spans.row(i);
    if (span.start_ns < 0 || span.duration_ns < 0 ||
        span.duration_ns > std::numeric_limits<int64_t>::max() - span.start_ns)
      return corrupt(fmt::format("trace: span {} has a negative or overflowing time", i));
    if (!in_range(span.track.index, tracks.size()))
      return corrupt(fmt::format("trace: span {} stands on a track that is not there", i));
    if (span.op.valid() && !in_range(span.op.index, operators.size()))
      return corrupt(fmt::format("trace: span {} names an operator that is not there", i));
    if (span.name.valid() && !in_range(span.name.index, strings.size()))
      return corrupt(fmt::format("trace: span {} has a name that is not there", i));
  }
  HONE_CHECK(check_details(calls, rows, "call"));
  HONE_CHECK(check_details(launches, rows, "launch"));
  HONE_CHECK(check_details(copies, rows, "copy"));
  return check_details(collectives, rows, "collective");
}

}  // namespace hone::trace
