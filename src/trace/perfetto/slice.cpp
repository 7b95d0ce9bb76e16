#include "trace/perfetto/slice.h"

#include <array>
#include <utility>

namespace hone::trace::perfetto {
namespace {

constexpr std::array<std::string_view, 5> kMemoryNames = {"unknown", "pageable", "pinned", "device",
                                                          "managed"};

std::string memory_name(MemoryKind kind) { return std::string(kMemoryNames[static_cast<std::size_t>(kind)]); }

MemoryKind memory_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kMemoryNames.size(); ++i)
    if (kMemoryNames[i] == name) return static_cast<MemoryKind>(i);
  return MemoryKind::kUnknown;
}

// The entries of one detail; what the recorder did not write stays out.
class Entries {
 public:
  Entries& text(const char* name, std::string_view value) {
    if (!value.empty()) dict_.entries.push_back({name, std::string(value)});
    return *this;
  }
  Entries& integer(const char* name, uint64_t value, uint64_t absent = 0) {
    if (value != absent) dict_.entries.push_back({name, static_cast<int64_t>(value)});
    return *this;
  }
  Entries& real(const char* name, double value) {
    if (value != 0) dict_.entries.push_back({name, value});
    return *this;
  }
  Entries& extent(const char* name, const std::array<uint32_t, 3>& value) {
    if (value == std::array<uint32_t, 3>{}) return *this;
    Annotation::Array items;
    for (uint32_t size : value) items.items.push_back({"", int64_t{size}});
    dict_.entries.push_back({name, std::move(items)});
    return *this;
  }
  Annotation named(const char* name) { return {name, std::move(dict_)}; }

 private:
  Annotation::Dict dict_;
};

std::array<uint32_t, 3> to_extent(const std::vector<Annotation>& items) {
  std::array<uint32_t, 3> extent{};
  for (std::size_t i = 0; i < std::min(items.size(), extent.size()); ++i)
    if (const auto* size = std::get_if<int64_t>(&items[i].value)) extent[i] = static_cast<uint32_t>(*size);
  return extent;
}

void add_operator(const Operator& op, std::vector<Annotation>& all) {
  all.push_back({"kind", op.kind});
  if (op.phase != Phase::kUnknown) all.push_back({"phase", std::string(phase_name(op.phase))});
  if (!op.module.empty()) all.push_back({"module", op.module});
  if (op.flops > 0) all.push_back({"flops", op.flops});
  if (op.bytes() > 0) all.push_back({"bytes", op.bytes()});
  if (!op.implementation.empty()) all.push_back({"implementation", op.implementation});
  if (!op.device_kernels.empty()) {
    Annotation::Array kernels;
    for (const std::string& kernel : op.device_kernels) kernels.items.push_back({"", kernel});
    all.push_back({"device_kernels", std::move(kernels)});
  }
  if (!op.algorithm.empty()) all.push_back({"algorithm", op.algorithm});
  if (!op.geometry.empty()) all.push_back({"geometry", op.geometry});
}

Call to_call(const Annotation& from, Trace& trace) {
  Call call;
  if (const std::string inputs = from.text("inputs"); !inputs.empty())
    call.inputs = trace.strings.intern(inputs);
  if (from.find("sequence") != nullptr) call.sequence = from.integer("sequence");
  call.external = static_cast<uint64_t>(from.integer("external"));
  return call;
}

Launch to_launch(const Annotation& from) {
  Launch launch;
  launch.external = static_cast<uint64_t>(from.integer("external"));
  launch.grid = to_extent(from.items("grid"));
  launch.block = to_extent(from.items("block"));
  launch.registers = static_cast<uint32_t>(from.integer("registers"));
  launch.shared_bytes = static_cast<uint32_t>(from.integer("shared_bytes"));
  launch.graph_node = static_cast<uint64_t>(from.integer("graph_node"));
  return launch;
}

