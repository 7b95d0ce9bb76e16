// What analysis finds and everything above it shows: plain data, no behaviour. report/description says of
// each field what it means, in which unit, and which forms show it: a new field goes there, too. Times are
// milliseconds of wall time per step unless a name says otherwise; every array of operators is sorted by
// time, longest first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/advised_changes.h"
#include "analyze/cause.h"
#include "analyze/effort.h"
#include "analyze/loading.h"
#include "core/roofs.h"
#include "trace/operator_class.h"
#include "trace/trace.h"

namespace hone::analyze {

// A median with the ends of its distribution-free interval (estimate.h). No number without its
// spread.
struct Estimate {
  double median = 0;
  double low = 0;
  double high = 0;
};

// The time of the repeated unit of work.
// Where every few steps one takes far longer than the others, and that costs much (analyze/stalls.h).
struct StalledSteps {
  int count = 0;          // steps that stall
  double typical_ms = 0;  // the median of all, as recorded
  double cost_ms = 0;     // what stalls add to a step on average
};

struct StepTime {
  // Of the step that users run: measured without the recorder, where that was done in the same run and the steps that
  // were recorded are longer; else as recorded. Where steps stall it is their mean that stands as the median.
  Estimate ms;
  int count = 0;  // steps measured
  std::vector<double>
      samples_ms;         // one a step, in order of time; scaled so that their median is that of `ms`
  std::string how_found;  // "marked by the runtime", "ProfilerStep ranges", …
  std::vector<std::string> notes;  // warm-up and outlier steps by name; how sure, where steps were inferred
  double confidence = 1;           // 0 to 1, that these are the program's steps; 1: marked
  // Without the recorder, where that was measured or can be predicted: gains are counted from its median.
  std::optional<Estimate> unrecorded_ms = {};
  bool unrecorded_measured = false;
  std::optional<Estimate> recorded_ms = {};  // as recorded, where `ms` is not that
  std::optional<Estimate> recorder_ms = {};  // what recording adds to a step, where that was measured
  std::optional<StalledSteps> stalls = {};

