#include "trace/import/segments/reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trace/import/cupti_names.h"
#include "trace/import/kernel_symbol.h"
#include "trace/import/nvtx.h"
#include "trace/import/runtime_calls.h"
#include "trace/import/segments/graph_operators.h"
#include "trace/import/segments/records.h"
#include "trace/import/segments/samples.h"
#include "trace/import/segments/stacks.h"
#include "trace/import/trace_builder.h"

namespace hone::trace::segments {
namespace {

constexpr int64_t kMostSegmentNs = int64_t{1} << 60;  // 36 years
constexpr uint32_t kMostDevices = 1'000'000;

// CUpti_ActivityMemoryKind.
MemoryKind memory_kind_of(uint8_t kind) {
  switch (kind) {
    case 1:
      return MemoryKind::kPageable;
    case 2:
      return MemoryKind::kPinned;
    case 3:  // device
    case 4:  // array
    case 6:  // static of a device
      return MemoryKind::kDevice;
    case 5:
    case 7:
      return MemoryKind::kManaged;
    default:
      return MemoryKind::kUnknown;
  }
}

std::optional<BlockMode> block_mode(Mode mode) {
  switch (mode) {
    case Mode::kLeftAlone:
      return BlockMode::kLeftAlone;
    case Mode::kTimeline:
      return BlockMode::kTimeline;
    case Mode::kOperators:
      return BlockMode::kOperators;
    case Mode::kStacks:
      return BlockMode::kStacks;
    case Mode::kCounters:
      return BlockMode::kCounters;
    case Mode::kSampling:
      return BlockMode::kSampling;
    case Mode::kWaiting:
    case Mode::kFinished:
      break;
  }
  return std::nullopt;
}

std::optional<StepMarkKind> mark_kind(MarkKind kind) {
  switch (kind) {
    case MarkKind::kOptimizer:
      return StepMarkKind::kOptimizer;
    case MarkKind::kModule:
      return StepMarkKind::kModule;
    case MarkKind::kData:
      return StepMarkKind::kData;
    case MarkKind::kApiCall:
      return StepMarkKind::kApiCall;
    case MarkKind::kUser:
      return StepMarkKind::kUser;
    case MarkKind::kHostWait:
      return StepMarkKind::kHostWait;
    case MarkKind::kRange:
      return StepMarkKind::kRange;
    case MarkKind::kComing:
    case MarkKind::kTraining:
      break;
  }
  return std::nullopt;
}

class SegmentReader {
 public:
  explicit SegmentReader(const Records& records) : records_(records), first_(records) {
    result_.header = records.header();
    builder_.set_process(result_.header.pid, fmt::format("process {}", result_.header.pid));
  }

  Result<SegmentFile> run() {
    look_ahead();
    while (records_.next()) read_record();
    return finish();
  }

 private:
  // What a name stands for, and what became of it: a kernel's is demangled once.
  struct Text {
    std::string text;
    StringId as_written = {};
    StringId as_kernel = {};
  };

  // Graph nodes may be written after the kernels that they made, and operators end after what they launch.
  void look_ahead() {
    uint64_t external = 0;
    while (first_.next()) {
      if (first_.kind() == Kind::kRange) {
        const auto range = first_.as<Range>();
        if (range && range->what == RangeKind::kOperator) graphs_.add_operator(with_end(*range), ++external);
        if (range) see(range->end_ns);
      } else if (first_.kind() == Kind::kGraphNode) {
        if (const auto node = first_.as<GraphNode>()) graphs_.add_node(*node);
      } else if (first_.kind() == Kind::kMode) {
        if (const auto change = first_.as<ModeChange>()) see(change->time_ns);
      } else if (first_.kind() == Kind::kApiCall) {
        if (const auto call = first_.as<ApiCall>()) see(call->end_ns);
      } else if (first_.kind() == Kind::kKernel) {
        if (const auto kernel = first_.as<Kernel>()) {
          see(kernel->end_ns);
          device_of_context_[kernel->context] = kernel->device;
        }
      } else if (first_.kind() == Kind::kMark) {
        if (const auto mark = first_.as<Mark>()) see(mark->time_ns);
      }
    }
    if (graphs_.any_nodes()) graphs_.join();
  }

