#include "trace/sql/writer.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trace/kernel_family.h"
#include "trace/sql/database.h"
#include "trace/sql/schema.h"

namespace hone::trace {
namespace sql {
namespace {

constexpr std::array<std::string_view, 3> kTrackKinds = {"process", "thread", "stream"};
constexpr std::array<std::string_view, 5> kMemoryKinds = {"unknown", "pageable", "pinned", "device",
                                                          "managed"};
constexpr std::size_t kSpansAtOnce = 100'000;  // between two calls of progress

int64_t signed_id(uint64_t id) { return static_cast<int64_t>(id); }

Status write_about(const Meta& meta, const Findings& findings, Database& database) {
  HONE_ASSIGN(Insert about, database.insert_into("about", 2));
  auto add = [&](std::string_view key, std::string_view value) { return about.text(key).text(value).run(); };
  HONE_CHECK(add("producer", meta.producer));
  HONE_CHECK(add("machine", meta.machine));
  HONE_CHECK(add("device", meta.device));
  HONE_CHECK(add("framework", framework_name(meta.framework)));
  HONE_CHECK(add("dropped records", fmt::format("{}", meta.dropped)));
  for (const auto& [name, value] : meta.notes) HONE_CHECK(add(name, value));
  for (const std::string& warning : meta.warnings) HONE_CHECK(add("warning", warning));
  HONE_ASSIGN(Insert devices, database.insert_into("devices", 6));
  for (const DeviceInfo& row : meta.devices)
    HONE_CHECK(devices.integer(row.rank)
                   .integer(row.index)
                   .text(row.name)
                   .real(row.memory_bytes)
                   .integer(row.multiprocessors)
                   .text(fmt::format("{}.{}", row.compute_major, row.compute_minor))
                   .run());
  HONE_ASSIGN(Insert ranks, database.insert_into("ranks", 5));
  for (const RankInfo& row : meta.ranks) {
    ranks.integer(row.rank).integer(row.world_size).text(row.source).text(row.backend);
    const auto shift = findings.clock_shift_ns.find(row.rank);
    HONE_CHECK(ranks.integer(shift == findings.clock_shift_ns.end() ? 0 : shift->second).run());
  }
  return {};
}

Status write_turns(const Meta& meta, Database& database) {
  HONE_ASSIGN(Insert blocks, database.insert_into("blocks", 7));
  for (const RecordingBlock& row : meta.blocks)
    HONE_CHECK(blocks.integer(row.rank)
                   .integer(row.number)
                   .text(block_mode_name(row.mode))
                   .integer(row.start_ns)
                   .integer(row.end_ns)
                   .integer(signed_id(row.first_launch))
                   .integer(signed_id(row.last_launch))
                   .run());
  HONE_ASSIGN(Insert marks, database.insert_into("marks", 6));
  for (const StepMark& row : meta.marks)
    HONE_CHECK(marks.integer(row.rank)
                   .text(step_mark_kind_name(row.kind))
                   .text(row.name)
                   .integer(row.time_ns)
                   .integer(row.tid)
                   .integer(signed_id(row.launches))
                   .run());
  HONE_ASSIGN(Insert steps, database.insert_into("block_steps", 7));
  for (const BlockSteps& row : meta.block_steps)
    HONE_CHECK(steps.integer(row.rank)
                   .integer(row.block)
                   .text(block_mode_name(row.mode))
                   .real(row.steps)
                   .real(row.mean_ns)
                   .integer(row.shown ? 1 : 0)
                   .real(row.median_ns)
                   .run());
  return {};
}

Status write_places(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert strings, database.insert_into("strings", 2));
  for (uint32_t i = 0; i < trace.strings.size(); ++i)
    HONE_CHECK(strings.integer(i).text(trace.strings.text({i})).run());
  HONE_ASSIGN(Insert tracks, database.insert_into("tracks", 8));
  for (uint32_t i = 0; i < trace.tracks.size(); ++i) {
    const Track& row = trace.tracks[i];
    HONE_CHECK(tracks.integer(i)
                   .text(kTrackKinds[static_cast<std::size_t>(row.kind)])
                   .text(row.name)
                   .id(row.process.index, row.process.valid())
                   .integer(row.pid)
                   .integer(row.tid)
                   .integer(row.rank)
                   .integer(row.device)
                   .run());
  }
  return {};
}

Status write_operators(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert insert, database.insert_into("operators", 15));
  for (uint32_t i = 0; i < trace.operators.size(); ++i) {
    const Operator& row = trace.operators[i];
    HONE_CHECK(insert.integer(i)
                   .text(row.name)
                   .text(row.kind)
                   .text(operator_kind_name(row.what))
                   .text(operator_class_name(row.op_class))
                   .text(dtype_name(row.dtype))
                   .real(row.flops)
                   .real(row.bytes_read)
                   .real(row.bytes_written)
                   .real(row.avoidable_bytes)
                   .text(phase_name(row.phase))
                   .text(row.module)
                   .text(row.geometry)
                   .text(row.implementation)
                   .text(fmt::format("{}", fmt::join(row.device_kernels, "\n")))
                   .run());
  }
  return {};
}

Status write_spans(const Trace& trace, const Findings& findings, Database& database,
                   const std::function<void(double)>& progress) {
  HONE_ASSIGN(Insert spans, database.insert_into("spans", 9));
  HONE_ASSIGN(Insert steps, database.insert_into("steps", 7));
  std::map<std::pair<int, int32_t>, const StepLine*> windows;
  for (const StepLine& row : findings.steps) windows[{row.rank, row.step}] = &row;
  const std::size_t count = trace.spans.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Span row = trace.spans.row(i);
    spans.integer(static_cast<int64_t>(i)).integer(row.start_ns).integer(row.duration_ns);
    spans.integer(row.track.index).id(row.name.index, row.name.valid()).text(category_name(row.category));
    row.step == kNoStep ? spans.null() : spans.integer(row.step);
    spans.id(row.op.index, row.op.valid());
    row.correlation == 0 ? spans.null() : spans.integer(signed_id(row.correlation));
    HONE_CHECK(spans.run());
    if (row.category == Category::kStep) {
      const int rank = trace.tracks[row.track.index].rank;
      steps.integer(static_cast<int64_t>(i)).integer(row.step).integer(rank);
      steps.integer(row.start_ns).integer(row.duration_ns);
      const auto window = windows.find({rank, row.step});
      if (window == windows.end())
        steps.null().null();
      else
        steps.integer(window->second->start_ns).integer(window->second->end_ns - window->second->start_ns);
      HONE_CHECK(steps.run());
    }
    if (progress && i % kSpansAtOnce == 0) progress(static_cast<double>(i) / static_cast<double>(count));
  }
  return {};
}