  const Estimate& as_recorded() const { return recorded_ms ? *recorded_ms : ms; }
};

// A line of a function that the host was at while its device waited, as samples of stacks say.
struct HostLine {
  std::string where;  // "collate (data.py:41)"
  std::string function;
  std::string file;    // path of the source, or of the binary
  int line = 0;        // 0: not known
  double share = 0;    // of the samples
  double samples = 0;  // of all lines together
  std::string calls;   // what most samples of the line were in, if that is another function
  std::string waits;   // what most of them waited for: "waits for a file"; empty: nothing
  int64_t pid = 0;
  std::string of;  // whose samples, where they are not the thread's that drives the device
};

// One cause's part of the step. The rows of a ledger do not overlap and add up to the step.
struct LedgerRow {
  Cause cause = Cause::kFloor;
  double ms = 0;
  double share = 0;                     // of the step, 0 to 1
  std::vector<std::string> evidence;    // numbers and operator names that the reader can check
  std::string fix;                      // empty for `floor`
  std::string title;                    // the row in a sentence, numbers included
  std::string caveat;                   // when the fix wins less than predicted; may be empty
  std::string rule;                     // whose fix it is, as Finding::rule
  double predicted_gain_ms = 0;         // what the fix should win; at most `ms`
  bool gain_is_bound = false;           // the fix wins that at most: how much cannot be predicted
  std::vector<HostLine> lines = {};     // that the host was at meanwhile; empty: it was not sampled
  std::vector<double> samples_ms = {};  // one a step; not part of the JSON
};

// One operator of the step. Its floor is that of the known algorithm with the fewest FLOPs; its fraction of
// the roof that of the algorithm which ran: a direct convolution may be near its roof and far above its
// floor. Both count every byte that it reads and writes; bytes that fusion would save are `avoidable_ms` of
// the ledger instead, because for the step they are not compulsory.
struct OperatorTime {
  uint32_t op = 0;   // row of the trace's operator table
  std::string name;  // unique in its plan
  std::string kind;  // "Conv", "hone.Fused"
  trace::OperatorClass op_class = trace::OperatorClass::kOther;
  std::string implementation;           // the kernel that ran
  std::vector<std::string> provenance;  // names in the user's model
  Estimate ms;                     // its part of the step's wall time; median is what adds up in the ledger
  std::vector<double> samples_ms;  // one a step; not part of the JSON
  double share = 0;
  double flops = 0;  // of the operator's definition
  double bytes = 0;
  double floor_ms = 0;
  std::string roof;  // what bounds the kernel that ran: "f32 compute", "DRAM", "L3", …
  double fraction_of_roof = 0;
  Cause main_cause = Cause::kFloor;  // the cause of the largest part of its time
  double calls = 0;                  // executions a step; 0: not counted
  bool bound_by_dram = false;        // of devices; not part of the JSON, which has the roof's name
};

enum class TopKind : uint8_t { kOperator, kRange, kKernel };

// A row of the top-K table: an operator with its place on the roofline and the reason in words.
struct TopOperator {
  int rank = 0;  // from 1
  // All rows of a table are of one kind: where the program tells of no operators, its ranges, or else its kernels.
  TopKind of = TopKind::kOperator;
  uint32_t op = 0;  // of operators
  std::string name;
  std::string kind;
  double ms = 0;
  double share = 0;
  double flops = 0;           // of the operator's definition
  double least_flops = 0;     // of the known algorithm that needs fewest
  double executed_flops = 0;  // of the algorithm that ran
  std::string algorithm;      // its name; empty: the definition
  double bytes = 0;
  double intensity = 0;  // executed FLOP per byte
  std::string roof;
  double floor_ms = 0;
  double fraction_of_roof = 0;
  std::string why;
};

// An operator on the log-log roofline.
struct RooflinePoint {
  std::string name;
  std::string kind;
  trace::OperatorClass op_class = trace::OperatorClass::kOther;
  double intensity = 0;         // executed FLOP per byte
  double flops_per_second = 0;  // executed
  double ms = 0;
  double fraction_of_roof = 0;
  std::string roof;
};

// One bar of the timeline of a typical step, which begins at 0; a host that runs ahead of its device begins
// before.
struct TimelineSpan {
  int track = 0;  // index into Analysis::timeline_tracks
  double start_ms = 0;
  double ms = 0;
  std::string name;
  std::string kind;
  trace::OperatorClass op_class = trace::OperatorClass::kOther;
  int depth = 0;      // of nesting on its track
  uint64_t link = 0;  // the same for a launch and what it launched; 0: none
};

// An interval of that step in which a rank's device had nothing to do, by cause as a ledger of that rank has
// it.
struct IdleSpan {
  int track = 0;  // the stream that runs most of the rank's works: index into Analysis::timeline_tracks
  double start_ms = 0;
  double ms = 0;
  Cause cause = Cause::kLaunch;
  std::string name;  // of what the device waited for, as evidence names it; may be empty
};

// Where evidence is to be seen in the drawn step.
struct TimelinePlace {
  double start_ms = 0;
  double ms = 0;
};

// An operator that took clearly less than its kernel's roof allows: that roof was measured too low.
struct BeatenRoof {
  std::string name;  // of the operator
  std::string roof;  // as tables name it: "f32 compute", "DRAM"
  DType dtype = DType::kUndefined;
  std::string memory_level;  // empty where the roof is one of arithmetic
  double ms = 0;
  double least_ms = 0;  // by the roof

  double factor() const { return ms > 0 ? least_ms / ms : 1; }
};

struct Verdict {
  std::optional<Cause> cause;  // none: healthy, or not judged
  double recoverable_ms = 0;
  double share = 0;  // of the step
  std::string sentence;
  bool judged = true;  // enough is known to call the step healthy if nothing is found
  bool given = true;   // false: the recording lacks so much that nothing is said of the step

