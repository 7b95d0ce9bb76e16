#include "trace/perfetto/tables.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "trace/perfetto/host_tables.h"
#include "trace/perfetto/sample_tables.h"
#include "trace/perfetto/samples.h"

namespace hone::trace::perfetto {
namespace {

Annotation text(std::string_view name, std::string_view value) {
  return {std::string(name), std::string(value)};
}
Annotation integer(std::string_view name, int64_t value) { return {std::string(name), value}; }
Annotation real(std::string_view name, double value) { return {std::string(name), value}; }

Annotation from_text(const std::string& value) { return text("", value); }

template <typename Row, typename Convert>
Annotation list(std::string_view name, const std::vector<Row>& rows, Convert convert) {
  Annotation::Array array;
  for (const Row& row : rows) array.items.push_back(convert(row));
  return {std::string(name), std::move(array)};
}

// An index with -1 for none.
int64_t index_or_none(uint32_t index, bool valid) { return valid ? static_cast<int64_t>(index) : -1; }

Annotation from_device(const DeviceInfo& device) {
  return {"", Annotation::Dict{{
                  integer("rank", device.rank),
                  integer("index", device.index),
                  text("name", device.name),
                  real("memory_bytes", device.memory_bytes),
                  integer("multiprocessors", device.multiprocessors),
                  integer("compute_major", device.compute_major),
                  integer("compute_minor", device.compute_minor),
              }}};
}

Annotation from_group(const ProcessGroup& group) {
  Annotation::Array ranks;
  for (int rank : group.ranks) ranks.items.push_back(integer("", rank));
  return {"", Annotation::Dict{{
                  text("name", group.name),
                  text("description", group.description),
                  {"ranks", std::move(ranks)},
              }}};
}

Annotation from_rank(const RankInfo& rank) {
  return {"", Annotation::Dict{{
                  integer("rank", rank.rank),
                  integer("world_size", rank.world_size),
                  text("source", rank.source),
                  text("backend", rank.backend),
                  list("groups", rank.groups, from_group),
              }}};
}

Annotation from_block(const RecordingBlock& block) {
  return {"", Annotation::Dict{{
                  integer("rank", block.rank),
                  integer("number", block.number),
                  text("mode", block_mode_name(block.mode)),
                  integer("start_ns", block.start_ns),
                  integer("end_ns", block.end_ns),
                  integer("first_launch", static_cast<int64_t>(block.first_launch)),
                  integer("last_launch", static_cast<int64_t>(block.last_launch)),
              }}};
}

Annotation from_mark(const StepMark& mark) {
  return {"", Annotation::Dict{{
                  integer("rank", mark.rank),
                  text("kind", step_mark_kind_name(mark.kind)),
                  text("name", mark.name),
                  integer("time_ns", mark.time_ns),
                  integer("tid", mark.tid),
                  integer("launches", static_cast<int64_t>(mark.launches)),
              }}};
}

Annotation from_block_steps(const BlockSteps& steps) {
  return {"", Annotation::Dict{{
                  integer("rank", steps.rank),
                  integer("block", steps.block),
                  text("mode", block_mode_name(steps.mode)),
                  real("steps", steps.steps),
                  real("mean_ns", steps.mean_ns),
                  real("median_ns", steps.median_ns),
                  integer("shown", steps.shown ? 1 : 0),
              }}};
}

Annotation from_loader(const LoaderEpoch& epoch) {
  return {"", Annotation::Dict{{
                  integer("rank", epoch.rank),
                  integer("loader", epoch.loader),
                  integer("workers", epoch.workers),
                  integer("prefetch", epoch.prefetch),
                  integer("persistent", epoch.persistent ? 1 : 0),
                  integer("forked", epoch.forked ? 1 : 0),
                  integer("batches", epoch.batches),
                  integer("batch_size", epoch.batch_size),
                  integer("start_ns", epoch.start_ns),
                  integer("delivered", epoch.delivered),
                  integer("starting_ns", epoch.starting_ns),
                  integer("ending_ns", epoch.ending_ns),
                  integer("cpu_ns", epoch.cpu_ns),
                  integer("cpus", epoch.cpus),
                  integer("cores", epoch.cores),
              }}};
}

Annotation from_sampled_step(const SampledStep& step) {
  return {"", Annotation::Dict{{
                  integer("rank", step.rank),
                  integer("start_ns", step.start_ns),
                  integer("end_ns", step.end_ns),
              }}};
}

Annotation from_meta(const Meta& meta) {
  Annotation::Array notes;
  for (const auto& [name, value] : meta.notes) notes.items.push_back(text(name, value));
  return {"meta", Annotation::Dict{{
                      text("producer", meta.producer),
                      text("machine", meta.machine),
                      text("device", meta.device),
                      text("framework", framework_name(meta.framework)),
                      integer("threads", meta.threads),
                      integer("dropped", static_cast<int64_t>(meta.dropped)),
                      integer("lost", static_cast<int64_t>(meta.lost)),
                      integer("cut_off", meta.cut_off ? 1 : 0),
                      integer("contention_known", meta.contention.known ? 1 : 0),
                      real("contention_waited", meta.contention.waited),
                      {"notes", std::move(notes)},
                      list("devices", meta.devices, from_device),
                      list("ranks", meta.ranks, from_rank),
                      list("warnings", meta.warnings, from_text),
                      list("blocks", meta.blocks, from_block),
                      list("marks", meta.marks, from_mark),
                      list("block_steps", meta.block_steps, from_block_steps),
                      list("sampled_steps", meta.sampled_steps, from_sampled_step),
                      list("loaders", meta.loaders, from_loader),
                  }}};
}

Annotation from_track(const Track& track) {
  return {"", Annotation::Dict{{
                  integer("kind", static_cast<int64_t>(track.kind)),
                  text("name", track.name),
                  integer("process", index_or_none(track.process.index, track.process.valid())),
                  integer("pid", track.pid),
                  integer("tid", track.tid),
                  integer("rank", track.rank),
                  integer("device", track.device),
              }}};
}

Annotation from_operator(const Operator& op) {
  return {"", Annotation::Dict{{
                  text("name", op.name),
                  text("kind", op.kind),
                  text("class", operator_class_name(op.op_class)),
                  text("dtype", dtype_name(op.dtype)),
                  integer("may_use_tf32", op.may_use_tf32 ? 1 : 0),
                  integer("measured", op.measured ? 1 : 0),
                  real("flops", op.flops),
                  real("least_flops", op.least_flops),
                  real("executed_flops", op.executed_flops),
                  real("bytes_read", op.bytes_read),
                  real("bytes_written", op.bytes_written),
                  real("constant_bytes", op.constant_bytes),
                  real("avoidable_bytes", op.avoidable_bytes),
                  text("fuses_with", op.fuses_with),
                  text("implementation", op.implementation),
                  text("algorithm", op.algorithm),
                  text("geometry", op.geometry),
                  text("device", op.device),
                  text("phase", phase_name(op.phase)),
                  text("module", op.module),
                  list("device_kernels", op.device_kernels, from_text),
                  list("provenance", op.provenance, from_text),
              }}};
}

// Metrics are many and the same in most rows: rows have numbers into one list of names.
Annotation from_counters(const Trace& trace) {
  std::map<uint32_t, int64_t> numbers;
  Annotation::Array names, rows;
  const auto number_of = [&](StringId id) {
    const auto [at, added] = numbers.emplace(id.index, static_cast<int64_t>(numbers.size()));
    if (added) names.items.push_back(text("", trace.strings.text(id)));
    return at->second;
  };
  for (const KernelCounters& row : trace.counters) {
    Annotation::Array geometry, metrics, values;
    for (const uint32_t size : row.grid) geometry.items.push_back(integer("", size));
    for (const uint32_t size : row.block) geometry.items.push_back(integer("", size));
    for (const CounterValue& each : row.values) {
      metrics.items.push_back(integer("", number_of(each.metric)));
      values.items.push_back(real("", each.value));
    }
    rows.items.push_back({"", Annotation::Dict{{
                                  integer("rank", row.rank),
                                  integer("device", row.device),
                                  integer("kernel", number_of(row.kernel)),
                                  {"geometry", std::move(geometry)},
                                  integer("registers", row.registers),
                                  integer("shared_bytes", row.shared_bytes),
                                  integer("instance", row.instance),
                                  integer("passes", row.passes),
                                  {"metrics", std::move(metrics)},
                                  {"values", std::move(values)},
                              }}});
  }
  return {"counters", Annotation::Dict{{{"names", std::move(names)}, {"rows", std::move(rows)}}}};
}

std::vector<std::string> to_texts(const std::vector<Annotation>& items) {
  std::vector<std::string> texts;
  for (const Annotation& item : items)
    if (const auto* value = std::get_if<std::string>(&item.value)) texts.push_back(*value);
  return texts;
}

DeviceInfo to_device(const Annotation& from) {
  DeviceInfo device;
  device.rank = static_cast<int>(from.integer("rank"));
  device.index = static_cast<int>(from.integer("index"));
  device.name = from.text("name");
  device.memory_bytes = from.real("memory_bytes");
  device.multiprocessors = static_cast<int>(from.integer("multiprocessors"));
  device.compute_major = static_cast<int>(from.integer("compute_major"));
  device.compute_minor = static_cast<int>(from.integer("compute_minor"));
  return device;
}

RankInfo to_rank(const Annotation& from) {
  RankInfo rank;
  rank.rank = static_cast<int>(from.integer("rank"));
  rank.world_size = static_cast<int>(from.integer("world_size"));
  rank.source = from.text("source");
  rank.backend = from.text("backend");
  for (const Annotation& item : from.items("groups")) {
    ProcessGroup group{item.text("name"), item.text("description"), {}};
    for (const Annotation& member : item.items("ranks"))
      if (const auto* number = std::get_if<int64_t>(&member.value))
        group.ranks.push_back(static_cast<int>(*number));
    rank.groups.push_back(std::move(group));
  }
  return rank;
}

RecordingBlock to_block(const Annotation& from) {
  RecordingBlock block;
  block.rank = static_cast<int>(from.integer("rank"));
  block.number = static_cast<uint32_t>(from.integer("number"));
  block.mode = block_mode_from_name(from.text("mode")).value_or(BlockMode::kTimeline);
  block.start_ns = from.integer("start_ns");
  block.end_ns = from.integer("end_ns");
  block.first_launch = static_cast<uint64_t>(from.integer("first_launch"));
  block.last_launch = static_cast<uint64_t>(from.integer("last_launch"));
  return block;
}

StepMark to_mark(const Annotation& from) {
  StepMark mark;
  mark.rank = static_cast<int>(from.integer("rank"));
  mark.kind = step_mark_kind_from_name(from.text("kind")).value_or(StepMarkKind::kUser);
  mark.name = from.text("name");
  mark.time_ns = from.integer("time_ns");
  mark.tid = from.integer("tid");
  mark.launches = static_cast<uint64_t>(from.integer("launches"));
  return mark;
}

BlockSteps to_block_steps(const Annotation& from) {
  BlockSteps steps;
  steps.rank = static_cast<int>(from.integer("rank"));
  steps.block = static_cast<uint32_t>(from.integer("block"));
  steps.mode = block_mode_from_name(from.text("mode")).value_or(BlockMode::kTimeline);
  steps.steps = from.real("steps");
  steps.mean_ns = from.real("mean_ns");
  steps.median_ns = from.real("median_ns");
  steps.shown = from.integer("shown") != 0;
  return steps;
}

LoaderEpoch to_loader(const Annotation& from) {
  const auto small = [&](const char* name) {
    return static_cast<int32_t>(std::clamp<int64_t>(from.integer(name), 0, INT32_MAX));
  };
  LoaderEpoch epoch;
  epoch.rank = static_cast<int>(from.integer("rank"));
  epoch.loader = small("loader");
  epoch.workers = small("workers");
  epoch.prefetch = small("prefetch");
  epoch.persistent = from.integer("persistent") != 0;
  epoch.forked = from.integer("forked") != 0;
  epoch.batches = from.integer("batches");
  epoch.batch_size = from.integer("batch_size");
  epoch.start_ns = from.integer("start_ns");
  epoch.delivered = from.integer("delivered");
  epoch.starting_ns = from.integer("starting_ns");
  epoch.ending_ns = from.integer("ending_ns");
  epoch.cpu_ns = from.integer("cpu_ns");
  epoch.cpus = small("cpus");
  epoch.cores = small("cores");
  return epoch;
}

Meta to_meta(const Annotation& from) {
  Meta meta;
  meta.producer = from.text("producer");
  meta.machine = from.text("machine");
  meta.device = from.text("device");
  meta.framework = framework_from_name(from.text("framework")).value_or(Framework::kNative);
  meta.threads = static_cast<int>(from.integer("threads"));
  meta.dropped = static_cast<uint64_t>(from.integer("dropped"));
  meta.lost = static_cast<uint64_t>(from.integer("lost"));
  meta.cut_off = from.integer("cut_off") != 0;
  meta.contention = {from.real("contention_waited"), from.integer("contention_known") != 0};
  for (const Annotation& note : from.items("notes"))
    if (const auto* value = std::get_if<std::string>(&note.value)) meta.notes.emplace_back(note.name, *value);
  for (const Annotation& device : from.items("devices")) meta.devices.push_back(to_device(device));
  for (const Annotation& rank : from.items("ranks")) meta.ranks.push_back(to_rank(rank));
  meta.warnings = to_texts(from.items("warnings"));
  for (const Annotation& block : from.items("blocks")) meta.blocks.push_back(to_block(block));
  for (const Annotation& mark : from.items("marks")) meta.marks.push_back(to_mark(mark));
  for (const Annotation& steps : from.items("block_steps")) meta.block_steps.push_back(to_block_steps(steps));
  for (const Annotation& epoch : from.items("loaders")) meta.loaders.push_back(to_loader(epoch));
  for (const Annotation& step : from.items("sampled_steps"))
    meta.sampled_steps.push_back(
        {static_cast<int>(step.integer("rank")), step.integer("start_ns"), step.integer("end_ns")});
  return meta;
}

Result<Track> to_track(const Annotation& from, std::size_t count) {
  Track track;
  int64_t kind = from.integer("kind");
  if (kind < 0 || kind > static_cast<int64_t>(TrackKind::kStream))
    return corrupt(fmt::format("track of unknown kind {}", kind));
  track.kind = static_cast<TrackKind>(kind);
  track.name = from.text("name");
  int64_t process = from.integer("process");
  if (process >= static_cast<int64_t>(count)) return corrupt("track of a process that is not there");
  if (process >= 0) track.process = {static_cast<uint32_t>(process)};
  track.pid = from.integer("pid");
  track.tid = from.integer("tid");
  track.rank = static_cast<int>(from.integer("rank"));
  track.device = static_cast<int>(from.integer("device"));
  return track;
}

Operator to_operator(const Annotation& from) {
  Operator op;
  op.name = from.text("name");
  op.kind = from.text("kind");
  // A class or dtype that a newer hone knows and this one does not is still an operator.
  op.op_class = operator_class_from_name(from.text("class")).value_or(OperatorClass::kOther);
  op.dtype = dtype_from_name(from.text("dtype")).value_or(DType::kUndefined);
  op.may_use_tf32 = from.integer("may_use_tf32") != 0;
  op.measured = from.integer("measured") != 0;
  op.flops = from.real("flops");
  op.least_flops = from.real("least_flops");
  op.executed_flops = from.real("executed_flops");
  op.bytes_read = from.real("bytes_read");
  op.bytes_written = from.real("bytes_written");
  op.constant_bytes = from.real("constant_bytes");
  op.avoidable_bytes = from.real("avoidable_bytes");
  op.fuses_with = from.text("fuses_with");
  op.implementation = from.text("implementation");
  op.algorithm = from.text("algorithm");
  op.geometry = from.text("geometry");
  op.device = from.text("device");
  op.phase = phase_from_name(from.text("phase")).value_or(Phase::kUnknown);
  op.module = from.text("module");
  op.device_kernels = to_texts(from.items("device_kernels"));
  op.provenance = to_texts(from.items("provenance"));
  return op;
}

template <typename Number>
std::vector<Number> to_numbers(const std::vector<Annotation>& items) {
  std::vector<Number> numbers;
  for (const Annotation& item : items) {
    const auto* value = std::get_if<Number>(&item.value);
    numbers.push_back(value == nullptr ? Number{} : *value);
  }
  return numbers;
}

uint32_t to_word(int64_t value) {
  return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, std::numeric_limits<uint32_t>::max()));
}

