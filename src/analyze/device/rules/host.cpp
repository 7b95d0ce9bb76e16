// Why the device idles: the host issues too slowly, waits, reads, copies, allocates, compiles.
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kHostRules[] = {
    {.rule = Rule::kSlowLaunches,
     .id = "slow_launches",
     .cause = Cause::kLaunch,
     .gain = GainModel::kCause,
     .threshold = 0.05,
     .title = "{ms} per step the device waits because the host cannot launch fast enough",
     .summary =
         "{kernels:kernels} and copies a step; before {count} of them the device waits for the launch, "
         "{mean} each, other waits not counted; it is busy for {busy} of the step",
     .item = "before {name}: {count:gaps}, {ms}",
     .fix = {.pytorch = "{graph}",
             .jax = "put jax.jit around the whole step, or several steps into a lax.scan",
             .tensorflow = "put tf.function(jit_compile=True) around the whole step, and several steps into "
                           "one call (steps_per_execution of Model.compile)",
             .hone = "run the plan as one graph of the device",
             .native = "use CUDA graphs: one launch a step; or fewer and larger kernels"},
     .caveat = {.native = "a graph needs fixed shapes and no reads of device values inside"},
     .changes = {"compile_reduce_overhead", "fused_optimizer", "larger_batch"},
     .effort = Effort::kSetting},
    {.rule = Rule::kLaunchesInLoops,
     .id = "launches_in_loops",
     .cause = Cause::kLaunch,
     .gain = GainModel::kJoinedTurns,
     .threshold = 0.05,
     .title = "{ms} per step the device waits for the launches of a loop",
     .summary = "{count:kernels} and copies a step launched turn by turn, {mean} of idle device before each",
     .item = "{name}: {count:gaps}, {ms}",
     .fix = {.pytorch = "{turns}",
             .jax = "use jax.vmap if the turns are independent, lax.scan within jax.jit if each needs the "
                    "one before",
             .tensorflow =
                 "do all turns in one batched operator (tf.vectorized_map) if they are independent; if each "
                 "needs the one before, use tf.while_loop within tf.function(jit_compile=True)",
             .native = "use one kernel or one batched call for all turns if they are independent, a CUDA "
                       "graph of the loop if each needs the one before"},
     .changes = {"compile_reduce_overhead"}},
    {.rule = Rule::kGapsInGraphs,
     .id = "gaps_in_graphs",
     .cause = Cause::kLaunch,
     .gain = GainModel::kNone,
     .threshold = 0.05,
     .title = "{ms} per step goes to gaps between kernels that one call launches, as a CUDA graph does",
     .summary = "{count:kernels} a step that begin {mean} after the one before",
     .item = "before {name}: {count:gaps}, {ms}",
     .fix = {.pytorch = "use fewer and larger kernels: torch.compile joins passes over the same data; one "
                        "call launches them already",
             .native = "use fewer and larger kernels: join passes over the same data; one call launches them "
                       "already"}},
    {.rule = Rule::kHostWaits,
     .id = "host_waits",
     .cause = Cause::kHostSync,
     .gain = GainModel::kCause,
     .threshold = 0.03,
     .title = "{ms} per step the device waits because the host waited for it first",
     .summary = "{ms} of idle device while the host waited or started again with an empty queue",
     .item = "{name}: {count:waits}, {ms}{detail}",
     .fix = {.pytorch = "{waits}",
             .jax = "remove reads of device values from the step (float(x), np.asarray, "
                    "block_until_ready, prints); gather them on the device and read once in many steps",
             .tensorflow = "remove reads of device values from the step (.numpy(), float(x), tf.print); keep "
                           "them in tf.keras.metrics and read them once in many steps",
             .hone = "read outputs once in many steps, or a step later",
             .native =
                 "remove cudaStreamSynchronize, cudaDeviceSynchronize and copies that block from the step; "
                 "let streams wait for events (cudaStreamWaitEvent), and read results once in many steps"},
     .training_caveat = "a loss that is logged every step is a read, too",
     .changes = {"non_blocking", "pin_memory"}},
    {.rule = Rule::kHostChecks,
     .id = "host_checks",
     .cause = Cause::kHostSync,
     .precedence = Precedence::kAnswerForTheHost,
     .scope = Scope::kWithGapsAndWaits,
     .gain = GainModel::kCause,
     .threshold = 0.03,
     .title = "{ms} per step goes to checks whose answer the host waits for",
     .summary =
         "{ms} in passes over tensors that only compute a yes or no (isfinite, isnan, comparisons, all, "
         "any), in waiting for it, and in starting again from an empty queue",
     .item = "{name}: {count:times}, {ms}",
     .word = "only computes a yes or no that the host waits for",
     .fix =
         {.pytorch =
              "check only every so many steps, or only the loss; or leave the answer on the device, gather "
              "all of them there and read them once (torch._assert_async stops the program without a wait)",
          .native =
              "check only every so many steps; or leave the answer on the device, gather all of them there "
              "and read them once"},
     .training_caveat = "a bad value that is found later has been used until then"},
    {.rule = Rule::kInputWaits,
     .id = "input_waits",
     .cause = Cause::kInput,
     .gain = GainModel::kCause,
     .threshold = 0.03,
     .title = "{ms} per step the device waits for input",
     .summary = "{ms} in which the host prepared the next batch and the device had nothing to do",
     .item = "{name}: {ms}",
     .fix = {.pytorch = "{batches}",
             .jax = "prepare batches ahead, in other threads or processes (grain, tf.data with prefetch), "
                    "and jax.device_put them a step ahead",
             .tensorflow = "prepare batches ahead: Dataset.map(…, num_parallel_calls=tf.data.AUTOTUNE), "
                           "cache(), and prefetch(tf.data.AUTOTUNE) at the end",
             .native = "prepare the next batch in other threads while the device works, in pinned memory; or "
                       "move the preprocessing to the device"},
     .changes = {"workers", "pin_memory"},
     .effort = Effort::kSetting},
    {.rule = Rule::kFileWaits,
     .id = "file_waits",
     .cause = Cause::kIo,
     .gain = GainModel::kCause,
     .threshold = 0.03,
     .title = "{ms} per step the device waits for files",
     .summary = "{ms} in reads and writes while the device had nothing to do",
     .item = "{name}: {ms}",
     .fix = {.pytorch = "{files}",
             .native = "read ahead in other threads, keep the data in memory or on a local disk; write in "
                       "the background, and less often"},
     .changes = {"workers"}},
    {.rule = Rule::kExposedCopies,
     .id = "exposed_copies",
     .cause = Cause::kHostCopy,
     .gain = GainModel::kCause,
     .threshold = 0.03,
     .title = "{ms} per step is spent on copies between host and device that nothing hides",
     .summary = "{ms} in which the device only copied, or waited for a copy",
     .item = "{name}: {times}{detail}",
     .fix = {.pytorch = "{copies}",
             .jax =
                 "call jax.device_put a step ahead, and keep on the device what does not change; reduce what "
                 "goes to the host on the device first, and read it a step later (copy_to_host_async)",
             .tensorflow = "copy ahead (tf.data.experimental.prefetch_to_device at the end of the input "
                           "pipeline), keep on the "
                           "device what does not change, and reduce on the device what goes to the host",
             .hone = "copy inputs a step ahead, keep on the device what does not change, and reduce outputs "
                     "on the device",
             .native = "copy from and to pinned memory (cudaHostAlloc) with cudaMemcpyAsync on a stream of "
                       "its own, to the device a step ahead; reduce on the device what goes to the host"},
     .caveat = {.native = "a copy whose result is used at once cannot be hidden, only made smaller"},
     .changes = {"pin_memory", "non_blocking"},
     .effort = Effort::kSetting},
    {.rule = Rule::kCopiesInLoops,
     .id = "copies_in_loops",
     .cause = Cause::kHostCopy,
     .gain = GainModel::kJoinedTurns,
     .threshold = 0.03,
     .title = "{ms} per step goes to many small copies to the device, one after another",
     .summary = "{ms} of idle device before and during copies that a loop makes",
     .item = "{name}: {ms}",
     .fix =
         {.pytorch = "collect them on the host into one tensor in pinned memory, copy that once with "
                     ".to(device, non_blocking=True) and split it on the device; let the DataLoader collate",
          .jax =
              "collect them on the host into one array, jax.device_put that once and split it on the device",
          .native = "collect them on the host into one buffer in pinned memory, copy that once and split it "
                    "on the device"}},
    {.rule = Rule::kAllocatorWaits,
     .id = "allocator_waits",
     .cause = Cause::kAllocator,
     .gain = GainModel::kCause,
     .threshold = 0.02,
     .title = "{ms} per step the device waits for memory to be allocated or freed",
     .summary = "{ms} in cudaMalloc and cudaFree while the device had nothing to do",
     .item = "{name}: {ms}, {count:times}",
     .fix = {.pytorch =
                 "remove torch.cuda.empty_cache() and allocations of your own (cudaMalloc in an extension) "
                 "from the step; keep shapes fixed, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
             .jax = "keep shapes fixed, and donate what a step replaces (donate_argnums); leave "
                    "XLA_PYTHON_CLIENT_PREALLOCATE on",
             .tensorflow = "keep shapes fixed, and leave memory to TensorFlow "
                           "(TF_GPU_ALLOCATOR=cuda_malloc_async where it fragments)",
             .native = "allocate before the loop and reuse, or take memory from a pool that keeps it "
                       "(cudaMallocAsync with a release threshold)"},
     .caveat = {.native = "where memory is short, only needing less of it helps: smaller batches"},
     .training_caveat = "activation checkpointing needs less",
     .changes = {"expandable_segments"},
     .effort = Effort::kSetting},
    {.rule = Rule::kCompilationWaits,
     .id = "compilation_waits",
     .cause = Cause::kCompile,
     .precedence = Precedence::kCompilation,
     .gain = GainModel::kCause,
     .threshold = 0.03,
     .title = "{ms} per step the device waits for the compiler",
     .summary = "{ms} of compilation while the device had nothing to do",
     .item = "{name}: {ms}",
     .fix = {.pytorch = "pad inputs to a few fixed shapes or use torch.compile(dynamic=True), and pass "
                        "numbers that change as tensors: each new shape, and each new value of a Python "
                        "number, compiles again; TORCH_LOGS=recompiles names the reason",
             .jax = "pad inputs to a few fixed shapes, and pass numbers that change as arrays: each new "
                    "shape, and each new static argument, compiles again; jax_log_compiles names the reason",
             .tensorflow =
                 "pad inputs to a few fixed shapes, give tf.function an input_signature, and pass numbers "
                 "that change as tensors: each new shape and Python value traces and compiles again",
             .hone = "keep shapes fixed, so that kernels are compiled once, before the first step",
             .native = "compile and load kernels before the loop (NVRTC, CUDA_MODULE_LOADING=EAGER), one for "
                       "each of a few fixed shapes"},
     .caveat = {.native = "the first steps always compile: record later ones"},
     .effort = Effort::kSetting},
    {.rule = Rule::kHostWork,
     .id = "host_work",
     .cause = Cause::kHostOther,
     .gain = GainModel::kCause,
     .threshold = 0.05,
     .title = "{ms} per step the device waits for work of the host",
     .summary = "{ms} in which the host neither launched nor waited, in code that the trace does not name or "
                "in the calls named here",
     .item = "{name}: {ms}",
     .fix = {.pytorch = "take this work out of the loop or do it less often; or do it while the device "
                        "works, behind the launches of the next step, in another thread or process{unnamed}",
             .native = "take this work out of the loop or do it less often; or do it while the device works, "
                       "in another thread or process"},
     .caveat =
         {.native =
              "an operator that is slow on the host in only some calls prepares itself for sizes that it "
              "has not seen: pad inputs to a few sizes"},
     .changes = {"workers"}},
};

}  // namespace

std::span<const DeviceRule> host_rules() { return kHostRules; }

}  // namespace hone::analyze::device
