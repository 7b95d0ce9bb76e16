#include "trace/import/nsys/reader.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "trace/import/cupti_names.h"
#include "trace/import/kernel_symbol.h"
#include "trace/import/nsys/database.h"
#include "trace/import/nvtx.h"
#include "trace/import/runtime_calls.h"
#include "trace/import/trace_builder.h"

namespace hone::trace::nsys {
namespace {

constexpr int64_t kIdUnit = 0x1000000;         // of globalTid: vm | process | thread, 24 bits each
constexpr int64_t kNoStream = 0xffffffff;      // a synchronisation of a whole context
constexpr int64_t kMostNs = int64_t{1} << 61;  // 73 years

int64_t pid_of(int64_t global) { return global / kIdUnit % kIdUnit; }
int64_t tid_of(int64_t global) { return global % kIdUnit; }

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string_view without_version(std::string_view name) {
  const std::size_t at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  return name.find_first_not_of("0123456789", at + 2) == std::string_view::npos ? name.substr(0, at) : name;
}

// ENUM_CUDA_MEM_KIND, for files without that table: 0 pageable, 1 pinned, 2 device, 3 array, 4 managed.
MemoryKind memory_kind(int64_t kind) {
  switch (kind) {
    case 0:
      return MemoryKind::kPageable;
    case 1:
      return MemoryKind::kPinned;
    case 2:
    case 3:
      return MemoryKind::kDevice;
    case 4:
    case 5:
      return MemoryKind::kManaged;
    default:
      return MemoryKind::kUnknown;
  }
}

class Reader {
 public:
  explicit Reader(const Database& database) : database_(database) {}

  Result<std::vector<ImportedFile>> run() {
    if (!database_.has("StringIds"))
      return invalid(
          "an SQLite database, but not one of Nsight Systems (no table StringIds), as `nsys export --type "
          "sqlite FILE.nsys-rep` writes it");
    HONE_CHECK(read_strings());
    HONE_CHECK(read_processes());
    HONE_CHECK(read_calls());
    HONE_CHECK(read_kernels());
    HONE_CHECK(read_graphs());
    HONE_CHECK(read_copies());
    HONE_CHECK(read_sets());
    HONE_CHECK(read_synchronizations());
    HONE_CHECK(read_ranges());
    HONE_CHECK(read_thread_names());
    return finish();
  }

 private:
  struct Process {
    TraceBuilder builder;
    std::map<int64_t, StringId> texts;    // of StringIds
    std::map<int64_t, StringId> symbols;  // of StringIds that are mangled names, in C++
    bool uses_device = false;
  };

  // The rows of a table that may not be there; `each` gets one row at a time. Damage ends the table.
  template <typename Each>
  Status for_rows(const std::string& table, const std::vector<std::string>& columns, Each&& each) {
    if (!database_.has(table)) return {};
    HONE_ASSIGN(Query query, database_.select(table, columns));
    while (query.next()) each(query);
    if (query.ok()) return {};
    damaged_ = true;
    warnings_.push_back(fmt::format("the table {} is damaged: some of its rows are lost", table));
    return {};
  }

  Process& process(int64_t pid) {
    const auto [at, added] = processes_.try_emplace(pid);
    if (added) {
      const auto name = process_names_.find(pid);
      at->second.builder.set_process(
          pid, name == process_names_.end() ? fmt::format("process {}", pid) : name->second);
    }
    return at->second;
  }

  std::string_view string(int64_t id) const {
    const auto at = strings_.find(id);
    return at == strings_.end() ? std::string_view() : at->second;
  }

  StringId text(Process& process, int64_t id) {
    const auto [at, added] = process.texts.try_emplace(id);
    if (added) at->second = process.builder.trace.strings.intern(string(id));
    return at->second;
  }

  // A kernel's name as PyTorch's profiler writes it: Nsight Systems spells templates in a way of its own.
  StringId kernel_name(Process& process, const Query& row, int mangled, int64_t own_name) {
    if (row.is_null(mangled)) return text(process, own_name);
    const auto [at, added] = process.symbols.try_emplace(row.integer(mangled));
    if (added) {
      const std::string name = demangled(string(row.integer(mangled)));
      at->second = name.empty() ? text(process, own_name) : process.builder.trace.strings.intern(name);
    }
    return at->second;
  }