// Every name that a device's work has, with what the name tells.
Status write_kernels(const Trace& trace, Database& database) {
  std::set<uint32_t> names;
  for (std::size_t i = 0; i < trace.spans.size(); ++i)
    if (trace.spans.name[i].valid() && trace.tracks[trace.spans.track[i].index].kind == TrackKind::kStream)
      names.insert(trace.spans.name[i].index);
  HONE_ASSIGN(Insert insert, database.insert_into("kernels", 4));
  for (const uint32_t name : names) {
    const std::string_view text = trace.strings.text(StringId{name});
    const KernelFamily& family = trace.kernel(StringId{name});
    insert.integer(name);
    const std::string short_name = kernel_short_name(text), does = family.text();
    insert.text(short_name);
    family.work == KernelWork::kUnknown ? insert.null() : insert.text(does);
    const std::string_view math = kernel_math_name(family.math);
    math.empty() ? insert.null() : insert.text(math);
    HONE_CHECK(insert.run());
  }
  return {};
}

Status write_details(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert calls, database.insert_into("calls", 4));
  for (const Call& row : trace.calls) {
    calls.integer(row.span).text(trace.strings.text(row.inputs));
    row.sequence == kNoSequence ? calls.null() : calls.integer(row.sequence);
    HONE_CHECK(calls.integer(signed_id(row.external)).run());
  }
  HONE_ASSIGN(Insert launches, database.insert_into("launches", 11));
  for (const Launch& row : trace.launches) {
    launches.integer(row.span).integer(signed_id(row.external));
    for (uint32_t size : row.grid) launches.integer(size);
    for (uint32_t size : row.block) launches.integer(size);
    HONE_CHECK(
        launches.integer(row.registers).integer(row.shared_bytes).integer(signed_id(row.graph_node)).run());
  }
  HONE_ASSIGN(Insert copies, database.insert_into("copies", 5));
  for (const Copy& row : trace.copies)
    HONE_CHECK(copies.integer(row.span)
                   .integer(signed_id(row.external))
                   .text(kMemoryKinds[static_cast<std::size_t>(row.from)])
                   .text(kMemoryKinds[static_cast<std::size_t>(row.to)])
                   .real(row.bytes)
                   .run());
  HONE_ASSIGN(Insert collectives, database.insert_into("collectives", 8));
  for (const Collective& row : trace.collectives)
    HONE_CHECK(collectives.integer(row.span)
                   .text(trace.strings.text(row.name))
                   .text(collective_kind_name(row.kind))
                   .text(trace.strings.text(row.group))
                   .integer(row.group_size)
                   .text(dtype_name(row.dtype))
                   .real(row.elements_in)
                   .real(row.elements_out)
                   .run());
  return {};
}

