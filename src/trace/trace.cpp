#include "trace/trace.h"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace hone::trace {
namespace {

constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "step",       "operator", "region", "kernel",  "memcpy",        "memset",   "runtime",  "synchronization",
    "allocation", "input",    "io",     "compile", "communication", "function", "overhead", "other",
};

constexpr std::array<std::string_view, kPhaseCount> kPhaseNames = {
    "unknown", "forward", "loss", "backward", "optimizer", "data", "communication",
};

bool in_range(uint32_t index, std::size_t size) { return index < size; }

template <typename Detail>
Status check_details(const std::vector<Detail>& details, std::size_t rows, std::string_view what) {
  for (std::size_t i = 0; i < details.size(); ++i)
    if (!in_range(details[i].span, rows) || (i > 0 && details[i].span <= details[i - 1].span))
      return corrupt(fmt::format("trace: {} {} is of a span that is not there, or out of order", what, i));
  return {};
}

// Times of blocks and marks may be negative; what is further from 0 than this cannot be of one recording.
constexpr int64_t kFarthestNs = std::numeric_limits<int64_t>::max() / 4;
bool is_near(int64_t time_ns) { return -kFarthestNs < time_ns && time_ns < kFarthestNs; }

Status check_blocks(const Meta& meta) {
  const auto in_order = [](const auto& a, const auto& b, int64_t end_ns) {
    return a.rank < b.rank || (a.rank == b.rank && end_ns <= b.start_ns);
  };
  for (std::size_t i = 0; i < meta.blocks.size(); ++i) {
    const RecordingBlock& block = meta.blocks[i];
    if (!is_near(block.start_ns) || !is_near(block.end_ns) || block.end_ns < block.start_ns ||
        (i > 0 && !in_order(meta.blocks[i - 1], block, meta.blocks[i - 1].end_ns)))
      return corrupt(fmt::format("trace: block {} of the recording has no time of its own", i));
  }
  for (std::size_t i = 0; i < meta.marks.size(); ++i) {
    const StepMark& mark = meta.marks[i];
    const bool before = i > 0 && std::pair(mark.rank, mark.time_ns) <
                                     std::pair(meta.marks[i - 1].rank, meta.marks[i - 1].time_ns);
    if (!is_near(mark.time_ns) || before)
      return corrupt(fmt::format("trace: mark {} has a time that cannot be, or is out of order", i));
  }
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
  HONE_CHECK(check_details(collectives, rows, "collective"));
  HONE_CHECK(check_counters(counters, strings.size()));
  HONE_CHECK(check_samples(samples, strings.size()));
  HONE_CHECK(check_kernel_samples(kernel_samples, strings.size()));
  HONE_CHECK(stacks.validate(tracks.size(), strings.size()));
  return check_blocks(meta);
}

}  // namespace hone::trace