  // Adds a span of a row whose first two columns are start and end; false if they cannot be.
  bool add_span(Process& process, const Query& row, TrackId track, StringId name, Category category,
                int64_t correlation) {
    const int64_t start = row.integer(0, -1), end = row.integer(1, -1);
    if (start < 0 || end < start || end > kMostNs) {
      ++impossible_;
      return false;
    }
    process.builder.add({start,
                         end - start,
                         track,
                         name,
                         category,
                         kNoStep,
                         {},
                         static_cast<uint64_t>(std::max<int64_t>(correlation, 0))});
    return true;
  }

  Status read_strings() {
    return for_rows("StringIds", {"id", "value"},
                    [&](const Query& row) { strings_[row.integer(0)] = row.text(1); });
  }

  Status read_processes() {
    return for_rows("PROCESSES", {"globalPid", "pid", "name"}, [&](const Query& row) {
      const std::string_view path = row.text(2);
      process_names_[row.is_null(1) ? pid_of(row.integer(0)) : row.integer(1)] =
          path.substr(path.rfind('/') + 1);
    });
  }

  // The process and stream of a row with deviceId, streamId and globalPid in columns 2 to 4.
  Process& owner(const Query& row) {
    Process& owner = process(pid_of(row.integer(4)));
    owner.uses_device = true;
    return owner;
  }
  static TrackId stream(Process& process, const Query& row) {
    const int64_t id = row.integer(3, -1);
    return process.builder.stream(static_cast<int>(std::clamp<int64_t>(row.integer(2), 0, 1'000'000)),
                                  id == kNoStream ? -1 : id);
  }

  Status read_kernels() {
    return for_rows(
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {"start", "end", "deviceId", "streamId", "globalPid", "correlationId", "demangledName", "shortName",
         "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread", "staticSharedMemory",
         "dynamicSharedMemory", "graphNodeId", "mangledName"},
        [&](const Query& row) {
          Process& by = owner(row);
          const int64_t name = row.is_null(6) ? row.integer(7) : row.integer(6);
          const bool collective = is_collective_kernel(string(name));
          if (!add_span(by, row, stream(by, row), kernel_name(by, row, 18, name),
                        collective ? Category::kCommunication : Category::kKernel, row.integer(5)))
            return;
          if (graph_launches_.contains(row.integer(5))) graph_work_ = true;
          const auto number = [&](int column) {
            return static_cast<uint32_t>(std::clamp<int64_t>(row.integer(column), 0, 0xffffffff));
          };
          Launch launch;
          launch.grid = {number(8), number(9), number(10)};
          launch.block = {number(11), number(12), number(13)};
          launch.registers = number(14);
          launch.shared_bytes = number(15) + number(16);
          launch.graph_node = static_cast<uint64_t>(std::max<int64_t>(row.integer(17), 0));
          by.builder.add(launch);
          if (!collective) return;
          Collective row_of;
          row_of.name = by.builder.trace.strings.intern(collective_of_kernel(string(name)));
          by.builder.add(row_of);
        });
  }

  // CUDA graphs recorded as wholes: `--cuda-graph-trace=graph`, the default.
  Status read_graphs() {
    return for_rows("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                    {"start", "end", "deviceId", "streamId", "globalPid", "correlationId", "graphId"},
                    [&](const Query& row) {
                      Process& by = owner(row);
                      const StringId name =
                          by.builder.trace.strings.intern(fmt::format("CUDA graph {}", row.integer(6)));
                      if (!add_span(by, row, stream(by, row), name, Category::kKernel, row.integer(5)))
                        return;
                      by.builder.add(Launch{});
                      whole_graphs_ = graph_work_ = true;
                    });
  }

  Status read_copies() {
    std::map<int64_t, MemoryKind> kinds;
    HONE_CHECK(for_rows("ENUM_CUDA_MEM_KIND", {"id", "label"}, [&](const Query& row) {
      const std::string_view label = row.text(1);
      kinds[row.integer(0)] = label.starts_with("Pageable")  ? MemoryKind::kPageable
                              : label.starts_with("Pinned")  ? MemoryKind::kPinned
                              : label.starts_with("Managed") ? MemoryKind::kManaged
                              : label.starts_with("Device") || label.starts_with("Array")
                                  ? MemoryKind::kDevice
                                  : MemoryKind::kUnknown;
    }));
    const auto kind_of = [&](const Query& row, int column) {
      if (row.is_null(column)) return MemoryKind::kUnknown;
      const auto at = kinds.find(row.integer(column));
      return at == kinds.end() ? memory_kind(row.integer(column)) : at->second;
    };
    return for_rows("CUPTI_ACTIVITY_KIND_MEMCPY",
                    {"start", "end", "deviceId", "streamId", "globalPid", "correlationId", "bytes",
                     "copyKind", "srcKind", "dstKind"},
                    [&](const Query& row) {
                      Process& by = owner(row);
                      const StringId name = by.builder.trace.strings.intern(copy_name(row.integer(7)));
                      if (!add_span(by, row, stream(by, row), name, Category::kMemcpy, row.integer(5)))
                        return;
                      Copy copy;
                      copy.bytes = static_cast<double>(std::max<int64_t>(row.integer(6), 0));
                      copy.from = kind_of(row, 8);
                      copy.to = kind_of(row, 9);
                      by.builder.add(copy);
                    });
  }

