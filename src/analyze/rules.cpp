#include "analyze/rules.h"

#include <array>
#include <type_traits>

namespace hone::analyze {
namespace {

// In the order of Cause.
constexpr std::array<CauseRule, kCauseCount> kRules = {{
    {Cause::kFloor,
     "floor",
     1.0,
     Gain::kNone,
     0,
     "{share} of the step is what this machine needs for the arithmetic and the compulsory bytes",
     "{count} operators: at least {flops} and {bytes} of compulsory traffic at the measured roofs",
     "{name} ({kind}): floor {floor}, set by {floor_roof}",
     {},
     ""},
    {Cause::kPrecision,
     "wide_arithmetic",
     0.05,
     Gain::kShareOfRow,
     0.8,
     "{ms} per step goes to arithmetic in a wider type than it needs",
     "{count} operators",
     "{name} ({kind}): {ms}",
     {.native = "run these operators in a narrower type"},
     "changes the numbers: the gate checks the model's own metric"},
    {Cause::kLayout,
     "layout_changes",
     0.03,
     Gain::kShareOfRow,
     0.8,
     "{ms} per step goes to changing the order of elements in memory",
     "{count} reorders and transposes, {bytes} moved without arithmetic",
     "{name} ({kind}): {ms} for {bytes}",
     {.native =
          "propagate one layout through the graph so that neighbouring reorders cancel (passes: layout)"},
     "reorders at the model's own inputs and outputs stay"},
    {Cause::kAvoidableTraffic,
     "unfused_traffic",
     0.03,
     Gain::kShareOfRow,
     0.9,
     "{ms} per step goes to memory traffic that fusion would avoid",
     "{count} operators write and read again {avoidable} that could stay in registers",
     "{name} ({kind}): {ms}; fused with {fuses_with} it would not move {avoidable} of its {bytes}",
     {.native = kFuseWithHone},
     "a fused epilogue still costs its arithmetic, usually hidden behind the neighbour's memory accesses"},
    {Cause::kKernelInefficiency,
     "kernels_below_roof",
     0.05,
     Gain::kAboveAttainable,
     0,
     "{ms} per step is lost in kernels that take longer than the floor",
     "{count} operators above their floors{superfluous}",
     "{name} ({kind}): {ms} above its floor of {floor}; {fraction} of the {roof} roof with "
     "{implementation}{algorithm}",
     {.native = kOtherKernelsOfHone},
     "the gain assumes that a good kernel exists: {attainable} of the roof for the largest operator's class"},
    {Cause::kUnjudged,
     "unknown_costs",
     1.0,
     Gain::kNone,
     0,
     "{ms} per step is spent in operators whose FLOPs and bytes are not known",
     "{count} operators without known cost: nothing says how much of their time is needed",
     "{name} ({kind}): {ms}",
     {},
     ""},
    {Cause::kLaunch,
     "slow_launches",
     0.03,
     Gain::kAboveDispatch,
     0,
     "{ms} per step passes between operators, while none runs",
     "{gaps}, {gap} each on average",
     "",
     {.native =
          "fuse operators so that fewer run (passes: fold, fuse; hone lab MODEL measures what that wins)"},
     "about 1 µs per operator stays"},
    {Cause::kHostSync,
     "host_waits",
     0.03,
     Gain::kShareOfRow,
     0.9,
     "{ms} per step the device waits because the host waited for it",
     "{ms} in synchronising calls",
     "",
     {.native = "remove reads of device values from the step (copies to the host, prints)"},
     "a loss that is logged every step is a read, too"},
    {Cause::kInput,
     "input_waits",
     0.03,
     Gain::kShareOfRow,
     1.0,
     "{ms} per step is spent waiting for input",
     "{ms} in data loading while no operator ran",
     "",
     {.native = "let more threads read ahead ([data] workers), and keep decoded samples in memory ([data] "
                "cache_mb)"},
     ""},
    {Cause::kIo,
     "file_waits",
     0.03,
     Gain::kShareOfRow,
     1.0,
     "{ms} per step is spent waiting for files",
     "{ms} in reads and writes while the device had nothing to do",
     "",
     {.native = "keep decoded samples in memory ([data] cache_mb), or the files on a faster disk"},
     ""},
    {Cause::kHostCopy,
     "exposed_copies",
     0.03,
     Gain::kShareOfRow,
     0.8,
     "{ms} per step is spent on copies between host and device that nothing hides",
     "{ms} of exposed copies",
     "",
     {.native = "copy from pinned memory on a stream of its own, ahead of use"},
     "a copy of the final result cannot be hidden"},
    {Cause::kAllocator,
     "allocator_waits",
     0.02,
     Gain::kShareOfRow,
     1.0,
     "{ms} per step is spent taking and returning memory",
     "{ms} in allocation calls while no operator ran",
     "",
     {.native = "use one arena with offsets computed ahead"},
     ""},
    {Cause::kCompile,
     "compilation_waits",
     0.03,
     Gain::kShareOfRow,
     1.0,
     "{ms} per step is spent compiling kernels",
     "{ms} in compilation",
     "",
     {.native = "fix the shapes, so that compiled kernels are found in the cache"},
     ""},
    {Cause::kHostOther,
     "host_work",
     0.05,
     Gain::kNone,
     0,
     "{ms} per step is host work before and after the operators",
     "{ms} before the first and after the last operator, or in host work that no mark explains",
     "",
     {.native = "give each step more work (a larger batch): this part of it does not grow with it"},
     ""},
    {Cause::kComm,
     "exposed_communication",
     0.05,
     Gain::kShareOfRow,
     0.7,
     "{ms} per step is communication that nothing hides",
     "{ms} of exposed collectives",
     "",
     {.native = "overlap communication with the backward pass, in larger buckets"},
     ""},
    {Cause::kStraggler,
     "late_rank",
     0.05,
     Gain::kShareOfRow,
     0.9,
     "{ms} per step is spent waiting for a slower rank",
     "{ms} between the first and the last arrival at collectives",
     "",
     {.native = "find out why that rank is slower: its input, its clocks, its neighbours"},
     ""},
    {Cause::kBubble,
     "pipeline_bubble",
     0.05,
     Gain::kShareOfRow,
     0.5,
     "{ms} per step is pipeline bubble",
     "{ms} in which a stage had no micro-batch",
     "",
     {.native = "use more micro-batches or an interleaved schedule"},
     ""},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i)
    if (kRules[i].cause != static_cast<Cause>(i)) return false;
  return true;
}
static_assert(in_order(), "kRules must stand in the order of Cause");

// What is different for a program on this host that hone does not run: fields that are left out are as above,
// but for the caveat.
struct HostProgramRule {
  Cause cause;
  double threshold = 0;
  Gain gain = Gain::kNone;
  double recoverable = 0;
  std::string_view title = {};
  std::string_view summary = {};
  std::string_view operator_evidence = {};
  FrameworkText fix;
  std::string_view caveat = {};
  AdvisedChanges changes = {};
};

constexpr HostProgramRule kHostProgramRules[] = {
    {.cause = Cause::kPrecision,
     .fix = {.pytorch =
                 "run these operators in bf16 (torch.autocast(\"cpu\", dtype=torch.bfloat16)), where the "
                 "CPU computes in it",
             .jax = "compute in jnp.bfloat16, where the CPU does that",
             .native = "run these operators in a narrower type"},
     .caveat = "changes the numbers: compare the outputs, or the loss curve",
     .changes = {"autocast_bf16"}},
    {.cause = Cause::kLayout,
     .summary = "{count} copies and transposes, {bytes} moved without arithmetic",
     .operator_evidence = "{name}: {ms} for {bytes}",
     .fix = {.pytorch = "{one_order}",
             .jax = "keep one order through the model: images as NHWC in dimension_numbers, no jnp.transpose "
                    "that jnp.einsum does without",
             .tensorflow =
                 "keep one order through the model: images as NHWC, the default data_format, no tf.transpose "
                 "that tf.einsum does without",
             .native = "keep one order through the program, without copies that only change it; channels "
                       "last for images"},
     .changes = {"channels_last"}},
    {.cause = Cause::kAvoidableTraffic,
     .operator_evidence =
         "{name}: {ms}; fused with {fuses_with} it would not move {avoidable} of its {bytes}",
     .fix = {.pytorch = "use torch.compile(model): it joins chains of pointwise and normalising operators "
                        "into one",
             .jax = "put jax.jit around the whole step: what it compiles at once, XLA joins",
             .tensorflow = "use tf.function(jit_compile=True), which joins chains of pointwise and "
                           "normalising operators into one",
             .native = "join chains of pointwise and normalising passes into one"},
     .caveat = "what the backward pass needs is still written",
     .changes = {"compile"}},
    {.cause = Cause::kKernelInefficiency,
     .title = "{ms} per step is lost in operators that take longer than the floor",
     .summary = "{count} operators above their floors",
     .operator_evidence = "{name}: {ms} above its floor of {floor}; {fraction} of the {roof} roof",
     .fix = {.pytorch = "{kernels}",
             .jax = "give each operator more work (larger batches, jax.vmap over loops), or compute in "
                    "another order of dimensions",
             .tensorflow = "try tf.function(jit_compile=True), another number of threads "
                           "(tf.config.threading.set_intra_op_parallelism_threads), or larger batches",
             .native = "try another library or algorithm for these shapes, another number of threads, or "
                       "channels last for convolutions"},
     .caveat = "the gain assumes that a good kernel exists: {attainable} of the roof for the largest "
               "operator's class",
     .changes = {"channels_last", "threads_physical", "compile"}},
    {.cause = Cause::kLaunch,
     .threshold = 0.05,
     .gain = Gain::kAboveRecorder,
     .summary = "{gaps}, {gap} each on average: {whose}",
     .fix = {.pytorch = "{fewer}",
             .jax = "put jax.jit around the whole step, and lax.scan or jax.vmap in the place of Python "
                    "loops inside it; or use larger batches",
             .tensorflow = "put tf.function around the whole step (jit_compile=True makes fewer and larger "
                           "operators of it); or use larger batches",
             .native = "use fewer and larger operators, or larger batches"},
     .caveat = "about {kept} of each gap are left out: what {issuing} an operator costs",
     .changes = {"compile", "fused_optimizer", "larger_batch"}},
    {.cause = Cause::kHostSync,
     .title = "{ms} per step the host waits",
     .fix = {.pytorch = "remove waits from the step (.item(), .cpu(), prints of values, locks)",
             .jax = "remove reads of results from the step (float(x), np.asarray, block_until_ready, "
                    "prints): keep them as arrays and read them once in many steps",
             .tensorflow = "remove reads of results from the step (.numpy(), float(x), prints): keep them "
                           "in tf.keras.metrics and read them once in many steps",
             .native = "remove waits from the step (reads of results, prints of values, locks)"}},
    {.cause = Cause::kInput,
     .summary = "{ms} in data loading while no operator ran",
     .fix = {.pytorch = "{batches}",
             .tensorflow = "prepare batches ahead: Dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE), "
                           "cache(), and prefetch(tf.data.AUTOTUNE) at the end",
             .native = "prepare batches ahead, in other threads or processes"},
     .changes = {"workers"}},
    {.cause = Cause::kIo,
     .summary = "{ms} in reads and writes while no operator ran",
     .fix = {.native = "read files ahead in workers, keep them in memory, write checkpoints in the "
                       "background"},
     .changes = {"workers"}},
    {.cause = Cause::kAllocator,
     .fix = {.native =
                 "reuse buffers, keep shapes fixed, or try another allocator (LD_PRELOAD of jemalloc or "
                 "tcmalloc)"}},
    {.cause = Cause::kCompile,
     .title = "{ms} per step is spent compiling",
     .fix = {.pytorch = "pad inputs to a few fixed shapes, or use torch.compile(dynamic=True): each new "
                        "shape compiles again",
             .jax = "pad inputs to a few fixed shapes, and pass numbers that change as arrays: each new "
                    "shape, and each new static argument, compiles again; jax_log_compiles names the reason",
             .tensorflow = "pad inputs to a few fixed shapes, give tf.function an input_signature, and pass "
                           "numbers that change as tensors: each new shape and Python value traces again",
             .native = "pad inputs to a few fixed shapes: each new shape compiles again"},
     .caveat = "the first steps always compile: record later ones"},
    {.cause = Cause::kHostOther,
     .gain = Gain::kShareOfRow,
     .recoverable = 1.0,
     .title = "{ms} per step is work of the program outside of its operators",
     .summary = "{ms} of which the trace says nothing",
     .fix = {.pytorch = "move it out of the loop, into a thread or into DataLoader workers{unnamed}",
             .native = "move it out of the loop or into another thread"}},
};

constexpr CauseRule with(CauseRule rule, const HostProgramRule& other) {
  const auto put = [](auto& field, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) field = value;
  };
  put(rule.threshold, other.threshold);
  put(rule.gain, other.gain);
  put(rule.recoverable, other.recoverable);
  put(rule.title, other.title);
  put(rule.summary, other.summary);
  put(rule.operator_evidence, other.operator_evidence);
  rule.fix = other.fix;
  rule.caveat = other.caveat;
  rule.changes = other.changes;
  return rule;
}

// In the order of Cause.
constexpr std::array<CauseRule, kCauseCount> kRulesOfHostPrograms = [] {
  std::array<CauseRule, kCauseCount> rules = kRules;
  for (const HostProgramRule& other : kHostProgramRules) {
    CauseRule& rule = rules[static_cast<std::size_t>(other.cause)];
    rule = with(rule, other);
  }
  return rules;
}();

struct AttainableRow {
  trace::OperatorClass op_class;
  double fraction;
};

// Library matrix products come close to the micro-kernel's rate on large shapes; convolutions lose some of it
// to edges and to gathering their input; what streams memory reaches most of the copy roof.
constexpr AttainableRow kAttainable[] = {
    {trace::OperatorClass::kMatrix, 0.85},        {trace::OperatorClass::kConvolution, 0.75},
    {trace::OperatorClass::kPooling, 0.6},        {trace::OperatorClass::kPointwise, 0.85},
    {trace::OperatorClass::kNormalization, 0.75}, {trace::OperatorClass::kReduction, 0.75},
    {trace::OperatorClass::kMovement, 0.8},
};

struct WaitingRow {
  trace::Category category;
  Cause cause;
};

constexpr WaitingRow kWaiting[] = {
    {trace::Category::kSynchronization, Cause::kHostSync},
    {trace::Category::kInput, Cause::kInput},
    {trace::Category::kIo, Cause::kIo},
    {trace::Category::kMemcpy, Cause::kHostCopy},
    {trace::Category::kAllocation, Cause::kAllocator},
    {trace::Category::kCompile, Cause::kCompile},
    {trace::Category::kCommunication, Cause::kComm},
};

constexpr CauseRule kWrittenBroadcasts = {
    Cause::kAvoidableTraffic,
    "written_broadcasts",
    0.03,
    Gain::kShareOfRow,
    0.9,
    "{ms} per step goes to writing out tensors whose elements are stored only once",
    "{bytes} moved for elements that could be read where they are",
    "{name}: {ms} for {bytes}",
    {.pytorch = "leave tensors expanded: most operators read broadcasts as they are; no .repeat(), and no "
                ".contiguous(), .clone() or .reshape() after .expand()",
     .native = "read what is stored once with a stride of 0 instead of writing it out"},
    "an operator that needs packed input makes the copy itself; the gradient of a loss that is only a sum "
    "or a mean is one number, written out for the operator before it; other losses have packed gradients",
    {"compile"}};

constexpr CauseRule kUnjudgedBusy = {
    Cause::kFloor,
    "unjudged_busy",
    1.0,
    Gain::kNone,
    0,
    "{share} of the step is busy time of which too little is known to say how much is needed",
    "{count} operators, without roofs to judge them by",
    "{name} ({kind}): {ms}",
    {},
    ""};

}  // namespace

const CauseRule& written_broadcasts() { return kWrittenBroadcasts; }

const CauseRule& unjudged_busy() { return kUnjudgedBusy; }

const CauseRule& rule_of(Cause cause, Subject subject) {
  return (subject == Subject::kPlan ? kRules : kRulesOfHostPrograms)[static_cast<std::size_t>(cause)];
}

double attainable_fraction(trace::OperatorClass op_class) {
  for (const AttainableRow& row : kAttainable)
    if (row.op_class == op_class) return row.fraction;
  return 0.5;
}

std::string_view faster_algorithm(trace::OperatorClass op_class) {
  return op_class == trace::OperatorClass::kConvolution ? "Winograd's algorithm" : "a faster algorithm";
}

std::optional<Cause> waiting_cause(trace::Category category) {
  for (const WaitingRow& row : kWaiting)
    if (row.category == category) return row.cause;
  return std::nullopt;
}

}  // namespace hone::analyze
