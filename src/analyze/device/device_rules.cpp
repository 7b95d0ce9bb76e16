#include "analyze/device/device_rules.h"

#include <algorithm>
#include <iterator>

namespace hone::analyze::device {
namespace {

constexpr std::string_view kWork = "{name}: {times}{detail}";

// In the order of Cause; the row without a reason stands first and speaks for all reasons that have no own.
constexpr DeviceRule kRules[] = {
    {Cause::kFloor, Reason::kNone, "floor", 1.0,
     "{share} of the step is what this device needs for the arithmetic and the compulsory bytes",
     "{ms} at the roofs of the device", "{name}: {ms}", "", ""},

    {Cause::kPrecision, Reason::kNone, "wide_arithmetic", 0.05,
     "{ms} per step goes to arithmetic in a wider type than it needs",
     "{count} kernels, {ms} above what they would take on matrix units", kWork,
     "run these products in bf16 (torch.autocast) or tf32 (torch.set_float32_matmul_precision(\"high\"))",
     "changes the numbers: compare the {outcome}"},
    {Cause::kPrecision, Reason::kVectorMath, "f32_without_matrix_units", 0.05,
     "{ms} per step goes to f32 products that do not use the matrix units",
     "{count} f32 products a step without tensor cores: {ms} above what tf32 would take", kWork,
     "allow tf32: torch.set_float32_matmul_precision(\"high\") for matrix products, "
     "torch.backends.cudnn.allow_tf32 = True for convolutions; or put the forward pass under "
     "torch.autocast(\"cuda\", dtype=torch.bfloat16)",
     "tf32 keeps 11 bits of the mantissa, bf16 keeps 8, f32 has 24: compare the {outcome}"},
    {Cause::kPrecision, Reason::kTf32, "tf32_products", 0.05,
     "{ms} per step goes to products in tf32 that bf16 would do in half the time",
     "{count} products and attentions a step in tf32: {ms} above what bf16 would take", kWork,
     "torch.autocast(\"cuda\", dtype=torch.bfloat16) around the forward pass: products, convolutions and "
     "attention run in bf16, the weights stay in f32",
     "bf16 keeps 8 bits of the mantissa, tf32 keeps 11: compare the {outcome}"},
    {Cause::kPrecision, Reason::kLeak, "f32_among_16_bits", 0.03,
     "{ms} per step goes to f32 products in a program that computes in 16 bits",
     "{count} f32 products a step without tensor cores: {ms} above what bf16 would take", kWork,
     "find where f32 enters (.float(), a buffer or a bias in f32, a region with autocast off) and keep "
     "these products in bf16",
     "what needs f32 is sums and exponentials, seldom products: compare the {outcome}"},
    {Cause::kPrecision, Reason::kDouble, "f64_arithmetic", 0.03, "{ms} per step goes to arithmetic in f64",
     "{count} kernels a step in f64, {ms} above what f32 would take", kWork,
     "find where f64 enters (numpy arrays are f64 by default; a Python scalar does not widen): "
     ".float(), dtype=torch.float32",
     "f64 that the mathematics needs must stay"},

    {Cause::kLayout, Reason::kNone, "layout_changes", 0.03,
     "{ms} per step goes to changing the order of elements in memory", "{count} kernels a step, {ms}", kWork,
     "{images}", ""},
    {Cause::kLayout, Reason::kTransform, "channels_first_images", 0.03,
     "{ms} per step is lost to channels-first images: conversions around convolutions, slow normalisation",
     "{count} kernels a step converting between channels-first and channels-last or normalising channels "
     "first: {ms}",
     kWork, "{images}", "the input and the output of the model are still converted once"},
    {Cause::kLayout, Reason::kStridedCopy, "strided_copies", 0.03,
     "{ms} per step goes to copies that only change strides",
     "{count} copies a step between two orders of the same elements: {ms}", kWork,
     "remove .contiguous(), .permute() and .transpose() that the next operator does not need; keep one "
     "layout through the model ({one_order})",
     "an operator that needs packed input makes the copy itself"},

    {Cause::kLayout, Reason::kMixedOrders, "mixed_orders", 0.03,
     "{ms} per step is lost in passes over tensors that lie in different orders",
     "{count} kernels a step reading one tensor against its order in memory: {ms}", kWork,
     "keep one order through the model, without .transpose() and .permute() in between ({one_order})", ""},

    {Cause::kLayout, Reason::kPointwiseSeries, "series_convolution_of_size_1", 0.03,
     "{ms} per step goes to passes around convolutions of size 1 whose channels do not lie last",
     "{count} kernels a step changing the order of elements for them, adding their biases, or reading their "
     "results against their order: {ms}",
     kWork,
     "nn.Linear over channels that lie last in the place of nn.Conv1d(kernel_size=1): nothing is transposed "
     "around it, and the product adds the bias",
     "what is a convolution over time still wants time last, or a Conv2d in channels_last"},

    {Cause::kAvoidableTraffic, Reason::kNone, "unfused_traffic", 0.05,
     "{ms} per step goes to memory traffic that fusion would not have",
     "{count} passes a step over data that could stay in registers: {ms}", kWork,
     "torch.compile(model), or the fused operators (F.layer_norm, F.gelu, F.scaled_dot_product_attention)",
     ""},
    {Cause::kAvoidableTraffic, Reason::kChain, "unfused_chain", 0.05,
     "{ms} per step goes to chains of unfused pointwise and normalisation kernels",
     "{count} kernels a step reading again what the kernel before wrote: {ms}", kWork,
     "torch.compile(model): it joins chains of pointwise and normalising kernels into one; by hand: one "
     "fused operator in the place of a formula (F.gelu, nn.LayerNorm, F.cross_entropy, torch.cdist)",
     "", "what the backward pass needs is still written"},
    {Cause::kAvoidableTraffic, Reason::kCast, "lone_casts", 0.03,
     "{ms} per step goes to conversions of type on their own", "{count} conversion kernels a step: {ms}",
     kWork,
     "keep what products read in their type, so that nothing is converted (weights in bf16, their f32 copies "
     "in the optimizer); torch.compile joins conversions with passes next to them, not with products",
     "small updates are lost in bf16: the copies that the optimizer changes stay in f32"},
    {Cause::kAvoidableTraffic, Reason::kOneHot, "one_hot_products", 0.03,
     "{ms} per step goes to looking rows up by a product with rows of one one and many zeros",
     "{count} kernels a step writing, converting and multiplying one-hot rows: {ms} above what a lookup "
     "takes",
     kWork,
     "F.embedding(ids, table) (nn.Embedding, table[ids]) in the place of F.one_hot(ids).to(…) @ table: it "
     "reads the rows that are asked for; sums by number are index_add_",
     ""},
    {Cause::kAvoidableTraffic, Reason::kMergedWeights, "merged_weights", 0.03,
     "{ms} per step goes to putting weights together anew in every call",
     "{count} kernels a step multiplying two narrow matrices and adding the result to a matrix of its size, "
     "which one product reads: {ms}",
     kWork,
     "keep the narrow matrices of an adapter beside the weight: torch.addmm(x @ W.T, x @ A.T, B.T, alpha=s); "
     "or, while none of them changes, add them to the weight once",
     "what is merged once is rounded to the weight's type"},
    {Cause::kAvoidableTraffic, Reason::kWidenedWeights, "widened_weights", 0.03,
     "{ms} per step goes to widening weights of 8 bits in memory before the products that read them",
     "{count} kernels a step converting or scaling weights stored in 8 bits, or reading them widened: {ms} "
     "above what products take that read the bytes",
     kWork,
     "products that read the bytes: torchao's quantize_(model, Int8WeightOnlyConfig()), or "
     "Float8WeightOnlyConfig, with torch.compile(model, mode=\"max-autotune\"); or, if there is memory, "
     "widen the weights once and keep them",
     "kernels over bytes are not equally good for all shapes: compare with weights that are widened once"},
    {Cause::kAvoidableTraffic, Reason::kAccumulation, "many_micro_batches", 0.03,
     "{ms} per step goes to adding up gradients over more micro-batches than need be",
     "{count} sums of gradients a step (AccumulateGrad), each reading and writing a gradient once more: {ms} "
     "of them would not be with half as many micro-batches",
     kWork,
     "fewer and larger micro-batches: half as many, if they fit into memory (torch.utils.checkpoint makes "
     "room)",
     "larger micro-batches take more memory; torch.compile does not reach these sums"},
    {Cause::kAvoidableTraffic, Reason::kRepeatedCast, "repeated_weight_casts", 0.03,
     "{ms} per step goes to converting weights again in every micro-batch",
     "{count} conversions a step of weights that an earlier micro-batch has converted: {ms}", kWork,
     "one torch.autocast region around all micro-batches of a step: it converts each weight once and keeps "
     "the result until the region ends",
     "the converted weights stay in memory for the whole step"},
    {Cause::kAvoidableTraffic, Reason::kAttention, "attention_by_hand", 0.03,
     "{ms} per step goes to the T×T scores of attention written by hand",
     "{count} kernels a step writing and reading the scores: {ms}", kWork,
     "F.scaled_dot_product_attention(q, k, v, is_causal=…): the scores never leave the chip",
     "dropout and masks must be given to the fused operator"},
    {Cause::kAvoidableTraffic, Reason::kBroadcast, "written_broadcasts", 0.03,
     "{ms} per step goes to writing out tensors whose elements are stored once",
     "{count} copies a step writing the same elements again and again: {ms}", kWork,
     "leave tensors expanded, for most operators read broadcasts as they are: no .repeat(), and no "
     ".contiguous(), .clone() or .reshape() behind .expand()",
     "an operator that needs packed input makes the copy itself",
     "of a loss that is only .sum() or .mean() the gradient is one number, written out for the operator "
     "before: another loss has a gradient that is packed"},
    {Cause::kAvoidableTraffic, Reason::kRepeatedHeads, "repeated_heads", 0.02,
     "{ms} per step goes to repeating keys and values for the heads that share them",
     "{count} copies a step writing heads of keys or values once for each head of the queries: {ms}", kWork,
     "F.scaled_dot_product_attention(q, k, v, enable_gqa=True): it reads each head of keys and values as "
     "often as it is needed; no repeat_interleave, no .expand() with .reshape() before it",
     "heads of queries that share keys must follow one another"},
    {Cause::kAvoidableTraffic, Reason::kOptimizer, "unfused_optimizer", 0.03,
     "{ms} per step goes to an optimizer that passes over the parameters many times",
     "{count} kernels a step updating parameters: {ms}, the gaps before them included", kWork,
     "torch.optim.AdamW(…, fused=True): one kernel for all parameters",
     "fused=True wants all parameters on the device"},

    {Cause::kAvoidableTraffic, Reason::kAppend, "append_by_copy", 0.03,
     "{ms} per step goes to copying large tensors in order to append a little",
     "{count} concatenations a step copying a tensor that is nearly all of the result: {ms}", kWork,
     "allocate the whole once and write into it: cache[:, :, n] = new (a static key-value cache), "
     "index_copy_, torch.narrow",
     "what reads the tensor then reads a part of a larger one"},

    {Cause::kKernelInefficiency, Reason::kNone, "kernels_below_roof", 0.10,
     "{ms} per step is lost in kernels that stay below their roof",
     "{count} kernels a step, {ms} above their floors", kWork,
     "torch.compile(mode=\"max-autotune\") tries other kernels for these shapes", ""},
    {Cause::kKernelInefficiency, Reason::kOddSize, "odd_sizes", 0.03,
     "{ms} per step is lost in products whose sizes are no multiples of 8",
     "{count} products a step with a size that matrix units cannot load well: {ms} above their floors", kWork,
     "pad the sizes to multiples of 8 (better 64): hidden width, head size, vocabulary", ""},
    {Cause::kKernelInefficiency, Reason::kSmallGrid, "small_grids", 0.03,
     "{ms} per step is lost in kernels that fill only a part of the device",
     "{count} kernels a step with fewer blocks than the device has multiprocessors: {ms}", kWork,
     "give them more work at once: larger batches; small products joined into one (torch.bmm, grouped GEMM); "
     "for a sum, a norm or a scan over few long rows: more rows, or each row in pieces",
     ""},
    {Cause::kKernelInefficiency, Reason::kProductsInTurn, "products_in_turn", 0.03,
     "{ms} per step is lost in products that a loop does one after another",
     "{count} products a step, each with no more blocks than the device has multiprocessors: {ms} above "
     "their floors",
     kWork,
     "one batched product for all turns: torch.bmm over stacked tensors, a grouped GEMM where their rows "
     "differ in number",
     "what is stacked anew in every step is copied: keep it stacked"},
    {Cause::kKernelInefficiency, Reason::kPatches, "patch_convolutions", 0.03,
     "{ms} per step is lost in convolutions of patches that do not overlap",
     "{count} convolutions a step whose stride is the size of their filter: {ms} above their floors", kWork,
     "cut the image into patches by reshape and permute (or F.unfold) and use nn.Linear: a matrix product",
     ""},
    {Cause::kKernelInefficiency, Reason::kLongKernel, "long_convolution_kernels", 0.03,
     "{ms} per step is lost in convolutions over thousands of taps, done tap by tap",
     "{count} kernels a step convolving with long kernels: {ms} above what Fourier transforms take", kWork,
     "a product of spectra: torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(taps, n), n), n at least "
     "both lengths together, a power of two; or torchaudio.functional.fftconvolve; both want the taps of "
     "conv1d flipped",
     "spectra are in f32 and take several times the memory of the signals"},
    {Cause::kKernelInefficiency, Reason::kDenseMask, "dense_attention_masks", 0.03,
     "{ms} per step goes to attention under a mask that is read from memory",
     "{count} kernels of attention a step reading a mask of queries × keys: {ms} above what the causal "
     "kernel takes",
     kWork,
     "if the mask is the causal one: F.scaled_dot_product_attention(q, k, v, is_causal=True) leaves half of "
     "the work out; other masks: flex_attention",
     "a mask that is not causal must stay"},
    {Cause::kKernelInefficiency, Reason::kScatter, "rows_added_in_turn", 0.03,
     "{ms} per step is lost adding rows up one after another, as the gradient of x[indices] does",
     "{count} kernels a step, {ms} above what good kernels reach", kWork,
     "look rows up with F.embedding or torch.index_select, whose gradients add rows side by side; give rows "
     "that only fill up (padding) no gradient (padding_idx)",
     "what the other gradient takes depends on how often the same row is looked up"},
    {Cause::kKernelInefficiency, Reason::kSlow, "slow_kernels", 0.05,
     "{ms} per step is lost in kernels far below their roof",
     "{count} kernels a step, {ms} above what good kernels reach", kWork,
     "torch.compile(mode=\"max-autotune\") tries other kernels for these shapes",
     "a trace shows that they are slow, not why: counters would"},

    {Cause::kLaunch, Reason::kNone, "slow_launches", 0.05,
     "{ms} per step the device waits because the host cannot launch fast enough",
     "{kernels} kernels and copies a step; before {count} of them the device waits for the launch, {mean} "
     "each (what else it waits for is not in that); it is busy for {busy} of the step",
     "before {name}: {count} gaps, {ms}",
     "torch.compile(model, mode=\"reduce-overhead\") or CUDA graphs: one launch a step; larger batches; "
     "foreach and batched operators instead of Python loops",
     "a graph needs fixed shapes and no reads of device values inside"},
    {Cause::kLaunch, Reason::kLoop, "launches_in_loops", 0.05,
     "{ms} per step the device waits for the launches of a loop",
     "{count} kernels and copies a step launched turn by turn, {mean} of idle device before each",
     "{name}: {count} gaps, {ms}", "{turns}", ""},

    {Cause::kLaunch, Reason::kInGraph, "gaps_in_graphs", 0.05,
     "{ms} per step goes to gaps between kernels that one call launches, as a CUDA graph does",
     "{count} kernels a step that begin {mean} after the one before", "before {name}: {count} gaps, {ms}",
     "fewer and larger kernels: torch.compile joins passes over the same data, larger batches fill each "
     "kernel; "
     "one call launches them already",
     ""},

    {Cause::kHostSync, Reason::kNone, "host_waits", 0.03,
     "{ms} per step the device waits because the host waited for it first",
     "{ms} of idle device while the host waited or had to start again from an empty queue",
     "{name}: {count} waits, {ms}{detail}", "{waits}", "", "a loss that is logged every step is a read, too"},

    {Cause::kHostSync, Reason::kCheck, "host_checks", 0.03,
     "{ms} per step goes to checks of which the host waits for the answer",
     "{ms} in passes over tensors that only make a yes or no (isfinite, isnan, comparisons, all, any), in "
     "waiting for it, and in starting again from an empty queue",
     "{name}: {count} times, {ms}",
     "check in one of many steps, or the loss alone; or leave the answer on the device, gather all of them "
     "there and read them once (torch._assert_async stops the program without a wait)",
     "", "what is found later has been used until then"},

    {Cause::kInput, Reason::kNone, "input_waits", 0.03, "{ms} per step the device waits for input",
     "{ms} in which the host prepared the next batch and the device had nothing to do",
     "{name}: {ms} before the next work",
     "prepare batches ahead, in enough processes: DataLoader(num_workers=…, prefetch_factor=…, "
     "persistent_workers=True, pin_memory=True); or move the preprocessing to the device",
     ""},

    {Cause::kIo, Reason::kNone, "file_waits", 0.03, "{ms} per step the device waits for files",
     "{ms} in reads and writes while the device had nothing to do", "{name}: {ms}", "{files}", ""},

    {Cause::kHostCopy, Reason::kNone, "exposed_copies", 0.03,
     "{ms} per step is spent on copies between host and device that nothing hides",
     "{ms} in which the device only copied, or waited for a copy", "{name}: {times}{detail}", "{copies}",
     "a copy whose result is used at once cannot be hidden, only made smaller"},

    {Cause::kHostCopy, Reason::kLoop, "copies_in_loops", 0.03,
     "{ms} per step goes to many small copies to the device, one after another",
     "{ms} of idle device before and during copies that a loop makes", "{name}: {ms}",
     "collect them on the host into one tensor in pinned memory, copy that once with "
     ".to(device, non_blocking=True) and split it on the device; let the DataLoader collate",
     ""},

    {Cause::kAllocator, Reason::kNone, "allocator_waits", 0.02,
     "{ms} per step the device waits for memory to be taken or given back",
     "{ms} in cudaMalloc and cudaFree while the device had nothing to do", "{name}: {ms}, {count} times",
     "remove torch.cuda.empty_cache() and memory of one's own (cudaMalloc in an extension) from the step; "
     "keep shapes fixed, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     "where memory itself is short, only needing less of it helps: smaller batches",
     "activation checkpointing needs less"},

    {Cause::kCompile, Reason::kNone, "compilation_waits", 0.03,
     "{ms} per step the device waits for the compiler",
     "{ms} of compilation while the device had nothing to do", "{name}: {ms}",
     "each new shape, and each new value of a Python number, compiles again: pad inputs to a few "
     "fixed shapes or use torch.compile(dynamic=True), and pass numbers that change as tensors; "
     "TORCH_LOGS=recompiles names the reason",
     "the first steps always compile: record later ones"},

    {Cause::kHostOther, Reason::kNone, "host_work", 0.05,
     "{ms} per step the device waits for work of the host",
     "{ms} in which the host neither launched nor waited, in code that the trace does not name or in the "
     "calls "
     "named here",
     "{name}: {ms}",
     "take this work out of the loop or do it less often; or do it while the device works, behind the "
     "launches "
     "of the next step, in another thread or process; record with with_stack=True to see which code it is",
     "an operator that takes long on the host in some calls only prepares itself for sizes that it has not "
     "seen: pad "
     "inputs to a few sizes"},

    {Cause::kComm, Reason::kNone, "exposed_communication", 0.05,
     "{ms} per step is communication that nothing hides",
     "{ms} in collectives, and before their launches, while the device computed nothing",
     "{name}: {times}{detail}", "{exchange}", "what nothing follows cannot be hidden"},
    {Cause::kComm, Reason::kRepeated, "repeated_reductions", 0.03,
     "{ms} per step goes to reducing gradients that are reduced again before they are used",
     "{count} works a step reducing gradients, or scaling them for that, before the last reduction of equal "
     "sizes; one optimizer step follows them all",
     kWork,
     "accumulate under model.no_sync() and reduce only in the last micro-batch "
     "(set_requires_gradient_sync(False) with FSDP2)",
     "gradients are kept unreduced between micro-batches: with sharded gradients that takes memory"},
    {Cause::kComm, Reason::kWideSum, "wide_sums", 0.03,
     "{ms} per step goes to sums over ranks in f32 of tensors that are in 16 bits before and after",
     "{count} works a step converting to f32, summing and converting back", kWork,
     "reduce in bf16: no .float() before all_reduce, reduce_dtype=torch.bfloat16 with FSDP2, "
     "bf16_compress_hook with "
     "DistributedDataParallel",
     "sums in bf16 are less exact: compare the {outcome}"},
    {Cause::kComm, Reason::kWholeGather, "whole_gathers", 0.03,
     "{ms} per step goes to gathering from all ranks what is reduced right after",
     "{count} works a step gathering whole tensors and reducing them", kWork,
     "reduce on each rank first (mean, argmax, sum), then gather what is left", ""},
    {Cause::kComm, Reason::kRepeatedGather, "repeated_weight_gathers", 0.03,
     "{ms} per step goes to gathering weights again that nothing has changed",
     "{count} works a step gathering weights that the same step has gathered before, without an update in "
     "between, or packing and unpacking them",
     kWork,
     "gather the weights once and keep them until the last token or batch is done: with FSDP2 "
     "model.set_reshard_after_forward(False) before it and .reshard() of each sharded module after it, with "
     "FSDP1 ShardingStrategy.SHARD_GRAD_OP, with DeepSpeed "
     "deepspeed.zero.GatheredParameters(model.parameters()) around it",
     "meanwhile each device holds the weights of the whole model: that memory must be free; several models "
     "of one shape, called in turn, look the same in a trace"},
    {Cause::kStraggler, Reason::kNone, "late_rank", 0.05, "{ms} per step is spent waiting for rank {rank}",
     "rank {rank} arrives last at the collectives; meanwhile {doing}", "{name}: {ms} of waiting",
     "make rank {rank} as fast as the others: {remedy}", ""},
    {Cause::kBubble, Reason::kNone, "pipeline_bubble", 0.05, "{ms} per step is pipeline bubble",
     "{ms} in which a stage waited for the stage before or after it", "{name}: {ms} of waiting",
     "split the batch into {micro_batches}, or use a 1F1B or interleaved schedule",
     "more micro-batches make smaller products"},
    {Cause::kBubble, Reason::kOtherDevice, "devices_in_turn", 0.05,
     "{ms} per step this device waits while another device of the same process works",
     "{ms} in which work was launched and waited for another device",
     "before {name}: {count} × {mean} = {ms}",
     "drive each device by a process of its own (DistributedDataParallel instead of nn.DataParallel); if the "
     "model is split over the devices, split the batch into micro-batches (torch.distributed.pipelining)",
     "a device that waits for another's result waits as long in any process: micro-batches overlap them"},
};

constexpr bool in_order() {
  for (std::size_t i = 1; i < std::size(kRules); ++i)
    if (kRules[i].cause < kRules[i - 1].cause) return false;
  return true;
}
static_assert(in_order(), "kRules must stand in the order of Cause");

}  // namespace

bool blocks_capture(Cause cause) {
  constexpr Cause kBlocks[] = {Cause::kHostSync,  Cause::kInput,   Cause::kIo,   Cause::kHostCopy,
                               Cause::kAllocator, Cause::kCompile, Cause::kComm, Cause::kStraggler};
  return std::find(std::begin(kBlocks), std::end(kBlocks), cause) != std::end(kBlocks);
}

std::span<const DeviceRule> device_rules() { return kRules; }

const DeviceRule& device_rule(Cause cause, Reason reason) {
  const DeviceRule* general = &kRules[0];
  for (const DeviceRule& rule : kRules) {
    if (rule.cause != cause) continue;
    if (rule.reason == reason) return rule;
    if (rule.reason == Reason::kNone) general = &rule;
  }
  return *general;
}

}  // namespace hone::analyze::device
