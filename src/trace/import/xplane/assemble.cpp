#include "trace/import/xplane/assemble.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "trace/import/runtime_calls.h"
#include "trace/import/trace_builder.h"
#include "trace/import/xplane/details.h"
#include "trace/import/xplane/device_waits.h"
#include "trace/import/xplane/host_events.h"
#include "trace/import/xplane/operators.h"

namespace hone::trace::xplane {
namespace {

constexpr std::string_view kGpuPlane = "/device:GPU:", kTpuPlane = "/device:TPU:";
constexpr int64_t kSinceBoot =
    1'000'000'000'000'000'000;        // less is no time since 1970 but counts from the profile's start
constexpr int64_t kStepsThread = -2;  // of steps that a device tells
constexpr int64_t kAsyncStream = 1;   // of a TPU, beside that of its instructions

enum class PlaneKind : uint8_t { kOther, kHost, kGpu, kTpu };
enum class LineKind : uint8_t { kIgnored, kThread, kStream, kInstructions, kAsync, kDeviceSteps };

// "/device:GPU:3" → 3; nothing for "/device:TPU:0 SparseCore 1".
std::optional<int> device_number(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0 || number > 1'000'000)
    return std::nullopt;
  return number;
}

int small_number(std::span<const Stat> stats, StatName name) {
  const Stat* stat = find_stat(stats, name);
  return stat == nullptr ? 0 : static_cast<int>(std::clamp(stat->number(), 0.0, 1e6));
}

std::string_view text_of(std::span<const Stat> stats, StatName name) {
  const Stat* stat = find_stat(stats, name);
  return stat == nullptr ? std::string_view() : stat->text;
}

// A number that may be written as a text.
int64_t integer_of(std::span<const Stat> stats, StatName name) {
  const Stat* stat = find_stat(stats, name);
  if (stat == nullptr) return 0;
  if (stat->text.empty())
    return stat->is_real ? static_cast<int64_t>(std::clamp(stat->real, -1e18, 1e18)) : stat->integer;
  int64_t value = 0;
  std::from_chars(stat->text.data(), stat->text.data() + stat->text.size(), value);
  return value;
}

double real_of(std::span<const Stat> own, std::span<const Stat> shared, StatName name) {
  const Stat* stat = find_stat(own, name);
  if (stat == nullptr) stat = find_stat(shared, name);
  if (stat == nullptr) return 0;
  double value = stat->number();
  if (!stat->text.empty()) std::from_chars(stat->text.data(), stat->text.data() + stat->text.size(), value);
  return std::isfinite(value) ? std::clamp(value, 0.0, 1e30) : 0;
}

// What is known of a kind of events by its name, looked at once a plane.
struct KindSays {
  bool known = false;
  StringId name;
  HostMeaning meaning = HostMeaning::kInternal;
  bool is_tensorflow = false;  // "model/dense/MatMul:MatMul"
};

// A step as the program or the device marked it.
struct MarkedStep {
  uint32_t track = 0;
  int64_t start_ns = 0, end_ns = 0;
  int64_t number = 0;
  StringId name;
};

}  // namespace

class Assembler::State {
 public:
  void begin_plane(const PlaneInfo& plane) {
    flush_pending();
    kinds_.clear();
    device_ = 0;
    plane_ = PlaneKind::kOther;
    if (plane.name == "/host:metadata") read_metadata(plane);
    if (const Stat* start = find_stat(plane.stats, StatName::kProfileStart))
      profile_start_ns_ = start->integer;
    if (const int64_t pid = integer_of(plane.stats, StatName::kProcessId); pid > 0) pid_ = pid;
    if (plane.name.starts_with("/host:") || plane.name == "Host CPUs") plane_ = PlaneKind::kHost;
    if (const auto gpu = device_number(plane.name, kGpuPlane)) begin_device(plane, PlaneKind::kGpu, *gpu);
    if (const auto tpu = device_number(plane.name, kTpuPlane)) begin_device(plane, PlaneKind::kTpu, *tpu);
  }

