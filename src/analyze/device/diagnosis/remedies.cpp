#include "analyze/device/diagnosis/remedies.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "analyze/device/gain_numbers.h"
#include "core/units.h"

namespace hone::analyze::device {
namespace {

constexpr double kNearlyAll = 0.9;

// Of a program that generates token by token: without a fixed length shapes change with every token.
constexpr std::string_view kFixedCache =
    "keep the cache of keys and values at a fixed length, and compile over it: generate(…, "
    "cache_implementation=\"static\") of transformers does both; in a loop of your own write into a cache of "
    "full "
    "length (index_copy_) under a mask, and use torch.compile(model, mode=\"reduce-overhead\"); while the "
    "cache "
    "grows, shapes change with every token, and neither compiled code nor CUDA graphs hold";

double ms_of(const std::vector<const AccountEntry*>& entries, EntryKind kind) {
  double ms = 0;
  for (const AccountEntry* entry : entries)
    if (entry->traits.kind == kind) ms += entry->ms;
  return ms;
}

// PyTorch runs a 1-d convolution as a 2-d one of height 1.
bool is_series(const Inputs& inputs) {
  bool some = false;
  for (const trace::CallInput& input : inputs) {
    if (input.dims.size() > 4 || (input.dims.size() == 4 && input.dims[2] != 1)) return false;
    some |= input.dims.size() == 3 || (input.dims.size() == 4 && input.dims[3] > 1);
  }
  return some;
}

std::string reduction_fix(bool wide, bool sharded, const ProgramTraits& program) {
  if (!program.trains)
    return fmt::format(
        "overlap the sums with computing: split the batch in two, and compute one half while the other is "
        "summed; sum once for a pair of products (the first split by columns, the second by rows){}",
        wide ? "; send half the bytes by summing in bf16, which is less exact" : "");
  if (sharded)
    return fmt::format(
        "overlap communication with computing: FSDP does it if each block is wrapped by itself{}",
        wide ? "; send half the bytes by reducing in bf16, which is less exact "
               "(reduce_dtype=torch.bfloat16)"
             : "");
  const std::string_view narrow = wide ? "; send half the bytes by reducing in bf16, which is less exact "
                                         "(ddp_comm_hooks.default_hooks.bf16_compress_hook)"
                                       : "";
  if (program.small_messages)
    return fmt::format(
        "join small messages: buckets of 25 MB or more in DistributedDataParallel (bucket_cap_mb), or one "
        "flat tensor instead of a reduction for each parameter{}",
        narrow);
  return fmt::format(
      "overlap communication with computing: DistributedDataParallel and FSDP do it for gradients, in "
      "buckets of 25 MB or more (bucket_cap_mb){}",
      narrow);
}

std::string exchange_fix(const std::vector<const AccountEntry*>& entries, const ProgramTraits& program) {
  const double gathers = ms_of(entries, EntryKind::kGather),
               scatters = ms_of(entries, EntryKind::kReduceScatter);
  const double reductions = scatters + ms_of(entries, EntryKind::kReduction);
  if (gathers > reductions)
    return fmt::format(
        "begin each gather before its result is needed{} and gather less: reduce, pool or select on each "
        "rank first, and send 16-bit numbers",
        program.trains ? " (FSDP prefetches the weights of the next layer: forward_prefetch, "
                         "set_modules_to_forward_prefetch; where each device has the memory for the weights "
                         "of the whole model, reshard_after_forward=False keeps them for the backward pass)"
                       : "");
  if (reductions == 0 && gathers + ms_of(entries, EntryKind::kExchange) > 0)
    return "begin the exchange as soon as its data is ready (async_op=True, isend and irecv) and wait where "
           "its result is used; send 16-bit numbers";
  double narrow = 0;
  for (const AccountEntry* entry : entries)
    if (entry->traits.kind == EntryKind::kReduction || entry->traits.kind == EntryKind::kReduceScatter)
      narrow += entry->traits.narrow ? entry->ms : 0;
  const bool mostly_wide = narrow < reductions / 2;
  const bool mostly_sharded = scatters > reductions / 2;
  return reduction_fix(mostly_wide, mostly_sharded, program);
}

}  // namespace

ProgramTraits traits_of(const Study& study, const Gains& gains) {
  ProgramTraits program;
  for (const trace::Operator& op : study.trace->operators)
    program.trains |= op.phase == trace::Phase::kBackward || op.phase == trace::Phase::kOptimizer;
  const std::vector<trace::RankInfo>& ranks = study.trace->meta.ranks;
  program.all_ranks = std::all_of(ranks.begin(), ranks.end(), [&](const trace::RankInfo& info) {
    return info.world_size <= static_cast<int>(ranks.size());
  });
  const std::vector<OperatorUse>& uses = study.ranks[study.headline].split.uses.rows;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const Inputs& inputs = uses[i].inputs;
    const trace::Operator& op = study.trace->operators[i];
    if (op.op_class != trace::OperatorClass::kConvolution || op.phase == trace::Phase::kBackward) continue;
    if (is_series(inputs))
      program.has_series = true;
    else if (is_image(inputs) && !is_of_patches(inputs))
      program.has_images = true;
  }
  program.small_messages = gains.small_messages();
  program.varying = study.ranks[study.headline].shapes.share;
  program.cache_grows = study.ranks[study.headline].shapes.cache_grows && !program.trains;
  return program;
}

