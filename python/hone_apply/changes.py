"""The changes that can be made from outside, by name. A change says with hooks() which modules of the program's it waits for, and is
called with each right after its import. What it makes, and its edit, it logs when it is in force: a change that is not
logged as applied has done nothing. One that has switch(on) can be switched between steps once it is made; where its `on` is false when it is made it is
made ready, said to be applied, and not in force before it is switched on.
"""
from . import attention, compilation, distributed, loaders, memory_format, optimizers, precision, process

CHANGES = {
    "tf32": precision.Tf32,
    "autocast_bf16": precision.AutocastBf16,
    "cudnn_benchmark": process.CudnnBenchmark,
    "channels_last": memory_format.ChannelsLast,
    "fused_optimizer": optimizers.Fused,
    "set_to_none": optimizers.SetToNone,
    "compile": compilation.Compile,
    "compile_reduce_overhead": compilation.CompileReduceOverhead,
    "compile_max_autotune": compilation.CompileMaxAutotune,
    "sdpa_cudnn": attention.CudnnFirst,
    "workers": loaders.Workers,
    "pin_memory": loaders.PinMemory,
    "non_blocking": loaders.NonBlocking,
    "larger_batch": loaders.LargerBatch,
    "ddp_buckets": distributed.Buckets,
    "expandable_segments": process.ExpandableSegments,
    "threads_physical": process.PhysicalCores,
}