Status write_counters(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert launches, database.insert_into("counted_launches", 14));
  HONE_ASSIGN(Insert counters, database.insert_into("counters", 3));
  for (std::size_t i = 0; i < trace.counters.size(); ++i) {
    const KernelCounters& row = trace.counters[i];
    launches.integer(static_cast<int64_t>(i)).integer(row.rank).integer(row.device).integer(row.kernel.index);
    for (uint32_t size : row.grid) launches.integer(size);
    for (uint32_t size : row.block) launches.integer(size);
    launches.integer(row.registers).integer(row.shared_bytes).integer(row.instance);
    HONE_CHECK(launches.integer(row.passes).run());
    for (const CounterValue& each : row.values)
      HONE_CHECK(counters.integer(static_cast<int64_t>(i))
                     .text(trace.strings.text(each.metric))
                     .real(each.value)
                     .run());
  }
  return {};
}

Status write_samples(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert rows, database.insert_into("device_samples", 6));
  for (const DeviceSamples& samples : trace.samples)
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (std::size_t metric = 0; metric < samples.metrics.size(); ++metric)
        HONE_CHECK(rows.integer(samples.rank)
                       .integer(samples.device)
                       .integer(samples.start_ns[i])
                       .integer(samples.end_ns[i])
                       .text(trace.strings.text(samples.metrics[metric]))
                       .real(samples.row(i)[metric])
                       .run());
  return {};
}

Status write_kernel_samples(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert samples, database.insert_into("kernel_samples", 16));
  HONE_ASSIGN(Insert stalls, database.insert_into("kernel_stalls", 3));
  for (std::size_t i = 0; i < trace.kernel_samples.size(); ++i) {
    const KernelSample& row = trace.kernel_samples[i];
    const auto id = static_cast<int64_t>(i);
    samples.integer(id).integer(row.rank).integer(row.device).integer(row.kernel.index);
    for (uint32_t size : row.grid) samples.integer(size);
    for (uint32_t size : row.block) samples.integer(size);
    samples.text(trace.strings.text(row.function)).integer(static_cast<int64_t>(row.offset));
    samples.text(line_info_name(row.line_info));
    row.file.valid() ? samples.text(trace.strings.text(row.file)) : samples.null();
    samples.integer(row.line);
    row.source.valid() ? samples.text(trace.strings.text(row.source)) : samples.null();
    HONE_CHECK(samples.run());
    for (const StallSamples& each : row.stalls)
      HONE_CHECK(stalls.integer(id)
                     .text(trace.strings.text(each.reason))
                     .integer(static_cast<int64_t>(each.samples))
                     .run());
  }
  return {};
}

