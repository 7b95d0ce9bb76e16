// What programs take of devices' memory.
#include "report/description/memory_fields.h"

#include <algorithm>

#include "report/memory_words.h"

namespace hone::report {

using analyze::Analysis, analyze::DeviceMemory, analyze::MemoryHolding, analyze::MemoryMoment;

const Fields<MemoryHolding>& memory_holding_fields() {
  using Row = MemoryHolding;
  static const Fields<Row> fields = {
      Field<Row>("holder", Unit::kName, "the line of the program, or the operator, that took it",
                 &Row::holder)
          .show({.heading = "taken by",
                 .more =
                     [](GridCell& cell, const Row& row, const Analysis&, Form form) {
                       if (form != Form::kMarkdown && !row.inside.empty()) cell.under = {"in " + row.inside};
                     }}),
      Field<Row>("inside", Unit::kText, "the innermost function that is known, where it is another",
                 &Row::inside)
          .show({.heading = "in", .forms = only(Form::kMarkdown)}),
      Field<Row>("bytes", Unit::kBytes, "that it holds when most memory is taken", &Row::bytes)
          .show({.heading = "holds", .narrow = "holds"}),
      Field<Row>("share", Unit::kShare, "of all that is taken then", &Row::share).show({.heading = "share"}),
      Field<Row>("blocks", Unit::kCount, "tensors", &Row::blocks)
          .show({.heading = "tensors",
                 .text = [](const Row& row, const Analysis&) { return holding_blocks(row); }}),
  };
  return fields;
}

const Fields<MemoryMoment>& memory_moment_fields() {
  using Row = MemoryMoment;
  static const Fields<Row> fields = {
      {"ms", Unit::kMs, "since the events begin", &Row::ms},
      {"allocated", Unit::kBytes, "in tensors", &Row::allocated},
      {"reserved", Unit::kBytes, "that the allocator has of the device; 0: not known", &Row::reserved},
  };
  return fields;
}

const Fields<DeviceMemory>& device_memory_fields() {
  using Row = DeviceMemory;
  static const Fields<Row> fields = {
      {"rank", Unit::kInteger, "whose device it is", &Row::rank},
      {"device", Unit::kInteger, "as its process counts; -1: the host", &Row::device},
      {"events", Unit::kNumber, "that tell the course", &Row::events},
      {"peak_bytes", Unit::kBytes, "in tensors, at once", &Row::peak_bytes},
      {"peak_ms", Unit::kMs, "when that was, since the events begin", &Row::peak_ms},
      {"peak_is_bound", Unit::kFlag, "it may have been more before the events begin", &Row::peak_is_bound},
      {"peak_reserved", Unit::kBytes, "that the allocator had of the device, at once; 0: not known",
       &Row::peak_reserved},
      {"end_bytes", Unit::kBytes, "in tensors at the end", &Row::end_bytes},
      {"end_reserved", Unit::kBytes, "that the allocator has at the end; 0: not known", &Row::end_reserved},
      {"between_blocks", Unit::kBytes, "free at the end, in segments of which tensors use other parts",
       &Row::between_blocks},
      {"free_segments", Unit::kBytes, "free at the end, in segments without any tensor", &Row::free_segments},
      {"largest_free", Unit::kBytes, "the largest free piece at the end", &Row::largest_free},
      {"fragmentation", Unit::kShare, "`between_blocks` of `end_reserved`",
       [](const Row& row) { return row.fragmentation(); }},
      {"failed", Unit::kNumber, "times that memory could not be had", &Row::failed},
      {"failed_bytes", Unit::kBytes, "the most that was asked for then", &Row::failed_bytes},
      table_field("holdings", "memory_holdings", "who holds it when most is taken", memory_holding_fields(),
                  &Row::holdings),
      table_field("course", "memory_course", "over time", memory_moment_fields(), &Row::course),
  };
  return fields;
}

Grid memory_grid(const Analysis& analysis, const DeviceMemory& device, Form form, std::size_t most) {
  std::vector<MemoryHolding> rows = device.holdings;
  rows.resize(std::min(rows.size(), most));
  return make_grid(memory_holding_fields(), rows, analysis, form);
}

bool is_of_memory_alone(const Analysis& analysis) {
  return analysis.ledger.empty() && !memory_of(analysis).empty();
}

const std::vector<DeviceMemory>& memory_of(const Analysis& analysis) {
  static const std::vector<DeviceMemory> kNone;
  return analysis.memory == nullptr ? kNone : analysis.memory->devices;
}

}  // namespace hone::report