  void see(int64_t time_ns) {
    if (time_ns < kMostSegmentNs) last_ns_ = std::max(last_ns_, time_ns);
  }

  // Of what was open when the file ended.
  Range with_end(Range range) const {
    if (range.end_ns == 0) range.end_ns = std::max(range.start_ns, last_ns_);
    return range;
  }

  // `read` gets the record, if it is as long as records of its kind are.
  template <typename Record>
  void with(void (SegmentReader::*read)(const Record&)) {
    if (const auto record = records_.as<Record>())
      (this->*read)(*record);
    else
      ++too_short_;
  }

  void read_record() {
    switch (records_.kind()) {
      case Kind::kName:
        return with<Name>(&SegmentReader::read_name);
      case Kind::kProcess:
        return with<Process>(&SegmentReader::read_process);
      case Kind::kThread:
        return with<Thread>(&SegmentReader::read_thread);
      case Kind::kDevice:
        return with<Device>(&SegmentReader::read_device);
      case Kind::kMode:
        return with<ModeChange>(&SegmentReader::read_mode);
      case Kind::kMark:
        return with<Mark>(&SegmentReader::read_mark);
      case Kind::kKernel:
        return with<Kernel>(&SegmentReader::read_kernel);
      case Kind::kCopy:
        return with<Copy>(&SegmentReader::read_copy);
      case Kind::kSet:
        return with<Set>(&SegmentReader::read_set);
      case Kind::kApiCall:
        return with<ApiCall>(&SegmentReader::read_call);
      case Kind::kSynchronization:
        return with<Synchronization>(&SegmentReader::read_synchronization);
      case Kind::kRange:
        return with<Range>(&SegmentReader::read_range);
      case Kind::kSample:
        return with<Sample>(&SegmentReader::read_sample);
      case Kind::kDropped:
        return with<Dropped>(&SegmentReader::read_dropped);
      case Kind::kNote:
        return with<Note>(&SegmentReader::read_note);
      case Kind::kCounters:
        return with<Counters>(&SegmentReader::read_counters);
      case Kind::kDeviceSamples:
        return with<DeviceSamples>(&SegmentReader::read_samples);
      case Kind::kSampledInstruction:
        return with<SampledInstruction>(&SegmentReader::read_instruction);
      case Kind::kLoader:
        return with<Loader>(&SegmentReader::read_loader);
      case Kind::kGraphNode:  // read ahead
      case Kind::kMemory:     // what allocates says so itself, as a call
      case Kind::kRetired:
      case Kind::kHostProcess:  // in another file: host_file.h
      case Kind::kHostFrame:
      case Kind::kHostSample:
      case Kind::kHostUse:
      case Kind::kEnd:
        return;
    }
  }

  StringTable& strings() { return builder_.trace.strings; }

  Text* text_of(uint32_t id) {
    const auto at = texts_.find(id);
    if (at != texts_.end()) return &at->second;
    if (id != kNoName) ++nameless_;
    return nullptr;
  }

  std::string words(uint32_t id) {
    const Text* text = text_of(id);
    return text == nullptr ? std::string() : text->text;
  }

  StringId name_of(uint32_t id) {
    Text* text = text_of(id);
    if (text == nullptr) return strings().intern("");
    if (!text->as_written.valid()) text->as_written = strings().intern(text->text);
    return text->as_written;
  }

  StringId kernel_name_of(uint32_t id) {
    Text* text = text_of(id);
    if (text == nullptr) return strings().intern("");
    if (!text->as_kernel.valid()) {
      const std::string symbol = demangled(text->text);
      text->as_kernel = strings().intern(symbol.empty() ? text->text : symbol);
    }
    return text->as_kernel;
  }