std::string copy_remedy(const std::vector<const AccountEntry*>& entries) {
  const double in = ms_of(entries, EntryKind::kCopyToDevice), out = ms_of(entries, EntryKind::kCopyToHost);
  const double known = in + out;
  double of_pinned = 0;
  for (const AccountEntry* entry : entries) of_pinned += entry->traits.pinned ? entry->ms : 0;
  const bool pinned = known > 0 && of_pinned >= kNearlyAll * known;
  const std::string ahead =
      fmt::format("{}tensor.to(device, non_blocking=True), a step ahead on a stream of its own",
                  pinned ? "" : "pin_memory=True and ");
  const std::string less =
      fmt::format("reduce on the device before .cpu() (argmax, amax, mean), or {}",
                  pinned ? "read the copy a step later"
                         : "copy into pinned memory with non_blocking=True and read it a step later");
  if (known > 0 && in >= kNearlyAll * known)
    return fmt::format("copy to the device ahead of need: {}; or keep on the device what does not change",
                       ahead);
  if (known > 0 && out >= kNearlyAll * known) return fmt::format("copy less to the host: {}", less);
  if (pinned && std::min(in, out) >= kNearlyAll * std::max(in, out))
    return fmt::format(
        "keep on the device what goes to the host and comes back, or compute it again "
        "(torch.utils.checkpoint); if it must go, begin the way back ahead of need: {}",
        ahead);
  return fmt::format("copy ahead of need to the device: {}; copy less to the host: {}", ahead, less);
}

std::string exchange_remedy(const std::vector<const AccountEntry*>& entries, const ProgramTraits& program) {
  const std::string fix = exchange_fix(entries, program);
  if (program.all_ranks) return fix;
  return fmt::format(
      "explain the files of all ranks together, as part of this may be waiting for a late rank; "
      "for the rest: {}",
      fix);
}

std::string image_remedy(const std::vector<const Inputs*>& operators) {
  if (!operators.empty() && std::all_of(operators.begin(), operators.end(),
                                        [](const Inputs* inputs) { return is_series(*inputs); }))
    return "write Conv1d, which has no channels_last, as Conv2d over x.unsqueeze(2), and give that model and "
           "its input memory_format=torch.channels_last; where the kernel size is 1, use nn.Linear over "
           "channels that lie last";
  const bool volumes = std::any_of(operators.begin(), operators.end(), [](const Inputs* inputs) {
    return std::any_of(inputs->begin(), inputs->end(),
                       [](const trace::CallInput& input) { return input.dims.size() == 5; });
  });
  const std::string_view format = volumes ? "torch.channels_last_3d" : "torch.channels_last";
  return fmt::format(
      "keep images channels last, as tensor cores want them: model.to(memory_format={0}) and "
      "input.contiguous(memory_format={0})",
      format);
}

