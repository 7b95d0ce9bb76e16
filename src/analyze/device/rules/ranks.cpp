// Between devices: communication, ranks that come late, stages that take turns.
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kRanksRules[] = {
    {.rule = Rule::kExposedCommunication,
     .id = "exposed_communication",
     .cause = Cause::kComm,
     .gain = GainModel::kCause,
     .threshold = 0.05,
     .title = "{ms} per step is communication that nothing hides",
     .summary = "{ms} in collectives, and before their launches, while the device computed nothing",
     .item = "{name}: {times}{detail}",
     .fix = {.pytorch = "{exchange}",
             .jax = "overlap communication with computing: "
                    "XLA_FLAGS=--xla_gpu_enable_latency_hiding_scheduler=true, larger collectives; send "
                    "16-bit numbers",
             .native = "begin each collective as soon as its data is ready, on a stream of its own, in "
                       "messages of 25 MB or more; send 16-bit numbers"},
     .caveat = {.native = "communication that nothing follows has nothing to hide behind"},
     .changes = {"ddp_buckets"},
     .effort = Effort::kSetting},
    {.rule = Rule::kRepeatedReductions,
     .id = "repeated_reductions",
     .cause = Cause::kComm,
     .precedence = Precedence::kCarriedTooMuch,
     .gain = GainModel::kWithoutWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to reducing gradients that are reduced again before they are used",
     .summary = "{count:works} a step reducing gradients, or scaling them for that, before the last "
                "reduction of equal sizes; one optimizer step follows them all",
     .item = kWorkItem,
     .word = "prepares a reduction over ranks that a later one repeats",
     .fix = {.pytorch = "accumulate under model.no_sync() and reduce only in the last micro-batch "
                        "(set_requires_gradient_sync(False) with FSDP2)",
             .jax = "add gradients up on each device over the micro-batches (lax.scan) and reduce them once "
                    "(lax.psum after it)",
             .native = "add gradients up on each rank and reduce them once, after the last micro-batch"},
     .caveat = {.native = "gradients are kept unreduced between micro-batches: with sharded gradients that "
                          "takes memory"}},
    {.rule = Rule::kWideSums,
     .id = "wide_sums",
     .cause = Cause::kComm,
     .precedence = Precedence::kCarriedWide,
     .whole = true,
     .gain = GainModel::kShorterWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to sums over ranks in f32 of tensors that are in 16 bits before and after",
     .summary = "{count:works} a step converting to f32, summing and converting back",
     .item = kWorkItem,
     .word = "converts for a sum over ranks that could be one of 16 bits",
     .fix = {.pytorch = "reduce in bf16: no .float() before all_reduce, reduce_dtype=torch.bfloat16 with "
                        "FSDP2, bf16_compress_hook with DistributedDataParallel",
             .native = "reduce in bf16: no conversion to f32 before the collective"},
     .caveat = {.native = "sums in bf16 are less exact: compare the {outcome}"}},
    {.rule = Rule::kWholeGathers,
     .id = "whole_gathers",
     .cause = Cause::kComm,
     .precedence = Precedence::kCarriedTooMuch,
     .gain = GainModel::kShorterWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to gathering from all ranks what is reduced right after",
     .summary = "{count:works} a step gathering whole tensors and reducing them",
     .item = kWorkItem,
     .word = "reduces what was gathered: each rank could have reduced its own part first",
     .fix = {.native = "reduce on each rank first (mean, argmax, sum), then gather what is left"}},
    {.rule = Rule::kRepeatedWeightGathers,
     .id = "repeated_weight_gathers",
     .cause = Cause::kComm,
     .precedence = Precedence::kCarriedTooMuch,
     .gain = GainModel::kWithoutWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to gathering weights again although nothing has changed them",
     .summary = "{count:works} a step gathering weights that the same step has gathered before, without an "
                "update in between, or packing and unpacking them",
     .item = kWorkItem,
     .word = "packs or unpacks weights that the step has gathered before",
     .fix = {.pytorch = "gather the weights once and keep them until the last token or batch is done: with "
                        "FSDP2 model.set_reshard_after_forward(False) before it and .reshard() of each "
                        "sharded module after it, with FSDP1 ShardingStrategy.SHARD_GRAD_OP, with DeepSpeed "
                        "deepspeed.zero.GatheredParameters(model.parameters()) around it",
             .native = "gather the weights once and keep them until the last token or batch is done"},
     .caveat = {.native =
                    "meanwhile each device holds the weights of the whole model: that memory must be free; "
                    "several models of one shape, called in turn, look the same in a trace"}},
    {.rule = Rule::kLateRank,
     .id = "late_rank",
     .cause = Cause::kStraggler,
     .gain = GainModel::kCause,
     .threshold = 0.05,
     .title = "{ms} per step is spent waiting for rank {rank}",
     .summary = "rank {rank} arrives last at the collectives; meanwhile {doing}",
     .item = "{name}: {ms} of waiting",
     .fix = {.native = "make rank {rank} as fast as the others: {remedy}"}},
    {.rule = Rule::kPipelineBubble,
     .id = "pipeline_bubble",
     .cause = Cause::kBubble,
     .gain = GainModel::kCause,
     .threshold = 0.05,
     .title = "{ms} per step is pipeline bubble",
     .summary = "{ms} in which a stage waited for the stage before or after it",
     .item = "{name}: {ms} of waiting",
     .fix = {.native = "split the batch into {micro_batches}, or use a 1F1B or interleaved schedule"},
     .caveat = {.native = "more micro-batches make smaller products"}},
    {.rule = Rule::kDevicesInTurn,
     .id = "devices_in_turn",
     .cause = Cause::kBubble,
     .gain = GainModel::kCause,
     .threshold = 0.05,
     .title = "{ms} per step this device waits while another device of the same process works",
     .summary = "{ms} in which work was launched and waited for another device",
     .item = "before {name}: {count} × {mean} = {ms}",
     .fix = {.pytorch = "drive each device by a process of its own (DistributedDataParallel instead of "
                        "nn.DataParallel); if the model is split over the devices, split the batch into "
                        "micro-batches (torch.distributed.pipelining)",
             .jax = "use one program over all devices (jax.sharding) and shard the batch; if the model is "
                    "split over the devices, split the batch into micro-batches",
             .native = "drive each device by a thread or process of its own; if the model is split over the "
                       "devices, split the batch into micro-batches"},
     .caveat = {.native = "a device that waits for another's result waits as long in any process: "
                          "micro-batches overlap them"}},
};

}  // namespace

std::span<const DeviceRule> ranks_rules() { return kRanksRules; }

}  // namespace hone::analyze::device