  void begin_line(const LineInfo& line) {
    flush_pending();
    line_ = LineKind::kIgnored;
    last_range_end_ = operator_end_ = wait_end_ = -1;
    switch (plane_) {
      case PlaneKind::kOther:
        return;
      case PlaneKind::kHost:
        line_ = LineKind::kThread;
        line_id_ = line.id;
        line_name_ = line.name;
        track_ = {};
        return;
      case PlaneKind::kGpu:  // others are made of these by the profiler's tools
        if (!line.name.starts_with("Stream")) return;
        line_ = LineKind::kStream;
        break;
      case PlaneKind::kTpu:
        if (line.name == "XLA Ops") line_ = LineKind::kInstructions;
        if (line.name == "Async XLA Ops") line_ = LineKind::kAsync;
        if (line.name == "Steps") line_ = LineKind::kDeviceSteps;
        if (line_ == LineKind::kIgnored) return;
        break;
    }
    if (line_ == LineKind::kDeviceSteps) return;
    name_process();
    const int64_t id = line_ == LineKind::kStream  ? std::max<int64_t>(line.id, 0)
                       : line_ == LineKind::kAsync ? kAsyncStream
                                                   : 0;
    track_ = builder_.stream(device_, id);
    if (plane_ == PlaneKind::kTpu) builder_.trace.tracks[track_.index].name = line.name;
  }

  void add(uint32_t kind_id, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
           std::span<const Stat> stats) {
    switch (line_) {
      case LineKind::kIgnored:
        return;
      case LineKind::kThread:
        return add_host(says_of(kind_id, kind), kind, start_ns, duration_ns, stats);
      case LineKind::kStream:
        return add_gpu(says_of(kind_id, kind), kind, start_ns, duration_ns, stats);
      case LineKind::kInstructions:
      case LineKind::kAsync:
        return add_instruction(says_of(kind_id, kind), kind, start_ns, duration_ns, stats);
      case LineKind::kDeviceSteps:
        if (device_ == first_device_ && duration_ns > 0)
          device_steps_.push_back(
              {0, start_ns, start_ns + duration_ns, step_of(kind, stats), says_of(kind_id, kind).name});
        return;
    }
  }

  Result<ImportedFile> finish() {
    flush_pending();
    if (builder_.size() == 0)
      return invalid(
          "a profile of XLA's tracer without events; record while steps run (jax.profiler.trace around them, "
          "tf.profiler.experimental.start and stop)");
    add_steps();
    if (devices_ == PlaneKind::kGpu) add_device_waits();
    const bool relative = profile_start_ns_ > 0 && first_ns_ < kSinceBoot;
    const int64_t epoch = relative ? profile_start_ns_ : 0;
    Meta& meta = builder_.trace.meta;
    meta.producer = "XLA profiler";
    meta.framework = framework();
    meta.device = devices_ == PlaneKind::kGpu ? "cuda" : devices_ == PlaneKind::kTpu ? "tpu" : "cpu";
    meta.ranks.emplace_back();
    if (!jax_version_.empty()) meta.notes.emplace_back("jax", std::string(jax_version_));
    if (operators_.damaged_modules() > 0)
      meta.warnings.push_back(
          fmt::format("{} modules of XLA are damaged: the costs of their operators are not known",
                      operators_.damaged_modules()));
    ImportedFile file = std::move(builder_).finish(epoch, relative || first_ns_ >= kSinceBoot);
    // Without a device the host waits for its own threads: what they do meanwhile is told by the operators.
    if (devices_ == PlaneKind::kOther)
      std::replace(file.trace.spans.category.begin(), file.trace.spans.category.end(),
                   Category::kSynchronization, Category::kOther);
    return file;
  }

 private:
  void read_metadata(const PlaneInfo& plane) {
    if (const std::string_view version = text_of(plane.stats, StatName::kJaxVersion); !version.empty())
      jax_version_ = version;
    for (const EventKind& kind : plane.kinds) {
      const Stat* proto = find_stat(kind.stats, StatName::kHloProto);
      if (proto != nullptr)
        operators_.add_module(kind.name, integer_of(kind.stats, StatName::kProgramId), proto->text);
    }
  }

  void begin_device(const PlaneInfo& plane, PlaneKind kind, int number) {
    plane_ = kind;
    device_ = number;
    if (devices_ == PlaneKind::kOther) first_device_ = number;
    devices_ = kind;
    DeviceInfo& device = builder_.trace.meta.devices.emplace_back();
    device.index = number;
    device.name = text_of(plane.stats, StatName::kDeviceName);
    if (device.name.empty()) device.name = text_of(plane.stats, StatName::kDeviceType);
    device.memory_bytes = real_of(plane.stats, {}, StatName::kMemorySize);
    device.multiprocessors = small_number(plane.stats, StatName::kCoreCount);
    device.compute_major = small_number(plane.stats, StatName::kComputeMajor);
    device.compute_minor = small_number(plane.stats, StatName::kComputeMinor);
  }