  // False: the times cannot be.
  bool add_span(int64_t start_ns, int64_t end_ns, TrackId track, StringId name, Category category,
                uint64_t correlation) {
    if (start_ns < 0 || end_ns < start_ns || end_ns > kMostSegmentNs) {
      ++impossible_;
      return false;
    }
    builder_.add({start_ns, end_ns - start_ns, track, name, category, kNoStep, {}, correlation});
    return true;
  }

  TrackId stream(uint32_t device, uint32_t id) {
    return builder_.stream(static_cast<int>(std::min(device, kMostDevices)),
                           id == UINT32_MAX ? -1 : static_cast<int64_t>(id));
  }

  void read_name(const Name& name) {
    const std::string_view behind = records_.following<Name>();
    if (name.length > behind.size()) {
      ++too_short_;
      return;
    }
    texts_[name.id] = {std::string(behind.substr(0, name.length)), {}, {}};
  }

  void read_process(const Process& process) {
    const std::string executable = words(process.executable);
    const std::string base = executable.substr(executable.rfind('/') + 1);
    if (!base.empty()) builder_.trace.tracks.front().name = base;
  }

  void read_thread(const Thread& thread) { thread_names_[thread.tid] = words(thread.name); }

  void read_device(const Device& device) {
    const auto small = [](uint32_t number) { return static_cast<int>(std::min(number, kMostDevices)); };
    DeviceInfo info;
    info.index = small(device.index);
    info.name = words(device.name);
    info.memory_bytes = static_cast<double>(device.memory_bytes);
    info.multiprocessors = small(device.multiprocessors);
    info.compute_major = small(device.compute_major);
    info.compute_minor = small(device.compute_minor);
    std::vector<DeviceInfo>& devices = builder_.trace.meta.devices;
    const bool known = std::any_of(devices.begin(), devices.end(),
                                   [&](const DeviceInfo& each) { return each.index == info.index; });
    if (!known) devices.push_back(std::move(info));
  }

  bool is_time(int64_t time_ns) {
    if (time_ns >= 0 && time_ns <= kMostSegmentNs) return true;
    ++impossible_;
    return false;
  }

  void read_mode(const ModeChange& change) {
    if (!is_time(change.time_ns)) return;
    const auto mode = block_mode(change.mode);
    if (open_ && open_->mode == mode && open_->number == change.block) return;  // said again
    end_block(change.time_ns, change.launches);
    if (mode) open_ = {0, change.block, *mode, change.time_ns, change.time_ns, change.launches, 0};
  }

  void end_block(int64_t time_ns, uint64_t launches) {
    if (open_ && time_ns >= open_->start_ns) {
      open_->end_ns = time_ns;
      open_->last_launch = launches;
      builder_.trace.meta.blocks.push_back(*open_);
    }
    open_.reset();
  }

  void read_mark(const Mark& mark) {
    const auto kind = mark_kind(mark.what);
    if (!kind || !is_time(mark.time_ns)) return;
    builder_.trace.meta.marks.push_back({0, *kind, words(mark.name), mark.time_ns, mark.tid, mark.launches});
  }