Result<KernelCounters> to_counters(const Annotation& from, const std::vector<StringId>& names) {
  KernelCounters row;
  const auto name = [&](int64_t number) {
    return number >= 0 && number < static_cast<int64_t>(names.size())
               ? names[static_cast<std::size_t>(number)]
               : StringId{};
  };
  row.rank = static_cast<int>(from.integer("rank"));
  row.device = static_cast<int>(from.integer("device"));
  row.kernel = name(from.integer("kernel"));
  const auto geometry = to_numbers<int64_t>(from.items("geometry"));
  for (std::size_t i = 0; i < 3 && geometry.size() == 6; ++i) {
    row.grid[i] = to_word(geometry[i]);
    row.block[i] = to_word(geometry[i + 3]);
  }
  row.registers = to_word(from.integer("registers"));
  row.shared_bytes = to_word(from.integer("shared_bytes"));
  row.instance = to_word(from.integer("instance"));
  row.passes = to_word(from.integer("passes"));
  const auto metrics = to_numbers<int64_t>(from.items("metrics"));
  const auto values = to_numbers<double>(from.items("values"));
  for (std::size_t i = 0; i < std::min(metrics.size(), values.size()); ++i)
    if (const StringId metric = name(metrics[i]); metric.valid()) row.values.push_back({metric, values[i]});
  if (!row.kernel.valid()) return corrupt("counters of a kernel that has no name");
  order_values(row);
  return row;
}

}  // namespace