  void name_process() {
    if (std::exchange(process_named_, true)) return;
    builder_.set_process(pid_, pid_ > 0 ? fmt::format("process {}", pid_) : "process");
  }

  TrackId thread() {
    if (track_.valid()) return track_;
    name_process();
    track_ = builder_.thread(line_id_);
    if (!line_name_.empty()) builder_.trace.tracks[track_.index].name = line_name_;
    return track_;
  }

  KindSays& says_of(uint32_t kind_id, const EventKind& kind) {
    if (kind_id >= kinds_.size()) kinds_.resize(kind_id + std::size_t{1});
    KindSays& says = kinds_[kind_id];
    if (says.known) return says;
    says.known = true;
    says.meaning = host_meaning(kind.name);
    says.is_tensorflow = says.meaning != HostMeaning::kInternal && !kind.display.empty() &&
                         kind.name.size() > kind.display.size() + 1 && kind.name.ends_with(kind.display) &&
                         kind.name[kind.name.size() - kind.display.size() - 1] == ':';
    if (says.meaning == HostMeaning::kPythonFrame)
      says.name = builder_.trace.strings.intern(python_frame(kind.name));
    else
      says.name = builder_.trace.strings.intern(kind.name);
    return says;
  }

  void emit_operator(const StringId name, int64_t start_ns, int64_t duration_ns, const HloOperator& ran) {
    emit(thread(), name, ran.is_collective ? Category::kCommunication : Category::kOperator, start_ns,
         duration_ns, ran.op);
    operator_end_ = std::max(operator_end_, start_ns + duration_ns);
  }

  void emit(TrackId track, StringId name, Category category, int64_t start_ns, int64_t duration_ns,
            OperatorId op = {}, uint64_t correlation = 0) {
    first_ns_ = builder_.size() == 0 ? start_ns : std::min(first_ns_, start_ns);
    builder_.add({start_ns, duration_ns, track, name, category, kNoStep, op, correlation});
  }

  HloEvent hlo_event(std::string_view op, std::span<const Stat> stats, std::span<const Stat> shared) {
    HloEvent event;
    event.op = op;
    event.module = text_of(stats, StatName::kHloModule);
    event.program = integer_of(stats, StatName::kProgramId);
    if (event.program == 0) event.program = integer_of(shared, StatName::kProgramId);
    event.op_name = text_of(stats, StatName::kTfOp);
    if (event.op_name.empty()) event.op_name = text_of(shared, StatName::kTfOp);
    event.category = text_of(stats, StatName::kHloCategory);
    if (event.category.empty()) event.category = text_of(shared, StatName::kHloCategory);
    event.flops = real_of(stats, shared, StatName::kFlops);
    event.bytes = real_of(stats, shared, StatName::kBytesAccessed);
    if (event.module.starts_with("jit_") || event.module.starts_with("pmap_")) ++jax_marks_;
    if (event.module.starts_with("SyncTensorsGraph") || event.module.starts_with("IrToHlo")) ++torch_marks_;
    if (event.module.starts_with("cluster_") || event.module.starts_with("a_inference_")) ++tensorflow_marks_;
    return event;
  }

  void add_host(const KindSays& says, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
                std::span<const Stat> stats) {
    if (const Stat* op = find_stat(stats, StatName::kHloOp); op != nullptr && !op->text.empty()) {
      emit_operator(says.name, start_ns, duration_ns,
                    operators_.find(hlo_event(op->text, stats, kind.stats), "cpu", builder_.trace));
      return;
    }
    if (const Stat* number = find_stat(stats, StatName::kStepNumber); number != nullptr && duration_ns > 0) {
      steps_.push_back({thread().index, start_ns, start_ns + duration_ns,
                        integer_of(stats, StatName::kStepNumber), says.name});
      return;
    }
    if (says.is_tensorflow) {
      ++tensorflow_marks_;
      emit_operator(
          says.name, start_ns, duration_ns,
          {operators_.framework_operator(kind.name.substr(0, kind.name.size() - kind.display.size() - 1),
                                         kind.display, builder_.trace)});
      return;
    }
    if (const std::string_view eager = text_of(stats, StatName::kEagerOp);
        !eager.empty() && integer_of(stats, StatName::kIsFunction) == 0) {
      ++tensorflow_marks_;
      emit_operator(builder_.trace.strings.intern(eager), start_ns, duration_ns,
                    {operators_.framework_operator(eager, eager, builder_.trace)});
      return;
    }
    if (find_stat(stats, StatName::kCorrelationId) != nullptr) {
      emit(thread(), says.name, runtime_call_category(kind.name), start_ns, duration_ns, {},
           static_cast<uint64_t>(std::max<int64_t>(integer_of(stats, StatName::kCorrelationId), 0)));
      return;
    }
    add_host_range(says, kind, start_ns, duration_ns, stats);
  }