  // What is said again of an epoch takes the place of what was said before.
  void read_loader(const Loader& said) {
    if (!is_time(said.start_ns)) return;
    const auto small = [](int64_t number) {
      return static_cast<int32_t>(std::clamp<int64_t>(number, 0, kMostDevices));
    };
    LoaderEpoch epoch;
    epoch.loader = small(said.loader);
    epoch.workers = small(said.workers);
    epoch.prefetch = small(said.prefetch);
    epoch.persistent = said.persistent > 0;
    epoch.forked = said.forked > 0;
    epoch.batches = std::max<int64_t>(said.batches, -1);
    epoch.batch_size = std::max<int64_t>(said.batch_size, -1);
    epoch.start_ns = said.start_ns;
    epoch.delivered = std::max<int64_t>(said.delivered, 0);
    epoch.starting_ns = std::clamp<int64_t>(said.starting_ns, 0, kMostSegmentNs);
    epoch.ending_ns = std::clamp<int64_t>(said.ending_ns, 0, kMostSegmentNs);
    epoch.cpu_ns = std::clamp<int64_t>(said.cpu_ns, 0, kMostSegmentNs);
    epoch.cpus = small(said.cpus);
    epoch.cores = small(said.cores);
    std::vector<LoaderEpoch>& all = builder_.trace.meta.loaders;
    const auto same = std::find_if(all.rbegin(), all.rend(), [&](const LoaderEpoch& each) {
      return each.loader == epoch.loader && each.start_ns == epoch.start_ns;
    });
    if (same != all.rend())
      *same = epoch;
    else
      all.push_back(epoch);
  }

  void read_kernel(const Kernel& kernel) {
    const StringId name = kernel_name_of(kernel.name);
    const std::string_view text = strings().text(name);
    const bool collective = is_collective_kernel(text);
    if (!add_span(kernel.start_ns, kernel.end_ns, stream(kernel.device, kernel.stream), name,
                  collective ? Category::kCommunication : Category::kKernel, kernel.correlation))
      return;
    ++result_.device_works;
    Launch launch;
    launch.external = graphs_.external_of(kernel.graph_node);
    launch.grid = kernel.grid;
    launch.block = kernel.block;
    launch.registers = kernel.registers;
    launch.shared_bytes = static_cast<uint32_t>(
        std::min<uint64_t>(uint64_t{kernel.static_shared} + kernel.dynamic_shared, UINT32_MAX));
    launch.graph_node = kernel.graph_node;
    builder_.add(launch);
    if (!collective) return;
    Collective row;
    row.name = strings().intern(collective_of_kernel(text));
    builder_.add(row);
  }

  void read_copy(const Copy& copy) {
    if (!add_span(copy.start_ns, copy.end_ns, stream(copy.device, copy.stream),
                  strings().intern(copy_name(copy.copy_kind)), Category::kMemcpy, copy.correlation))
      return;
    ++result_.device_works;
    trace::Copy row;
    row.external = graphs_.external_of(copy.graph_node);
    row.from = memory_kind_of(copy.from);
    row.to = memory_kind_of(copy.to);
    row.bytes = static_cast<double>(copy.bytes);
    builder_.add(row);
  }

  void read_set(const Set& set) {
    if (!add_span(set.start_ns, set.end_ns, stream(set.device, set.stream), strings().intern("Memset"),
                  Category::kMemset, set.correlation))
      return;
    ++result_.device_works;
    trace::Copy row;
    row.external = graphs_.external_of(set.graph_node);
    row.to = MemoryKind::kDevice;
    row.bytes = static_cast<double>(set.bytes);
    builder_.add(row);
  }

  void read_call(const ApiCall& call) {
    const StringId name = name_of(call.name);
    add_span(call.start_ns, call.end_ns, builder_.thread(call.tid), name,
             runtime_call_category(strings().text(name)), call.correlation);
  }

  void read_synchronization(const Synchronization& wait) {
    const auto device = device_of_context_.find(wait.context);
    add_span(wait.start_ns, wait.end_ns,
             stream(device == device_of_context_.end() ? 0 : device->second, wait.stream),
             strings().intern(synchronization_name(wait.type)), Category::kSynchronization, wait.correlation);
  }