Copy to_copy(const Annotation& from) {
  Copy copy;
  copy.external = static_cast<uint64_t>(from.integer("external"));
  copy.from = memory_from_name(from.text("from"));
  copy.to = memory_from_name(from.text("to"));
  copy.bytes = from.real("bytes");
  return copy;
}

Collective to_collective(const Annotation& from, Trace& trace) {
  Collective collective;
  if (const std::string name = from.text("name"); !name.empty()) {
    collective.name = trace.strings.intern(name);
    collective.kind = collective_kind(name);
  }
  if (const std::string group = from.text("group"); !group.empty())
    collective.group = trace.strings.intern(group);
  collective.group_size = static_cast<uint32_t>(from.integer("group_size"));
  collective.dtype = dtype_from_name(from.text("dtype")).value_or(DType::kUndefined);
  collective.elements_in = from.real("elements_in");
  collective.elements_out = from.real("elements_out");
  return collective;
}

// A slice that names a detail twice keeps the first.
template <typename Detail>
void enter(Detail detail, uint32_t row, std::vector<Detail>& details) {
  if (!details.empty() && details.back().span == row) return;
  detail.span = row;
  details.push_back(detail);
}

}  // namespace

std::vector<Annotation> slice_annotations(const Trace& trace, uint32_t row) {
  std::vector<Annotation> all;
  if (trace.spans.step[row] != kNoStep) all.push_back({"step", int64_t{trace.spans.step[row]}});
  if (const OperatorId op = trace.spans.op[row]; op.valid()) {
    all.push_back({"operator", int64_t{op.index}});
    add_operator(trace.operators[op.index], all);
  }
  if (const Call* call = find_detail(trace.calls, row))
    all.push_back(
        Entries()
            .text("inputs", trace.strings.text(call->inputs))
            .integer("sequence", static_cast<uint64_t>(call->sequence), static_cast<uint64_t>(kNoSequence))
            .integer("external", call->external)
            .named("call"));
  if (const Launch* launch = find_detail(trace.launches, row))
    all.push_back(Entries()
                      .integer("external", launch->external)
                      .extent("grid", launch->grid)
                      .extent("block", launch->block)
                      .integer("registers", launch->registers)
                      .integer("shared_bytes", launch->shared_bytes)
                      .integer("graph_node", launch->graph_node)
                      .named("launch"));
  if (const Copy* copy = find_detail(trace.copies, row))
    all.push_back(Entries()
                      .integer("external", copy->external)
                      .text("from", memory_name(copy->from))
                      .text("to", memory_name(copy->to))
                      .real("bytes", copy->bytes)
                      .named("copy"));
  if (const Collective* collective = find_detail(trace.collectives, row))
    all.push_back(Entries()
                      .text("name", trace.strings.text(collective->name))
                      .text("group", trace.strings.text(collective->group))
                      .integer("group_size", collective->group_size)
                      .text("dtype", dtype_name(collective->dtype))
                      .real("elements_in", collective->elements_in)
                      .real("elements_out", collective->elements_out)
                      .named("collective"));
  return all;
}

void read_slice_annotation(const Annotation& annotation, Trace& trace) {
  const auto row = static_cast<uint32_t>(trace.spans.size() - 1);
  if (const auto* number = std::get_if<int64_t>(&annotation.value)) {
    if (annotation.name == "step") trace.spans.step[row] = static_cast<int32_t>(*number);
    if (annotation.name == "operator") trace.spans.op[row] = {static_cast<uint32_t>(*number)};
  } else if (annotation.name == "call") {
    enter(to_call(annotation, trace), row, trace.calls);
  } else if (annotation.name == "launch") {
    enter(to_launch(annotation), row, trace.launches);
  } else if (annotation.name == "copy") {
    enter(to_copy(annotation), row, trace.copies);
  } else if (annotation.name == "collective") {
    enter(to_collective(annotation, trace), row, trace.collectives);
  }
}

}  // namespace hone::trace::perfetto