  void add_host_range(const KindSays& says, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
                      std::span<const Stat> stats) {
    if (start_ns < wait_end_) return;  // how the host waits
    Category category = Category::kOther;
    switch (says.meaning) {
      case HostMeaning::kMarker:
        return;
      case HostMeaning::kRange: {
        // JAX marks a call of a jitted function twice.
        if (says.name == last_range_ && start_ns + duration_ns <= last_range_end_) return;
        last_range_ = says.name;
        last_range_end_ = start_ns + duration_ns;
        category = Category::kRegion;
        if (kind.name.starts_with("PjitFunction(")) ++jax_marks_;
        if (find_stat(stats, StatName::kTfFunctionCall) != nullptr) ++tensorflow_marks_;
        break;
      }
      case HostMeaning::kInternal:
        if (start_ns < operator_end_) return;  // how the operator does its work
        break;
      case HostMeaning::kWait:
        category = Category::kSynchronization;
        wait_end_ = start_ns + duration_ns;
        break;
      case HostMeaning::kCompile:
        category = Category::kCompile;
        break;
      case HostMeaning::kInput:
        category = Category::kInput;
        break;
      case HostMeaning::kTransfer:
        break;
      case HostMeaning::kPythonFrame:
        category = Category::kFunction;
        break;
    }
    if (duration_ns > 0) emit(thread(), says.name, category, start_ns, duration_ns);
  }

  // Kernels of one instruction that follow each other are one execution of it, until one of them comes again.
  uint64_t execution_of(OperatorId op, StringId kernel) {
    Execution& last = executions_[track_.index];
    if (last.op != op || !last.kernels.insert(kernel.index).second) {
      last.op = op;
      last.kernels = {kernel.index};
      last.number = ++execution_count_;
    }
    return last.number;
  }

  void add_gpu(const KindSays& says, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
               std::span<const Stat> stats) {
    const auto correlation =
        static_cast<uint64_t>(std::max<int64_t>(integer_of(stats, StatName::kCorrelationId), 0));
    const std::string_view copy = text_of(stats, StatName::kMemcpyDetails);
    const std::string_view set = text_of(stats, StatName::kMemsetDetails);
    const std::string_view launch = text_of(stats, StatName::kKernelDetails);
    if (copy.empty() && set.empty() && launch.empty() && correlation == 0) return;
    OperatorId op;
    if (const Stat* hlo = find_stat(stats, StatName::kHloOp); hlo != nullptr && !hlo->text.empty()) {
      HloEvent event = hlo_event(hlo->text, stats, kind.stats);
      event.kernel = kind.name;
      op = operators_.find(event, "cuda", builder_.trace).op;
    }
    if (!copy.empty() || !set.empty()) {
      const Copy detail = copy.empty() ? memset_details(set) : memcpy_details(copy);
      const StringId name =
          builder_.trace.strings.intern(copy.empty() ? std::string("Memset") : copy_words(detail));
      emit(track_, name, copy.empty() ? Category::kMemset : Category::kMemcpy, start_ns, duration_ns, op,
           correlation);
      builder_.add(detail);
      return;
    }
    const bool collective = is_collective_kernel(kind.name);
    Launch detail = kernel_details(launch);
    detail.graph_node = static_cast<uint64_t>(integer_of(stats, StatName::kGraphNode));
    if (op.valid()) detail.external = execution_of(op, says.name);
    emit(track_, says.name, collective ? Category::kCommunication : Category::kKernel, start_ns, duration_ns,
         op, correlation);
    builder_.add(detail);
    if (!collective) return;
    Collective row;
    row.name = builder_.trace.strings.intern(collective_of_kernel(kind.name));
    builder_.add(row);
  }