  void read_range(const Range& record) {
    const bool is_operator = record.what == RangeKind::kOperator;
    if (is_operator) ++operator_count_;
    const Range range = with_end(record);
    const bool function = range.what == RangeKind::kPythonFunction;
    if (range.what == RangeKind::kNvtx) return read_nvtx(range);
    const Category category = is_operator ? Category::kOperator
                              : function  ? Category::kFunction
                                          : Category::kRegion;
    if (!add_span(range.start_ns, range.end_ns, builder_.thread(range.tid), name_of(range.name), category,
                  0) ||
        !is_operator)
      return;
    ++result_.operators;
    Call call;
    if (range.inputs != kNoName) call.inputs = name_of(range.inputs);
    call.sequence = std::max(range.sequence, kNoSequence);
    call.external = operator_count_;
    builder_.add(call);
  }

  void read_nvtx(const Range& range) {
    const std::string label = words(range.name);
    const NvtxRange nvtx = nvtx_range(label);
    if (!add_span(range.start_ns, range.end_ns, builder_.thread(range.tid), strings().intern(nvtx.name),
                  nvtx.is_call ? Category::kOperator : Category::kRegion, 0) ||
        !nvtx.is_call)
      return;
    ++result_.operators;
    Call call;
    call.sequence = std::max(nvtx.sequence, kNoSequence);
    if (!nvtx.inputs.empty()) call.inputs = strings().intern(nvtx.inputs);
    builder_.add(call);
  }

  void read_sample(const Sample& sample) {
    if (sample.what != StackKind::kPython || !is_time(sample.time_ns)) return;
    const std::string_view ids = records_.following<Sample>();
    std::vector<FrameId> frames;
    for (std::size_t at = 0; at + 4 <= ids.size() && frames.size() < sample.frames; at += 4) {
      uint32_t id = kNoName;
      std::memcpy(&id, ids.data() + at, sizeof(id));
      frames.push_back(stacks_.python_frame(words(id)));
    }
    if (!frames.empty()) stacks_.add({sample.time_ns, builder_.thread(sample.tid)}, frames, {});
  }

  void read_dropped(const Dropped& dropped) { builder_.trace.meta.dropped += dropped.records; }

  void read_note(const Note& note) {
    std::string text = words(note.text);
    std::vector<std::string>& warnings = builder_.trace.meta.warnings;
    if (!text.empty() && std::find(warnings.begin(), warnings.end(), text) == warnings.end())
      warnings.push_back(std::move(text));
  }

  void read_counters(const Counters& counters) {
    const std::string_view bytes = records_.following<Counters>();
    if (bytes.size() / sizeof(segments::CounterValue) < counters.values) {
      ++too_short_;
      return;
    }
    KernelCounters row;
    row.device = static_cast<int>(std::min(counters.device, kMostDevices));
    row.kernel = kernel_name_of(counters.name);
    row.grid = counters.grid;
    row.block = counters.block;
    row.instance = counters.instance;
    row.passes = counters.passes;
    for (std::size_t i = 0; i < counters.values; ++i) {
      segments::CounterValue value;
      std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
      row.values.push_back({name_of(value.metric), value.value});
    }
    order_values(row);
    builder_.trace.counters.push_back(std::move(row));
  }

  void read_samples(const DeviceSamples& record) {
    if (const bool whole = samples_.read(record, records_.following<DeviceSamples>(),
                                         [&](uint32_t name) { return name_of(name); });
        !whole)
      ++too_short_;
  }

  void read_instruction(const SampledInstruction& sampled) {
    const std::string_view bytes = records_.following<SampledInstruction>();
    if (bytes.size() / sizeof(segments::StallSamples) < sampled.reasons) {
      ++too_short_;
      return;
    }
    KernelSample row;
    row.device = static_cast<int>(std::min(sampled.device, kMostDevices));
    row.kernel = kernel_name_of(sampled.name);
    row.grid = sampled.grid;
    row.block = sampled.block;
    row.function = kernel_name_of(sampled.function);
    row.offset = sampled.offset;
    row.line_info = sampled.line_info == segments::LineInfo::kCodeUnseen ? trace::LineInfo::kCodeUnseen
                                                                         : trace::LineInfo::kNone;
    if (sampled.line_info == segments::LineInfo::kKnown && sampled.line > 0) {
      row.line_info = trace::LineInfo::kKnown;
      row.file = name_of(sampled.file);
      row.line = sampled.line;
    }
    for (std::size_t i = 0; i < sampled.reasons; ++i) {
      segments::StallSamples each;
      std::memcpy(&each, bytes.data() + i * sizeof(each), sizeof(each));
      row.stalls.push_back({strings().intern(std::string(stall_reason(words(each.reason)))), each.samples});
    }
    builder_.trace.kernel_samples.push_back(std::move(row));
  }

