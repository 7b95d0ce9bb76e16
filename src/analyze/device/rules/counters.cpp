// What hardware counters say of a kernel: why it stays below its roof, for its author (kernels/kernel_faults.h finds it).
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kCountedRules[] = {
    {.rule = Rule::kUncoalesced,
     .id = "uncoalesced",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title =
         "{ms} per step is lost to uncoalesced access: warps fetch sectors of memory that they hardly use",
     .summary = "{count:kernels} a step whose threads lie apart in memory: {ms}",
     .item = kWorkItem,
     .word = "its threads lie apart in memory, so most of each 32-byte sector is fetched in vain",
     .fix = {.pytorch = "make the input contiguous in the order in which it is read (.contiguous(), another "
                        "order of dimensions, indices sorted before a gather); in a kernel of your own, let "
                        "neighbouring threads read neighbouring addresses",
             .jax = "keep the axis that is read fastest last (jnp.transpose once, outside the loop), and "
                    "sort indices before a gather; in a kernel of your own, let neighbouring lanes read "
                    "neighbouring addresses",
             .native = "give neighbouring threads neighbouring addresses: the index that varies fastest in "
                       "memory goes with threadIdx.x; transpose through a tile of shared memory where both "
                       "orders are needed; turn arrays of structs into structs of arrays"}},
    {.rule = Rule::kBankConflicts,
     .id = "bank_conflicts",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost to conflicts between banks of shared memory",
     .summary = "{count:kernels} a step whose warps pass several times through shared memory: {ms}",
     .item = kWorkItem,
     .word = "the threads of a warp want the same bank of shared memory",
     .fix =
         {.pytorch =
              "pad or swizzle the tiles in shared memory, if the kernel is your own (a row of 33 elements, "
              "column ^ row); of a library's kernel, try another algorithm or layout of the inputs",
          .jax = "pad or swizzle the tiles in shared memory, if the kernel is your own (a row of 33 "
                 "elements, column ^ row); of a library's kernel, try another layout of the inputs",
          .native = "pad the rows of the tile by one element (float tile[32][33]), or swizzle the column by "
                    "the row (column ^ row); 16-byte accesses want rows padded by 16 bytes"}},
    {.rule = Rule::kDivergence,
     .id = "divergence",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title =
         "{ms} per step is lost to divergent branches: threads of a warp wait while others take another way",
     .summary = "{count:kernels} a step whose warps work with some of their threads only: {ms}",
     .item = kWorkItem,
     .word = "the threads of a warp take different branches",
     .fix = {.pytorch =
                 "sort the rows by kind or length before the call, so that neighbours take the same branch; "
                 "in a kernel of your own, give each warp one item or compute both sides and select",
             .jax = "sort the rows by kind or length before the call, so that neighbours take the same "
                    "branch; in a kernel of your own, compute both sides and select",
             .native = "sort the work so that the threads of a warp take the same branch (by kind, by "
                       "length), give each warp one item, or compute both sides and select"}},
    {.rule = Rule::kOccupancyByRegisters,
     .id = "occupancy_by_registers",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost because registers leave room for few warps",
     .summary = "{count:kernels} a step with too few warps to wait with, by their registers: {ms}",
     .item = kWorkItem,
     .word = "its registers leave room for few warps, too few to hide latency",
     .fix = {.pytorch =
                 "reduce the registers of a thread, if the kernel is your own (smaller tiles, "
                 "__launch_bounds__, num_warps); of a library's kernel, try other kernels for these shapes",
             .jax = "reduce the registers of a thread, if the kernel is your own (smaller tiles); of a "
                    "library's kernel, try other kernels for these shapes",
             .native = "reduce the registers of a thread: fewer accumulators or a smaller tile each, "
                       "__launch_bounds__(threads, blocks) to let the compiler aim at more blocks; or give "
                       "each thread several independent loads, which hide latency as well"},
     .caveat = {.native = "below the number of registers that it needs a kernel spills them to memory"}},
    {.rule = Rule::kOccupancyBySharedMemory,
     .id = "occupancy_by_shared_memory",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost because shared memory leaves room for few warps",
     .summary = "{count:kernels} a step with too few warps to wait with, by their shared memory: {ms}",
     .item = kWorkItem,
     .word = "its shared memory leaves room for few warps, too few to hide latency",
     .fix = {.pytorch =
                 "reduce the shared memory of a block, if the kernel is your own (smaller tiles, fewer "
                 "stages: num_stages); of a library's kernel, try other kernels for these shapes",
             .jax = "reduce the shared memory of a block, if the kernel is your own (smaller tiles, fewer "
                    "stages); of a library's kernel, try other kernels for these shapes",
             .native = "reduce the shared memory of a block (smaller tiles, fewer stages, a narrower type), "
                       "or let more threads share it"}},
    {.rule = Rule::kOccupancyByBlocks,
     .id = "occupancy_by_block_size",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost because the size of the blocks leaves room for few warps",
     .summary = "{count:kernels} a step with too few warps to wait with, by the size of their blocks: {ms}",
     .item = kWorkItem,
     .word = "the size of its blocks leaves room for few warps, too few to hide latency",
     .fix = {.pytorch = "choose blocks of 128 to 256 threads, if the kernel is your own; of a library's "
                        "kernel, try larger inputs a call or other kernels",
             .jax = "choose blocks of 128 to 256 threads, if the kernel is your own; of a library's kernel, "
                    "try larger inputs a call or other kernels",
             .native = "choose blocks of 128 to 256 threads: a multiprocessor holds a limited number of "
                       "blocks, and only whole ones"}},
    {.rule = Rule::kTail,
     .id = "tail",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in last waves of blocks that fill only a part of the device",
     .summary = "{count:kernels} a step whose last blocks run while most multiprocessors are idle: {ms}",
     .item = kWorkItem,
     .word = "its last blocks run while most multiprocessors are idle",
     .fix = {.pytorch = "choose sizes (batch, sequence, hidden) whose tiles fill the device a whole number "
                        "of times; in a kernel of your own, use smaller tiles or a persistent kernel",
             .jax = "choose sizes (batch, sequence, hidden) whose tiles fill the device a whole number of "
                    "times; in a kernel of your own, use smaller tiles",
             .native = "make the number of blocks a multiple of what the device holds at a time, or far more "
                       "of smaller ones, or use as many blocks as the device holds that take their work from "
                       "a counter (persistent kernel, stream-K)"}},
    {.rule = Rule::kImbalance,
     .id = "imbalance",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost because some blocks work far longer than others",
     .summary = "{count:kernels} a step that end when few multiprocessors still work: {ms}",
     .item = kWorkItem,
     .word = "some of its blocks work far longer than others",
     .fix = {.pytorch = "sort the rows by length, longest first, or pad less; in a kernel of your own, cut "
                        "long rows into pieces",
             .jax = "sort the rows by length, longest first, or pad less; in a kernel of your own, cut long "
                    "rows into pieces",
             .native = "cut the long blocks into pieces, begin with the longest, or let blocks take their "
                       "work from a counter (atomicAdd) instead of by their number"}},
    {.rule = Rule::kRegisterSpills,
     .id = "register_spills",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost to registers spilled to memory",
     .summary = "{count:kernels} a step that move registers through local memory: {ms}",
     .item = kWorkItem,
     .word = "its registers are spilled to local memory",
     .fix = {.pytorch = "use smaller tiles or more warps, if the kernel is your own (num_warps, BLOCK "
                        "sizes); of a library's kernel, try other kernels for these shapes",
             .jax = "use smaller tiles, if the kernel is your own; of a library's kernel, try other kernels "
                    "for these shapes",
             .native = "give the compiler more registers (__launch_bounds__ with fewer threads or blocks, "
                       "without -maxrregcount), or need fewer: smaller tiles a thread, no arrays that are "
                       "indexed at run time (nvcc -Xptxas -v counts spills)"}},
    {.rule = Rule::kLatency,
     .id = "latency",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in kernels that wait: no unit of the device is busy",
     .summary = "{count:kernels} a step in which no unit is busy: {ms}",
     .item = kWorkItem,
     .word = "no unit is busy: its warps wait",
     .fix = {.pytorch = "fuse it with its neighbours, or give it more work a call; in a kernel of your own, "
                        "look at what its warps wait for (stalls in the section of the kernel)",
             .jax = "fuse it with its neighbours, or give it more work a call; in a kernel of your own, look "
                    "at what its warps wait for (stalls in the section of the kernel)",
             .native = "look at what its warps wait for (stalls in the section of the kernel): for memory, "
                       "give each thread more independent loads; for barriers, use fewer or smaller blocks; "
                       "for arithmetic, more independent chains"},
     .caveat = {.native = "how much of it can be won depends on the algorithm"}},
};

}  // namespace

std::span<const DeviceRule> counted_rules() { return kCountedRules; }

}  // namespace hone::analyze::device