std::string order_examples(const ProgramTraits& program) {
  if (program.has_images) return "channels_last for convolutions";
  return program.has_series ? "channels last: nn.Linear instead of a Conv1d of kernel size 1"
                            : "batch_first=True, weights stored as they are used";
}

std::string wait_remedy(const std::vector<const AccountEntry*>& entries) {
  const double whole = ms_of(entries, EntryKind::kWaitForDevice);
  const double sizes = ms_of(entries, EntryKind::kWaitForSize);
  double others = 0;
  for (const AccountEntry* entry : entries)
    if (entry->count > 0) others += entry->ms;
  others -= whole + sizes;
  if (whole > std::max(sizes, others))
    return "remove torch.cuda.synchronize() and event.synchronize() from the step; to measure times, record "
           "torch.cuda.Event(enable_timing=True) and read them once in many steps";
  if (sizes > std::max(whole, others))
    return "remove what must know how many elements there are (x[mask], nonzero(), unique(), masked_select): "
           "use torch.where, products with the mask, or a fixed number of elements (topk)";
  return "remove reads of device values from the step (.item(), float(tensor), .cpu(), print, masks as "
         "indices, nonzero); gather them on the device and read once in many steps";
}

std::string launch_remedy(const ProgramTraits& program) {
  if (program.cache_grows) return std::string(kFixedCache);
  if (!program.may_be_one_graph())
    return fmt::format(
        "use torch.compile(…, mode=\"reduce-overhead\") for the part of the model whose shapes stay, as a "
        "backbone's do: it is launched as one graph; the whole step cannot be, for sizes of {} of its "
        "kernels "
        "change from step to step (dynamic=True compiles that part)",
        format_percent(program.varying));
  return "use torch.compile(model, mode=\"reduce-overhead\") or CUDA graphs: one launch a step; or foreach "
         "and "
         "batched operators instead of Python loops; larger batches take hardly longer while the host holds "
         "the "
         "step up";
}

std::string loop_remedy(const Loops& loops, const ProgramTraits& program) {
  if (program.cache_grows) return std::string(kFixedCache);
  double works = 0, of_layers = 0;
  for (const Loop& loop : loops.loops) {
    if (loop.copies) continue;
    works += loop.works;
    if (loop.layers) of_layers += loop.works;
  }
  if (of_layers > works / 2)
    return "use torch.compile(mode=\"reduce-overhead\") or a CUDA graph, which launch the layers of a model "
           "at "
           "once; run samples, branches or members of an ensemble as one batch (torch.vmap, "
           "torch.func.stack_module_state)";
  return "do independent turns (parameters, heads, experts, samples) in one call: the foreach functions "
         "(torch._foreach_mul_), "
         "torch.bmm, torch.vmap, clip_grad_norm_(foreach=True); if each turn needs the one before (time "
         "steps, layers), use the operator that has the loop inside (nn.LSTM), torch.compile or a CUDA "
         "graph";
}

std::string micro_batch_remedy(int predicted) {
  if (predicted <= 1 || predicted >= kMostMicroBatches) return "more micro-batches (four or more a stage)";
  return fmt::format("{} micro-batches (with more, what each of them repeats costs more than they win)",
                     predicted);
}

std::string file_remedy(const std::vector<const AccountEntry*>& entries) {
  constexpr std::string_view kRead =
      "read ahead in worker processes (DataLoader(num_workers=…)), keep the data set in memory or on a local "
      "disk";
  constexpr std::string_view kWrite =
      "write in the background (a thread or a process; torch.distributed.checkpoint.async_save), and less "
      "often";
  const double writes = ms_of(entries, EntryKind::kWrite), reads = ms_of(entries, EntryKind::kRead);
  if (reads == 0 && writes > 0) return std::string(kWrite);
  if (writes == 0 && reads > 0) return std::string(kRead);
  return fmt::format("{}; {}", kRead, kWrite);
}

}  // namespace hone::analyze::device