  // What a launch takes of registers and shared memory, its counters do not say; its launches of the timeline do.
  static void add_resources(Trace& trace) {
    using Launched = std::tuple<uint32_t, std::array<uint32_t, 3>, std::array<uint32_t, 3>>;
    std::map<Launched, const Launch*> launched;
    for (const Launch& launch : trace.launches)
      launched.try_emplace({trace.spans.name[launch.span].index, launch.grid, launch.block}, &launch);
    for (KernelCounters& row : trace.counters) {
      const auto at = launched.find({row.kernel.index, row.grid, row.block});
      if (at == launched.end()) continue;
      row.registers = at->second->registers;
      row.shared_bytes = at->second->shared_bytes;
    }
  }

  // Recorders on several threads need not write in order of time.
  // `spans` begin at `first_ns` of the blocks' clock.
  static void put_in_order(Meta& meta, const SpanTable& spans, int64_t first_ns) {
    std::stable_sort(
        meta.blocks.begin(), meta.blocks.end(),
        [](const RecordingBlock& a, const RecordingBlock& b) { return a.start_ns < b.start_ns; });
    for (std::size_t i = 1; i < meta.blocks.size(); ++i)
      meta.blocks[i - 1].end_ns = std::min(meta.blocks[i - 1].end_ns, meta.blocks[i].start_ns);
    std::erase_if(meta.blocks,
                  [&](const RecordingBlock& block) { return is_empty_look(block, spans, first_ns); });
    // Until the recorder has been there, blocks are one, whatever the session divides.
    std::vector<RecordingBlock> blocks;
    bool untouched = true;
    for (RecordingBlock& block : meta.blocks) {
      untouched = untouched && !block.recorded();
      if (untouched) block.mode = BlockMode::kUntouched;
      if (untouched && !blocks.empty() && blocks.back().end_ns == block.start_ns) {
        blocks.back().end_ns = block.end_ns;
        blocks.back().last_launch = block.last_launch;
      } else {
        blocks.push_back(block);
      }
    }
    meta.blocks = std::move(blocks);
    leave_out_first_look(meta.blocks);
    std::stable_sort(meta.marks.begin(), meta.marks.end(),
                     [](const StepMark& a, const StepMark& b) { return a.time_ns < b.time_ns; });
    std::stable_sort(meta.loaders.begin(), meta.loaders.end(),
                     [](const LoaderEpoch& a, const LoaderEpoch& b) { return a.start_ns < b.start_ns; });
  }

  // A session that looks at a program which still starts finds nothing, and nothing is attached: its launches are not
  // known afterwards, either.
  static bool is_empty_look(const RecordingBlock& block, const SpanTable& spans, int64_t first_ns) {
    if (!block.recorded() || block.number != kFirstLook || block.last_launch != 0) return false;
    return std::none_of(spans.start_ns.begin(), spans.start_ns.end(),
                        [&](int64_t start_ns) { return block.contains(start_ns + first_ns); });
  }

  // Before its blocks, a session records for a moment to learn what the program does; CUPTI attaches then. That is
  // worth something only where nothing came after it.
  static void leave_out_first_look(std::vector<RecordingBlock>& blocks) {
    const auto look = [](const RecordingBlock& block) {
      return block.recorded() && block.number == kFirstLook;
    };
    const auto counts = [&](const RecordingBlock& block) { return block.recorded() && !look(block); };
    if (std::any_of(blocks.begin(), blocks.end(), counts)) std::erase_if(blocks, look);
  }