  bool healthy() const { return judged && !cause.has_value(); }
};

// What a finding is about: an operator, a kernel, a call of the host.
struct FindingPart {
  std::string name;
  double ms = 0;                            // of the step
  double count = 0;                         // a step: works, gaps, waits or calls; 0: nothing to count
  std::optional<TimelinePlace> place = {};  // the longest of them in the drawn step; none: it has none
};

// A line of the program's source that operators were called from, as recorded stacks say.
struct CallingLine {
  std::string line;  // "train.py:31"; empty: only the package's is known
  std::string
      package;    // "torchvision/ops/boxes.py:11": the line of a package that it called for them; empty: none
  double ms = 0;  // of the step
};

// A rule that fired (rules.h): what is wrong, how hone knows, what to do about it.
struct Finding {
  std::string rule;  // its stable name ("channels_first_batch_norm"): programs know it by this alone
  Cause cause = Cause::kFloor;
  std::string title;
  std::vector<std::string> evidence;
  std::string fix;
  std::string caveat;
  double predicted_gain_ms = 0;
  bool gain_is_bound = false;                 // as LedgerRow::gain_is_bound
  double ms = 0;                              // of the step that it is about
  std::vector<FindingPart> parts = {};        // largest first
  std::vector<HostLine> lines = {};           // as LedgerRow::lines
  std::vector<CallingLine> called_from = {};  // largest first; empty: no stacks were recorded
  Effort effort = Effort::kCode;
};

// A kernel of the device, all its launches in a step together.
struct KernelTime {
  std::string name;       // short enough to read
  std::string full_name;  // as the trace has it
  std::string family;     // "matrix product, cuBLAS", "NCCL collective"
  std::string precision;  // "bf16 on tensor cores"; empty: unknown
  double launches = 0;    // a step
  double ms = 0;          // its part of the step's wall time
  double share = 0;
  double mean_us = 0;
  Cause main_cause = Cause::kFloor;
  std::vector<std::string> operators;  // that launch it, largest first
  std::string why;
};

// A number of a kernel that hardware counters gave, or that follows from them.
struct CounterFigure {
  std::string section;  // "speed of light", "memory", "compute", "occupancy", "stalls"
  std::string name;     // "dram_throughput": JSON; of one meaning in all kernels
  std::string label;    // "DRAM busy"
  double value = 0;
  std::string unit;  // "%", "bytes", "FLOP", "us", "GHz"; empty: a plain number
  std::string note;  // what it means, or what limits it; may be empty
};

// What is wrong with a kernel by its counters.
struct KernelFinding {
  std::string rule;  // as Finding::rule
  Cause cause = Cause::kKernelInefficiency;
  std::string title;
  std::vector<std::string> evidence;  // measured, with what it should be
  std::string fix;
  double predicted_gain_us = 0;  // of one launch, capped by the roofs
  bool gain_is_bound = false;    // the fix wins that at most
};

// A line of the source that warps of a kernel were found at; an instruction where the source is not known.
struct HotLine {
  std::string file;      // path; empty: not known
  int line = 0;          // 0: not known
  std::string source;    // the text of the line; empty: the file could not be read
  std::string function;  // that the first of its instructions is in, short enough to read
  double offset = 0;     // of that instruction, bytes from the beginning of the function
  double samples = 0;
  double share = 0;        // of the kernel's samples
  std::string stall;       // why most of them had not gone on: "long_scoreboard"
  std::string waits_for;   // in words: "data from global or local memory"
  double stall_share = 0;  // of the line's samples
};

// A kernel whose hardware counters were read: all counted launches of one geometry, as means. Counted apart from the
// timeline, kernels one by one.
struct CountedKernel {
  std::string name;  // short enough to read
  std::string full_name;
  std::string family;  // "matrix product, cuBLAS"; empty: unknown
  int rank = 0;
  int device = 0;
  std::string grid, block;  // "512×1×1"
  double blocks = 0;
  double threads = 0;       // of a block
  double registers = 0;     // of a thread; 0: not known
  double shared_bytes = 0;  // of a block
  double launches = 0;      // that were counted
  double passes = 0;        // how often each ran for that, at most; 0: not known
  bool in_full = false;     // all that can be counted was, as of a kernel that somebody named
  bool once = false;      // time and traffic to DRAM are of launches that ran once, as the program runs them
  double us = 0;          // of one launch, as counted
  double step_ms = 0;     // of the step, in the timeline; 0: it is not there
  double share = 0;       // of the step
  double flops = 0;       // as instructions did them, of one launch
  double dram_bytes = 0;  // read and written, of one launch
  double intensity = 0;   // FLOP per byte of DRAM
  std::string roof;       // "f32 compute", "DRAM", by what was measured; empty: unknown
  double fraction_of_roof = 0;
  std::string bound;          // "DRAM", "L2", "L1 and shared memory", "compute", "latency"; empty: unknown
  std::string sentence;       // what bounds it and what is to be done, in words
  double operator_flops = 0;  // of one launch, by the shapes of the operator that launches it; 0: unknown
  double operator_bytes = 0;  // likewise, each input read once, each output written once
  std::string disagreement;   // where what was measured and what follows from shapes differ much
  std::vector<CounterFigure> figures;   // by section
  std::vector<KernelFinding> findings;  // largest gain first
  double samples = 0;     // of the places where its warps were, in launches that were sampled; 0: none were
  std::string line_info;  // of most of these: "known", "none" (compiled without), "code unseen"
  std::vector<HotLine> lines;  // hottest first
};

// A hardware counter of a device over time.
struct SampledFigure {
  std::string name;             // "sm_active": JSON
  std::string label;            // "multiprocessors active"
  std::string unit;             // "%", "B/s", "Hz"
  double mean = 0;              // over the sampled steps
  double most = 0;              // of any sample
  std::vector<double> profile;  // of a step in hundredths: means over all sampled steps; empty: not known
};

// A device whose hardware counters were sampled at a fixed interval, while nothing was recorded.
struct SampledDevice {
  int rank = 0;
  int device = 0;
  double samples = 0;
  double interval_us = 0;
  double steps = 0;    // that means are over; 0: not known, they are over all samples
  double step_ms = 0;  // of these
  std::vector<SampledFigure> figures;
};

// A number that people steer by, with what it should be.
struct Metric {
  std::string name;   // "gpu_busy_share": JSON
  std::string label;  // "GPU busy"
  double value = 0;
  std::string unit;  // "%", "ms", "us", "GB/s", "TFLOP/s", "1/step"; empty: a plain number
  std::optional<double> target;
  bool higher_is_better = true;
  std::string formula;     // in words
  std::string note;        // what to know before trusting it; may be empty
  std::string doubt = {};  // why it cannot be right; empty: it can
  bool measured = false;   // by hardware counters that were sampled over steps of the same run
  bool reached() const {
    return doubt.empty() && (!target || (higher_is_better ? value >= *target : value <= *target));
  }
};

struct PhaseShare {
  trace::Phase phase = trace::Phase::kUnknown;
  double ms = 0;  // device-busy wall time of a step
  double share = 0;
};

// An interval of the longest chain of things that waited for each other.
struct PathSegment {
  std::string track;  // "rank 0 · thread 597", "rank 0 · stream 7"
  std::string name;
  std::string kind;  // "host", "kernel", "copy", "collective", "latency"
  double start_ms = 0;
  double ms = 0;
};

// One process of a distributed step, or one device of a process that drives several.
struct RankSummary {
  int rank = 0;
  int device_index = -1;  // -1: the only one of its process
  std::string source;     // its file
  std::string device;
  double step_ms = 0;
  double busy_share = 0;
  double compute_ms = 0;       // device time of its own, without collectives
  double collectives = 0;      // a step, with other ranks
  double latest_ms = 0;        // the largest lateness at one of them in a step: arrival after the first rank
  double usually_late_us = 0;  // the median lateness
  double lateness_ms = 0;      // summed over a step: one delay counts for every collective under way
  double waiting_ms = 0;       // in collectives for ranks that came later
  double clock_shift_us = 0;   // added to its clock to align the ends of collectives
};

// A rank whose recording is not spoken of, because it is of another run.
struct LeftOutRank {
  int rank = 0;
  std::string why;
};

// An operator, or several of one kind, on which the late rank spends another time than the rank whose ledger
// is shown.
struct RankOperator {
  std::string name;        // of the late rank; of the shown rank, where only that runs it
  std::string shown_name;  // of the shown rank, where that runs it on other inputs; else empty
  std::string kind;
  double late_ms = 0;  // of the typical step of each
  double shown_ms = 0;
  double late_calls = 0;  // a step
  double shown_calls = 0;
  std::optional<TimelinePlace> place = {};  // the longest on the late rank in the drawn step
};

// An operator that only ranks run whose ledger is not shown.
struct ElsewhereOperator {
  std::string name;
  std::string kind;
  std::vector<int> ranks;
  double ms = 0;  // of the typical step of the rank on which it takes longest
  double calls = 0;
  std::vector<double> samples_ms;  // one a step of that rank; not part of the JSON
  // The shown rank runs the kind on other inputs in its place: for comparisons, not part of the JSON.
  bool stands_for_shown = false;
};

// The rank that the others wait for.
struct LateRank {
  int rank = 0;
  Cause cause = Cause::kFloor;               // of the idle time that it alone has; kFloor: it computes longer
  double longer_ms = 0;                      // than the rank whose ledger is shown
  double removed_gain_ms = 0;                // without what it does longer
  double shared_gain_ms = 0;                 // with that shared out over the ranks; 0: it cannot be shared
  std::vector<RankOperator> operators = {};  // that tell it from the shown rank; largest difference first
};

// The collectives of one kind in one process group.
struct CollectiveSummary {
  std::string name;             // "all_reduce"
  std::string group;            // "default_pg (2 ranks)"
  double count = 0;             // a step
  double bytes = 0;             // a step, of one rank
  double ms = 0;                // a step, from the arrival of the last rank to the end
  double exposed_ms = 0;        // of `ms` while the device computed nothing
  double bus_bytes_per_s = 0;   // "busbw": bytes on the busiest link ÷ ms
  double roof_bytes_per_s = 0;  // 0: unknown
};

// How much of the device's time the analysis can speak about.
struct Coverage {
  double linked_share = 0;  // with an operator that launched it
  double costed_share = 0;  // with known FLOPs or bytes
  double unlinked_kernels = 0;
  std::vector<std::string> unknown;  // the largest operators and kernels without costs
};

// A roof that operators were judged by, to draw: of arithmetic or of memory.
struct RoofLine {
  std::string name;  // "bf16 compute", "DRAM": as OperatorTime::roof has it
  double flops_per_second = 0;
  double bytes_per_second = 0;
};

// When a step took place, on the clock of the trace: of a device program its window, from the end of the step
// before to the end of its last work.
struct StepSpan {
  int rank = 0;
  int32_t step = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Everything known about one run: the "baseline" and "optimised" of report.json, the body of explain.json.
struct MemoryFindings;  // memory_findings.h

struct Analysis {
  std::string source;  // the run folder, file or model that was analysed
  Subject subject = Subject::kPlan;
  std::string device;
  std::vector<int> ranks = {0};
  int world_size = 1;  // ranks of the job; more than `ranks`: some recordings are missing
  std::vector<LeftOutRank> left_out = {};
  int ledger_rank = 0;     // of `ranks`, whose ledger, operators and kernels are shown
  int ledger_device = -1;  // of a process that drives several; -1: it drives one
  std::optional<LateRank> late_rank = {};
  double dropped_records = 0;       // that the recorder lost
  ContentionShare contention = {};  // of a run of ours; where it is disturbed() no verdict is given
  // Of the time that was watched, the share in which the main thread of an observed program could have run and had no
  // CPU; 0 where the step does not depend on it.
  double without_cpu = 0;
  // Its times are not its own: it cannot be compared.
  bool lacked_cpu() const { return without_cpu > 0.1; }
  StepTime step;
  std::vector<StepSpan> step_spans = {};  // of all ranks
  // What the step's operators need at least: of the model and the machine, whatever ran. The ledger's `floor`
  // row, unless an operator was faster than its floor; `warnings` say so then.
  double floor_ms = 0;
  bool floor_known = true;        // false: no roofs to judge by, so the ledger's `floor` is all busy time
  std::vector<LedgerRow> ledger;  // rows of 0 ms are left out
  std::vector<TopOperator> top;
  Verdict verdict;
  std::vector<Finding> findings;
  std::optional<Loading> loading = {};  // of a step that waits for input; nothing: the recording does not say
  std::vector<ChangeGain> changes;  // of PyTorch programs: what changes that findings advise win, each alone
  std::vector<OperatorTime> operators;            // all of them
  std::vector<ElsewhereOperator> elsewhere = {};  // longest first
  bool elsewhere_known = true;                    // false: of some rank it is not known what its device ran
  std::vector<RooflinePoint> roofline;
  std::vector<std::string> timeline_tracks;
  std::vector<TimelineSpan> timeline;
  std::vector<IdleSpan> idle;             // of the drawn step, by track and start
  int timeline_left_out = 0;              // threads and streams of the step that are not in `timeline_tracks`
  std::vector<BeatenRoof> beaten_roofs;   // furthest beyond first; `warnings` say so, too
  std::map<std::string, double> figures;  // by name with its unit: "achieved_gflop_per_s"; JSON: `metrics`
  // What only traces of devices have.
  std::vector<Metric> targets;  // the table of numbers that people steer by
  std::vector<KernelTime> kernels;
  std::vector<SampledDevice> sampled = {};     // of all ranks; empty: none was
  std::vector<CountedKernel> counted_kernels;  // longest first; empty: no counters were read
  std::vector<PhaseShare> phases;
  std::vector<PathSegment> critical_path;
  std::vector<RankSummary> rank_summaries;
  std::vector<CollectiveSummary> collectives;
  std::optional<Coverage> coverage;
  std::shared_ptr<const MemoryFindings> memory = {};  // null: nothing recorded says what took memory
  std::vector<RoofLine> roof_lines;                   // empty: those of the machine's own table
  std::string roofs_source;                           // "measured on one H200 (2026-11-21)", "data sheet"
  std::vector<std::string> warnings;
};

// What a pass that aims at memory did to the arena of the plan.
struct ArenaGain {
  double before_bytes = 0;
  double after_bytes = 0;
  double predicted_gain_bytes = 0;
};

// What became of one pass (or group of passes) in the experiment.
// What a pass that narrows types decided about one operator, and what was measured of it on the experiment's inputs.
// Errors are relative L2 norms against the reference, largest a magnitude; none where it was not measured.
struct OperatorPrecision {
  std::string node;
  std::string op;
  std::string type;                            // in which it works now: "f16"
  std::optional<double> rel_err = {};          // of its results when it alone is in the narrow type
  std::optional<double> carried_rel_err = {};  // of its results in the model as it is after the pass
  std::optional<double> largest = {};          // of what it reads and gives
  bool kept_f32 = false;
  std::string why = {};  // it was kept; or what its weights lost
};

struct PassRow {
  std::string name;
  std::string numerics;  // "exact", "reassociating", "lossy"
  double predicted_gain_ms = 0;
  std::optional<Estimate> measured_gain_ms;  // none: it changed nothing, or was measured with others only
  bool kept = false;
  std::string reason;                             // why kept or dropped, or why it did not fire
  double max_rel_err = 0;                         // against the reference, after this pass
  std::optional<ArenaGain> arena = {};            // of what aims at memory and changed something
  bool changed = false;                           // the graph; what was measured did
  bool undecided = false;                         // the experiment ended before it was kept or dropped
  std::vector<OperatorPrecision> precision = {};  // of passes that narrow types, in the order of the graph
  bool is_predicted = true;  // false: nothing foretells its gain, and predicted_gain_ms says nothing
};

// Passes of which none made a difference alone, or only the last: measured as one against what was kept
// before them. The gain is theirs together and stands nowhere else; what each row measured includes those
// before it.
struct PassCombination {
  std::vector<std::string> passes;  // names of rows, in order
  double predicted_gain_ms = 0;     // the sum of theirs
  Estimate measured_gain_ms;
  bool kept = false;
  std::string reason;  // "kept: 1.06× (1.03–1.09), rel. L2 9e-07"
};

struct MemoryUse {
  double arena_bytes = 0;        // activations: one arena, offsets computed ahead
  double weights_bytes = 0;      // as prepacked
  double peak_bytes = 0;         // of the process while running (resident set)
  std::string device = {};       // with memory of its own: "cuda:0"
  double device_peak_bytes = 0;  // of that, in the process's own blocks
};

// What ran: one line a fact in the report.
struct ModelInfo {
  std::string name;
  std::string path;
  int nodes = 0;
  double parameters = 0;
  double flops = 0;                                         // of one step
  std::vector<std::pair<std::string, std::string>> inputs;  // name, "f32[1,3,256,256]"
  std::vector<std::pair<std::string, std::string>> outputs;
};

struct Environment {
  std::string machine;  // "AMD EPYC 9R45, 2 cores"
  std::string device;   // "cpu"
  int threads = 1;
  std::string os;
  std::string hone_version;
  std::string compiler;
  std::vector<std::pair<std::string, std::string>> libraries;  // "oneDNN", "3.7.1"
  std::vector<std::pair<std::string, std::string>>
      settings;      // anything else that moves the numbers: governor, SMT
  std::string when;  // ISO 8601 with offset
};

struct ReproduceInfo {
  std::string command;
  std::vector<std::string> notes;  // seeds, input data, how measured
};

// How the optimised plan's outputs compare with the higher-precision reference.
struct NumericCheck {
  std::string output;
  double max_rel_err = 0;
  double limit = 0;
  bool passed = false;
};

// Which rows of the batch the reference was computed on, where computing all takes it long; a batch of 0: all, and that
// takes no time to speak of. Every row that a plan gives is compared all the same: its batch holds those rows over again.
struct ReferenceRows {
  int64_t batch = 0;
  int64_t rows = 0;
  bool all_given =
      false;            // the reference computed all rows of inputs that were given; precision is of `rows`
  std::string why_all;  // why none could be left out
};

struct LabResult {
  Estimate speedup;  // baseline ÷ optimised, from paired interleaved runs
  double max_rel_err = 0;
  bool passed = false;
  int pairs = 0;                 // paired measurements behind `speedup`
  double confidence = 0.95;      // of its interval
  double predicted_gain_ms = 0;  // the sum over the passes that were kept
  Estimate measured_gain_ms;     // of all of them, from the runs behind `speedup`
  Estimate paired_before_ms;     // a step in those runs; with no pairs, nothing was kept and nothing measured
  Estimate paired_after_ms;
};

// What a lab on a recipe wins for who trains with it: of steps as hone train runs them, with every pass that is not lossy.
struct TrainingGain {
  Estimate step_ms;  // of the recipe as given
  // Of the recipe as the lab wrote it, from paired interleaved runs; none: nothing was kept, it is the same recipe.
  std::optional<Estimate> speedup;
  std::vector<std::string> changes;  // of its keys: "train.deterministic=false"
};

// What a training step learns on the same batches from the same weights, as given and as changed; one value a step.
struct LearningCurve {
  std::string name;  // "loss", "gradient norm"
  std::vector<double> unchanged, changed;
  std::vector<double> disturbed;  // the unchanged step, from weights that differ in their last place
  double allowed = 0;             // relative difference
};

// A part of what an experiment did itself, and how long it took on the wall.
struct PhaseTime {
  std::string name;  // "choosing kernels"
  double seconds = 0;
};

// How the roofs behind a report were measured.
struct RoofsOrigin {
  std::string measured_at;            // ISO 8601, UTC; empty: not known
  double age_hours = 0;               // when they were used
  double seconds = 0;                 // that measuring took
  int repetitions = 0;                // of all roofs together
  int disturbed = 0;                  // of those, by other programs
  std::vector<std::string> doubtful;  // roofs of which too few repetitions were undisturbed: may be too low
};

// Everything that `hone lab` leaves: the input of every form of the report.
struct LabReport {
  int schema = 1;
  // What was being done when somebody ended the experiment; empty: it ran to its end. An interrupted one has
  // a baseline and the passes tried so far; `optimised`, `result` and `numerics` are empty.
  std::string interrupted;
  ModelInfo model;
  Environment environment;
  Roofs roofs;
  RoofsOrigin roofs_origin;
  Analysis baseline;
  std::vector<PassRow> passes;
  std::vector<PassCombination> combinations;  // of passes
  std::vector<PassRow> settings = {};  // of a recipe: each measured by itself, and no part of the result
  Analysis optimised;
  LabResult result;
  std::vector<NumericCheck> numerics;
  ReferenceRows reference_rows = {};
  std::vector<LearningCurve> curves = {};  // of a recipe; a model has none
  MemoryUse baseline_memory;
  MemoryUse optimised_memory;
  int baseline_operators = 0;     // of the model as given
  int baseline_on_reference = 0;  // of these, those that ran on the reference, correct and slow
  ReproduceInfo reproduce;
  std::vector<PhaseTime> phases;  // of the experiment; together, its wall time
  std::vector<std::string> warnings;
  std::optional<TrainingGain> training = {};  // of a recipe whose settings were tried
};

}  // namespace hone::analyze
