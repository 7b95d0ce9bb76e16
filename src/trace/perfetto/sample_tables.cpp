#include "trace/perfetto/sample_tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace hone::trace::perfetto {
namespace {

Annotation sample_number(std::string_view name, int64_t value) { return {std::string(name), value}; }

uint32_t sample_word(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

std::vector<int64_t> sample_numbers(const Annotation& from, std::string_view name) {
  std::vector<int64_t> numbers;
  for (const Annotation& item : from.items(name)) {
    const auto* value = std::get_if<int64_t>(&item.value);
    numbers.push_back(value == nullptr ? 0 : *value);
  }
  return numbers;
}

class SampleNames {
 public:
  explicit SampleNames(const StringTable& strings) : strings_(strings) {}

  // -1: none.
  int64_t number_of(StringId id) {
    if (!id.valid()) return -1;
    const auto [at, added] = numbers_.emplace(id.index, static_cast<int64_t>(numbers_.size()));
    if (added) names_.items.push_back({"", std::string(strings_.text(id))});
    return at->second;
  }
  Annotation::Array take() { return std::move(names_); }

 private:
  const StringTable& strings_;
  std::map<uint32_t, int64_t> numbers_;
  Annotation::Array names_;
};

Annotation from_kernel_sample(const KernelSample& row, SampleNames& names) {
  Annotation::Array geometry, reasons, samples;
  for (const uint32_t size : row.grid) geometry.items.push_back(sample_number("", size));
  for (const uint32_t size : row.block) geometry.items.push_back(sample_number("", size));
  for (const StallSamples& each : row.stalls) {
    reasons.items.push_back(sample_number("", names.number_of(each.reason)));
    samples.items.push_back(sample_number("", static_cast<int64_t>(each.samples)));
  }
  return {"", Annotation::Dict{{
                  sample_number("rank", row.rank),
                  sample_number("device", row.device),
                  sample_number("kernel", names.number_of(row.kernel)),
                  {"geometry", std::move(geometry)},
                  sample_number("function", names.number_of(row.function)),
                  sample_number("offset", static_cast<int64_t>(row.offset)),
                  sample_number("line_info", static_cast<int64_t>(row.line_info)),
                  sample_number("file", names.number_of(row.file)),
                  sample_number("line", row.line),
                  sample_number("source", names.number_of(row.source)),
                  {"reasons", std::move(reasons)},
                  {"samples", std::move(samples)},
              }}};
}

KernelSample to_kernel_sample(const Annotation& from, const std::vector<StringId>& names) {
  const auto name = [&](int64_t number) {
    return number >= 0 && number < static_cast<int64_t>(names.size())
               ? names[static_cast<std::size_t>(number)]
               : StringId{};
  };
  KernelSample row;
  row.rank = static_cast<int>(from.integer("rank"));
  row.device = static_cast<int>(from.integer("device"));
  row.kernel = name(from.integer("kernel"));
  const auto geometry = sample_numbers(from, "geometry");
  for (std::size_t i = 0; i < 3 && geometry.size() == 6; ++i) {
    row.grid[i] = sample_word(geometry[i]);
    row.block[i] = sample_word(geometry[i + 3]);
  }
  row.function = name(from.integer("function"));
  row.offset = static_cast<uint64_t>(from.integer("offset"));
  const int64_t info = from.integer("line_info");
  row.line_info = info == static_cast<int64_t>(LineInfo::kKnown)  ? LineInfo::kKnown
                  : info == static_cast<int64_t>(LineInfo::kNone) ? LineInfo::kNone
                                                                  : LineInfo::kCodeUnseen;
  row.file = name(from.integer("file"));
  row.line = sample_word(from.integer("line"));
  row.source = name(from.integer("source"));
  const auto reasons = sample_numbers(from, "reasons"), samples = sample_numbers(from, "samples");
  for (std::size_t i = 0; i < std::min(reasons.size(), samples.size()); ++i)
    row.stalls.push_back({name(reasons[i]), static_cast<uint64_t>(std::max<int64_t>(samples[i], 0))});
  return row;
}

}  // namespace

Annotation from_kernel_samples(const Trace& trace) {
  SampleNames names(trace.strings);
  Annotation::Array rows;
  for (const KernelSample& row : trace.kernel_samples) rows.items.push_back(from_kernel_sample(row, names));
  return {"kernel_samples", Annotation::Dict{{{"names", names.take()}, {"rows", std::move(rows)}}}};
}

Status to_kernel_samples(const Annotation& from, Trace& trace) {
  std::vector<StringId> names;
  for (const Annotation& item : from.items("names")) {
    const auto* text = std::get_if<std::string>(&item.value);
    names.push_back(trace.strings.intern(text == nullptr ? std::string() : *text));
  }
  for (const Annotation& row : from.items("rows"))
    trace.kernel_samples.push_back(to_kernel_sample(row, names));
  return check_kernel_samples(trace.kernel_samples, trace.strings.size());
}

}  // namespace hone::trace::perfetto