  // Instructions of a TPU. Those that run others stand around them on their line: what they do themselves is
  // not told from their parts, so only the innermost are kept.
  struct Pending {
    StringId name;
    TrackId track;
    Category category;
    int64_t start_ns, duration_ns;
    OperatorId op;
    bool is_collective;
    std::string_view opcode;
  };

  void add_instruction(const KindSays& says, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
                       std::span<const Stat> stats) {
    if (pending_ && start_ns < pending_->start_ns + pending_->duration_ns && line_ == LineKind::kInstructions)
      pending_.reset();
    flush_pending();
    const std::string_view op = kind.display.empty() ? kind.name : kind.display;
    const HloOperator ran = operators_.find(hlo_event(op, stats, kind.stats), "tpu", builder_.trace);
    const Category category = ran.is_collective           ? Category::kCommunication
                              : line_ == LineKind::kAsync ? Category::kMemcpy
                                                          : Category::kKernel;
    pending_ = Pending{kind.display.empty() ? says.name : builder_.trace.strings.intern(kind.display),
                       track_,
                       category,
                       start_ns,
                       duration_ns,
                       ran.op,
                       ran.is_collective,
                       op};
  }

  void flush_pending() {
    if (!pending_) return;
    const Pending event = *std::exchange(pending_, std::nullopt);
    emit(event.track, event.name, event.category, event.start_ns, event.duration_ns, event.op);
    if (event.category == Category::kMemcpy) {
      builder_.add(Copy{0, 0, MemoryKind::kDevice, MemoryKind::kDevice, 0});
      return;
    }
    builder_.add(Launch{});
    if (!event.is_collective) return;
    Collective row;
    row.name = builder_.trace.strings.intern(event.opcode.substr(0, event.opcode.find('.')));
    builder_.add(row);
  }

  static int64_t step_of(const EventKind& kind, std::span<const Stat> stats) {
    if (find_stat(stats, StatName::kStepNumber) != nullptr) return integer_of(stats, StatName::kStepNumber);
    int64_t number = -1;
    const std::string_view name = kind.name.substr(kind.name.rfind(' ') + 1);
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number;
  }