Annotation tables_to_annotation(const Trace& trace) {
  Annotation::Array tracks, operators;
  for (const Track& track : trace.tracks) tracks.items.push_back(from_track(track));
  for (const Operator& op : trace.operators) operators.items.push_back(from_operator(op));
  return {"hone", Annotation::Dict{{
                      integer("version", kTablesVersion),
                      integer("spans", static_cast<int64_t>(trace.spans.size())),
                      from_meta(trace.meta),
                      {"tracks", std::move(tracks)},
                      {"operators", std::move(operators)},
                      from_counters(trace),
                      from_samples(trace),
                      from_kernel_samples(trace),
                      from_stacks(trace),
                      from_host_use(trace),
                  }}};
}

Status tables_from_annotation(const Annotation& tables, Trace& trace) {
  int64_t version = tables.integer("version");
  if (version != kTablesVersion)
    return unsupported(
        fmt::format("tables of version {}; this hone reads version {}", version, kTablesVersion));
  if (const Annotation* meta = tables.find("meta")) trace.meta = to_meta(*meta);
  const std::vector<Annotation>& tracks = tables.items("tracks");
  for (const Annotation& from : tracks) {
    HONE_ASSIGN(Track track, to_track(from, tracks.size()));
    trace.add_track(std::move(track));
  }
  for (const Annotation& from : tables.items("operators")) trace.add_operator(to_operator(from));
  if (const Annotation* counters = tables.find("counters")) {
    std::vector<StringId> names;
    for (const std::string& name : to_texts(counters->items("names")))
      names.push_back(trace.strings.intern(name));
    for (const Annotation& from : counters->items("rows")) {
      HONE_ASSIGN(KernelCounters row, to_counters(from, names));
      trace.counters.push_back(std::move(row));
    }
  }
  if (const Annotation* samples = tables.find("samples")) to_samples(*samples, trace);
  if (const Annotation* samples = tables.find("kernel_samples"))
    HONE_CHECK(to_kernel_samples(*samples, trace));
  if (const Annotation* stacks = tables.find("stacks")) to_stacks(*stacks, trace);
  if (const Annotation* use = tables.find("host_use")) to_host_use(*use, trace);
  return {};
}

}  // namespace hone::trace::perfetto