  void tell_damage(Meta& meta) {
    const bool within_block = open_ && open_->recorded();
    meta.cut_off = within_block || records_.end() != SegmentEnd::kWhole;
    if (records_.end() == SegmentEnd::kDamaged)
      meta.warnings.push_back(fmt::format("the segment is damaged from byte {} on: what comes after is lost",
                                          records_.whole_bytes()));
    meta.lost += too_short_;
    if (too_short_ > 0)
      meta.warnings.push_back(
          fmt::format("{} records left out: they are shorter than they can be", too_short_));
    if (impossible_ > 0)
      meta.warnings.push_back(
          fmt::format("{} records left out: they end before they start, or never did", impossible_));
    if (nameless_ > 0)
      meta.warnings.push_back(fmt::format("{} records have names that were not written", nameless_));
  }

  Result<SegmentFile> finish() {
    tell_damage(builder_.trace.meta);
    end_block(std::max(last_ns_, open_ ? open_->start_ns : 0), 0);
    if (builder_.size() == 0)
      return invalid("a segment of hone's recorder with nothing in it that takes time");
    for (Track& track : builder_.trace.tracks)
      if (const auto at = thread_names_.find(track.tid);
          track.kind == TrackKind::kThread && at != thread_names_.end() && !at->second.empty())
        track.name = at->second;
    const FileHeader& header = result_.header;
    const bool has_clock = header.monotonic_ns >= 0 && header.monotonic_ns < kMostSegmentNs &&
                           header.realtime_ns > header.monotonic_ns &&
                           header.realtime_ns < 4 * kMostSegmentNs;
    const int64_t clock = has_clock ? header.realtime_ns - header.monotonic_ns : 0;
    ImportedFile& file = result_.file;
    file = std::move(builder_).finish(clock, has_clock);
    const int64_t first = file.epoch_ns - clock;
    Meta& meta = file.trace.meta;
    put_in_order(meta, file.trace.spans, first);
    add_resources(file.trace);
    for (RecordingBlock& block : meta.blocks) block.start_ns -= first, block.end_ns -= first;
    for (StepMark& mark : meta.marks) mark.time_ns -= first;
    for (LoaderEpoch& epoch : meta.loaders) epoch.start_ns -= first;
    for (StackSample& sample : file.trace.stacks.samples) sample.time_ns -= first;
    file.trace.samples = std::move(samples_).finish(first);
    result_.first_ns = first;
    meta.producer = kProducer;
    meta.device = result_.device_works > 0 ? "cuda" : "cpu";
    RankInfo& rank = meta.ranks.emplace_back();
    rank.world_size = std::clamp(header.world_size, 1, 1'000'000);
    if (header.rank >= 0) file.rank = header.rank;
    return std::move(result_);
  }

  Records records_, first_;
  SegmentFile result_;
  TraceBuilder builder_;
  GraphOperators graphs_;
  StackBuilder stacks_{builder_.trace};
  SampleSeries samples_;
  std::unordered_map<uint32_t, Text> texts_;
  std::unordered_map<int64_t, std::string> thread_names_;
  std::optional<RecordingBlock> open_;
  uint64_t operator_count_ = 0;  // operators' ranges so far: as look_ahead() numbers them
  int64_t last_ns_ = 0;          // of all records
  std::unordered_map<uint32_t, uint32_t> device_of_context_;
  std::size_t impossible_ = 0, too_short_ = 0, nameless_ = 0;
};

}  // namespace

Result<SegmentFile> read_segment(std::string_view bytes) {
  HONE_ASSIGN(const Records records, Records::open(bytes));
  return SegmentReader(records).run();
}

}  // namespace hone::trace::segments