Status write_stacks(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert samples, database.insert_into("stack_samples", 4));
  HONE_ASSIGN(Insert frames, database.insert_into("stack_frames", 8));
  const StackTable& stacks = trace.stacks;
  for (std::size_t i = 0; i < stacks.samples.size(); ++i) {
    const StackSample& row = stacks.samples[i];
    const auto id = static_cast<int64_t>(i);
    samples.integer(id).integer(row.time_ns).integer(row.track.index);
    HONE_CHECK(samples.text(thread_state_name(row.state)).run());
    for (const auto& stack : {stacks.python(row), stacks.native(row)})
      for (std::size_t depth = 0; depth < stack.size(); ++depth) {
        const Frame& frame = stacks.frames[stack[depth].index];
        frames.integer(id).integer(static_cast<int64_t>(depth)).text(frame_kind_name(frame.kind));
        frames.text(trace.strings.text(frame.function)).text(trace.strings.text(frame.file));
        frames.integer(frame.line).text(frame_owner_name(frame.owner));
        HONE_CHECK(frames.text(frame_role_name(frame.role)).run());
      }
  }
  return {};
}

Status write_host_use(const Trace& trace, Database& database) {
  HONE_ASSIGN(Insert insert, database.insert_into("host_use", 14));
  for (const HostUse& row : trace.host_use) {
    insert.integer(row.rank).integer(row.block).real(row.seconds).integer(row.processes);
    for (const double value :
         {row.main_running_s, row.main_in_line_s, row.cpu_s, row.disk_wait_s, row.minor_faults,
          row.major_faults, row.bytes_read, row.bytes_written, row.bytes_received, row.bytes_sent})
      insert.real(value);
    HONE_CHECK(insert.run());
  }
  return {};
}

std::string_view type_name(AddedTable::Type type) {
  switch (type) {
    case AddedTable::Type::kInteger:
      return " INTEGER";
    case AddedTable::Type::kReal:
      return " REAL";
    case AddedTable::Type::kText:
      return " TEXT";
    case AddedTable::Type::kAny:
      break;
  }
  return "";
}

// "value" is a word of SQL's where it stands alone: names are quoted.
std::string create_statement(const AddedTable& table) {
  std::string columns;
  for (const AddedTable::Column& column : table.columns)
    columns += fmt::format("{}\"{}\"{}", columns.empty() ? "" : ", ", column.name, type_name(column.type));
  return fmt::format("CREATE TABLE \"{}\"({})", table.name, columns);
}

Status write_added(const AddedTable& table, Database& database) {
  HONE_CHECK(database.execute(create_statement(table)));
  HONE_ASSIGN(Insert insert,
              database.insert_into("\"" + table.name + "\"", static_cast<int>(table.columns.size())));
  for (const std::vector<AddedTable::Value>& row : table.rows) {
    for (const AddedTable::Value& value : row) {
      if (const auto* whole = std::get_if<int64_t>(&value))
        insert.integer(*whole);
      else if (const auto* real = std::get_if<double>(&value))
        insert.real(*real);
      else if (const auto* text = std::get_if<std::string>(&value))
        insert.text(*text);
      else
        insert.null();
    }
    HONE_CHECK(insert.run());
  }
  return {};
}

}  // namespace
}  // namespace sql

Status write_sqlite(const Trace& trace, const Findings& findings, const std::filesystem::path& path,
                    const std::function<void(double)>& progress) {
  HONE_CHECK(trace.validate());
  HONE_ASSIGN(sql::Database database, sql::Database::create(path));
  HONE_CHECK(database.execute(sql::kTables));
  HONE_CHECK(sql::write_about(trace.meta, findings, database));
  HONE_CHECK(sql::write_turns(trace.meta, database));
  HONE_CHECK(sql::write_places(trace, database));
  HONE_CHECK(sql::write_operators(trace, database));
  HONE_CHECK(sql::write_spans(trace, findings, database, progress));
  HONE_CHECK(sql::write_kernels(trace, database));
  HONE_CHECK(sql::write_details(trace, database));
  HONE_CHECK(sql::write_counters(trace, database));
  HONE_CHECK(sql::write_samples(trace, database));
  HONE_CHECK(sql::write_kernel_samples(trace, database));
  HONE_CHECK(sql::write_stacks(trace, database));
  HONE_CHECK(sql::write_host_use(trace, database));
  for (const AddedTable& table : findings.tables) HONE_CHECK(sql::write_added(table, database));
  HONE_CHECK(database.execute(sql::kIndexes));
  HONE_CHECK(database.execute(sql::kViews));
  return database.commit();
}

}  // namespace hone::trace