  Status read_sets() {
    return for_rows("CUPTI_ACTIVITY_KIND_MEMSET",
                    {"start", "end", "deviceId", "streamId", "globalPid", "correlationId", "bytes"},
                    [&](const Query& row) {
                      Process& by = owner(row);
                      const StringId name = by.builder.trace.strings.intern("Memset");
                      if (!add_span(by, row, stream(by, row), name, Category::kMemset, row.integer(5)))
                        return;
                      Copy copy;
                      copy.bytes = static_cast<double>(std::max<int64_t>(row.integer(6), 0));
                      copy.to = MemoryKind::kDevice;
                      by.builder.add(copy);
                    });
  }

  Status read_synchronizations() {
    return for_rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                    {"start", "end", "deviceId", "streamId", "globalPid", "correlationId", "syncType"},
                    [&](const Query& row) {
                      Process& by = process(pid_of(row.integer(4)));
                      const StringId name =
                          by.builder.trace.strings.intern(synchronization_name(row.integer(6)));
                      add_span(by, row, stream(by, row), name, Category::kSynchronization, row.integer(5));
                    });
  }

  // Runtime and driver calls stand in one table.
  Status read_calls() {
    return for_rows("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"},
                    [&](const Query& row) {
                      Process& by = process(pid_of(row.integer(2)));
                      const std::string_view name = without_version(string(row.integer(4)));
                      if (name == "cudaGraphLaunch" || name == "cuGraphLaunch")
                        graph_launches_.insert(row.integer(3));
                      add_span(by, row, by.builder.thread(tid_of(row.integer(2))),
                               by.builder.trace.strings.intern(name), runtime_call_category(name),
                               row.integer(3));
                    });
  }

  Status read_ranges() {
    constexpr int64_t kPushPop = 59, kStartEnd = 60;
    return for_rows("NVTX_EVENTS",
                    {"start", "end", "globalTid", "eventType", "text", "textId", "endGlobalTid"},
                    [&](const Query& row) {
                      const int64_t type = row.integer(3, kPushPop);
                      if (row.is_null(1) || (type != kPushPop && type != kStartEnd)) return;
                      if (!row.is_null(6) && row.integer(6) != 0 && row.integer(6) != row.integer(2)) return;
                      Process& by = process(pid_of(row.integer(2)));
                      const std::string_view label = row.is_null(4) ? string(row.integer(5)) : row.text(4);
                      const NvtxRange range = nvtx_range(label);
                      StringTable& strings = by.builder.trace.strings;
                      const Category category = range.is_call ? Category::kOperator : Category::kRegion;
                      if (!add_span(by, row, by.builder.thread(tid_of(row.integer(2))),
                                    strings.intern(range.name), category, 0))
                        return;
                      if (!range.is_call) return;
                      Call call;
                      call.sequence = range.sequence;
                      if (!range.inputs.empty()) call.inputs = strings.intern(range.inputs);
                      by.builder.add(call);
                    });
  }

  Status read_thread_names() {
    return for_rows("ThreadNames", {"nameId", "globalTid"}, [&](const Query& row) {
      const auto at = processes_.find(pid_of(row.integer(1)));
      if (at == processes_.end()) return;
      for (Track& track : at->second.builder.trace.tracks)
        if (track.kind == TrackKind::kThread && track.tid == tid_of(row.integer(1)))
          track.name = string(row.integer(0));
    });
  }