  // The thread with most marks tells the steps; those of a device tell more exactly when each ran.
  void add_steps() {
    std::vector<MarkedStep> chosen;
    if (!device_steps_.empty()) {
      name_process();
      const TrackId track = builder_.thread(kStepsThread);
      builder_.trace.tracks[track.index].name = "steps of the device";
      for (MarkedStep& step : device_steps_) step.track = track.index;
      chosen = std::move(device_steps_);
    } else {
      std::map<uint32_t, std::size_t> marks;
      for (const MarkedStep& step : steps_) ++marks[step.track];
      const auto most = std::max_element(marks.begin(), marks.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      for (const MarkedStep& step : steps_)
        if (step.track == most->first) chosen.push_back(step);
    }
    std::sort(chosen.begin(), chosen.end(), [](const MarkedStep& a, const MarkedStep& b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
    });
    // A mark within another's is a part of that step.
    std::vector<MarkedStep> steps;
    for (const MarkedStep& step : chosen)
      if (steps.empty() || step.start_ns >= steps.back().end_ns) steps.push_back(step);
    if (devices_ == PlaneKind::kOther) reach_work(steps);
    const bool numbered = std::adjacent_find(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
                            return a.number >= b.number;
                          }) == steps.end();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const bool usable = numbered && steps.front().number >= 0 && steps.back().number < (1 << 30);
      first_ns_ = std::min(first_ns_, steps[i].start_ns);
      builder_.add({steps[i].start_ns,
                    steps[i].end_ns - steps[i].start_ns,
                    {steps[i].track},
                    steps[i].name,
                    Category::kStep,
                    static_cast<int32_t>(usable ? steps[i].number : static_cast<int64_t>(i))});
    }
  }

  // XLA's profiler records few of the host's waits for the device. Without them nothing says that the program would
  // go on earlier, were the device faster.
  void add_device_waits() {
    std::unordered_map<uint32_t, std::size_t> marks, launches;
    for (const Span& span : builder_.spans()) {
      if (builder_.trace.tracks[span.track.index].kind != TrackKind::kThread) continue;
      marks[span.track.index] += span.category == Category::kStep ? 1u : 0u;
      launches[span.track.index] += span.category == Category::kRuntime && span.correlation != 0 ? 1u : 0u;
    }
    TrackId thread;
    std::pair<std::size_t, std::size_t> most;
    for (const auto& [track, count] : launches)
      if (const std::pair of_track(marks[track], count); count > 0 && of_track > most) {
        most = of_track;
        thread = TrackId{track};
      }
    if (!thread.valid()) return;
    const DeviceWaits found = find_device_waits(builder_.trace, builder_.spans(), thread);
    const StringId name = builder_.trace.strings.intern("wait for the device (not recorded)");
    for (const DeviceWait& wait : found.waits)
      emit(thread, name, Category::kSynchronization, wait.start_ns, wait.end_ns - wait.start_ns);
    std::vector<std::string>& warnings = builder_.trace.meta.warnings;
    if (!found.waits.empty())
      warnings.push_back(fmt::format(
          "{} waits of the host for the device are not recorded, and told by where the device's work "
          "ends and the host goes on",
          found.waits.size()));
    else if (found.unclear > 0)
      warnings.emplace_back(
          "XLA's profiler records only some of the host's waits for the device, and no others can be told: "
          "what "
          "faster kernels would win may be told too low, or as nothing");
  }

  // A program that waits for no result marks only how long it took to begin each step. What it began runs on other
  // threads, and holds the program up some steps later: then a step lasts until the next one begins.
  void reach_work(std::vector<MarkedStep>& steps) {
    constexpr double kMostWithin = 0.8;  // of the operators' time
    if (steps.size() < 2) return;
    double within = 0, all = 0;
    int64_t last_end = 0;
    for (const Span& span : builder_.spans()) {
      if (span.category != Category::kOperator) continue;
      const auto after =
          std::upper_bound(steps.begin(), steps.end(), span.start_ns,
                           [](int64_t at, const MarkedStep& step) { return at < step.start_ns; });
      all += static_cast<double>(span.duration_ns);
      last_end = std::max(last_end, span.end_ns());
      if (after != steps.begin() && span.start_ns < std::prev(after)->end_ns)
        within += static_cast<double>(span.duration_ns);
    }
    if (within >= kMostWithin * all) return;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) steps[i].end_ns = steps[i + 1].start_ns;
    steps.back().end_ns = std::max(steps.back().end_ns, last_end);
    builder_.trace.meta.warnings.emplace_back(
        "the program did not wait for its steps: each is taken to last until the next begins");
  }

  Framework framework() const {
    if (!jax_version_.empty()) return Framework::kJax;
    if (torch_marks_ > 0) return Framework::kPyTorch;
    if (jax_marks_ > tensorflow_marks_) return Framework::kJax;
    return tensorflow_marks_ > 0 ? Framework::kTensorFlow : Framework::kNative;
  }

  struct Execution {
    OperatorId op;
    std::unordered_set<uint32_t> kernels;  // by name
    uint64_t number = 0;
  };

  TraceBuilder builder_;
  HloOperators operators_;
  PlaneKind plane_ = PlaneKind::kOther, devices_ = PlaneKind::kOther;
  LineKind line_ = LineKind::kIgnored;
  int device_ = 0, first_device_ = 0;
  int64_t line_id_ = 0, pid_ = 0;
  std::string_view line_name_;
  TrackId track_;
  bool process_named_ = false;
  std::vector<KindSays> kinds_;  // of the present plane
  StringId last_range_;
  int64_t last_range_end_ = -1, operator_end_ = -1, wait_end_ = -1;  // on the present line
  std::vector<MarkedStep> steps_, device_steps_;
  std::unordered_map<uint32_t, Execution> executions_;  // the last on each stream
  uint64_t execution_count_ = 0;
  std::optional<Pending> pending_;
  int64_t first_ns_ = 0, profile_start_ns_ = 0;
  std::string_view jax_version_;
  uint64_t jax_marks_ = 0, tensorflow_marks_ = 0, torch_marks_ = 0;
};

Assembler::Assembler() : state_(std::make_unique<State>()) {}
Assembler::~Assembler() = default;

void Assembler::begin_plane(const PlaneInfo& plane) { state_->begin_plane(plane); }
void Assembler::begin_line(const LineInfo& line) { state_->begin_line(line); }
void Assembler::add(uint32_t kind_id, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
                    std::span<const Stat> stats) {
  state_->add(kind_id, kind, start_ns, duration_ns, stats);
}
Result<ImportedFile> Assembler::finish() { return state_->finish(); }

}  // namespace hone::trace::xplane