  std::vector<DeviceInfo> read_devices(int64_t pid) {
    std::map<int64_t, DeviceInfo> by_gpu;
    (void)for_rows(
        "TARGET_INFO_GPU",
        {"id", "name", "totalMemory", "smCount", "numMultiprocessors", "computeMajor", "computeMinor"},
        [&](const Query& row) {
          const auto small = [&](int column) {
            return static_cast<int>(std::clamp<int64_t>(row.integer(column), 0, 1'000'000));
          };
          DeviceInfo device;
          device.index = small(0);
          device.name = row.text(1);
          device.memory_bytes = static_cast<double>(std::max<int64_t>(row.integer(2), 0));
          device.multiprocessors = std::max(small(3), small(4));
          device.compute_major = small(5);
          device.compute_minor = small(6);
          by_gpu[row.integer(0)] = device;
        });
    std::vector<DeviceInfo> devices;  // as this process numbers them
    (void)for_rows("TARGET_INFO_CUDA_DEVICE", {"gpuId", "cudaId", "pid"}, [&](const Query& row) {
      const auto gpu = by_gpu.find(row.integer(0));
      if (gpu == by_gpu.end() || (!row.is_null(2) && row.integer(2) != pid)) return;
      devices.push_back(gpu->second);
      devices.back().index = static_cast<int>(std::clamp<int64_t>(row.integer(1), 0, 1'000'000));
    });
    if (devices.empty())
      for (const auto& [id, device] : by_gpu) devices.push_back(device);
    return devices;
  }

  // Severity 1 is information, 2 a warning, 3 an error.
  void read_diagnostics() {
    std::set<std::string> seen;
    (void)for_rows("DIAGNOSTIC_EVENT", {"severity", "text"}, [&](const Query& row) {
      if (row.integer(0) >= 2 && seen.size() < 5 && seen.insert(std::string(row.text(1))).second)
        warnings_.push_back(fmt::format("Nsight Systems says: {}", row.text(1)));
    });
  }

  Result<std::vector<ImportedFile>> finish() {
    int64_t epoch = 0;
    bool has_epoch = false;
    (void)for_rows("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const Query& row) {
      epoch = std::clamp<int64_t>(row.integer(0), 0, kMostNs);
      has_epoch = epoch > 0;
    });
    read_diagnostics();
    if (impossible_ > 0)
      warnings_.push_back(
          fmt::format("{} rows left out: they end before they start, or never did", impossible_));
    if (whole_graphs_)
      warnings_.emplace_back(
          "CUDA graphs were recorded as wholes: record with --cuda-graph-trace=node to see their kernels");
    if (!graph_launches_.empty() && !graph_work_)
      warnings_.push_back(fmt::format(
          "CUDA graphs were launched {} times, and nothing that ran in them is in the file: record "
          "with --cuda-graph-trace=node",
          graph_launches_.size()));
    const bool any_device = std::any_of(processes_.begin(), processes_.end(),
                                        [](const auto& each) { return each.second.uses_device; });
    std::vector<ImportedFile> files;
    for (auto& [pid, process] : processes_) {
      if (process.builder.size() == 0 || (any_device && !process.uses_device)) continue;
      process.builder.trace.meta.devices = read_devices(pid);
      ImportedFile file = std::move(process.builder).finish(epoch, has_epoch);
      Meta& meta = file.trace.meta;
      meta.producer = "Nsight Systems";
      meta.device = any_device ? "cuda" : "cpu";
      meta.cut_off = damaged_;
      meta.ranks.emplace_back();
      if (files.empty()) meta.warnings = warnings_;
      files.push_back(std::move(file));
    }
    if (files.empty())
      return invalid(
          "a database of Nsight Systems without CUDA or NVTX events; record with --trace=cuda,nvtx");
    for (ImportedFile& file : files) file.trace.meta.ranks[0].world_size = static_cast<int>(files.size());
    return files;
  }

  const Database& database_;
  std::unordered_map<int64_t, std::string> strings_;
  std::map<int64_t, std::string> process_names_;
  std::map<int64_t, Process> processes_;  // by pid
  std::vector<std::string> warnings_;
  std::size_t impossible_ = 0;
  std::unordered_set<int64_t> graph_launches_;  // correlations
  bool whole_graphs_ = false, graph_work_ = false, damaged_ = false;
};

}  // namespace

Result<std::vector<ImportedFile>> read_nsys(const std::filesystem::path& path) {
  HONE_ASSIGN(const Database database, Database::open(path));
  return Reader(database).run();
}

Result<std::vector<ImportedFile>> read_nsys_bytes(std::string bytes) {
  HONE_ASSIGN(const Database database, Database::of_bytes(std::move(bytes)));
  return Reader(database).run();
}

}  // namespace hone::trace::nsys
