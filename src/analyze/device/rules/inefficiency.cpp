// Kernels below their own roof.
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kInefficiencyRules[] = {
    {.rule = Rule::kKernelsBelowRoof,
     .id = "kernels_below_roof",
     .cause = Cause::kKernelInefficiency,
     .gain = GainModel::kWorks,
     .threshold = 0.10,
     .title = "{ms} per step is lost in kernels that stay below their roof",
     .summary = "{count:kernels} a step, {ms} above their floors",
     .item = kWorkItem,
     .fix = {.pytorch =
                 "try torch.compile(mode=\"max-autotune\"), which compares other kernels for these shapes",
             .jax = "set XLA_FLAGS=--xla_gpu_autotune_level=4, which compares other kernels for these shapes",
             .tensorflow = "try tf.function(jit_compile=True), which compares other kernels for these shapes",
             .hone = kOtherKernelsOfHone,
             .native = "try other algorithms for these shapes (cublasLtMatmulAlgoGetHeuristic, the "
                       "heuristics of cuDNN)"},
     .changes = {"compile_max_autotune", "cudnn_benchmark", "larger_batch"},
     .effort = Effort::kSetting},
    {.rule = Rule::kUnjudgedWork,
     .id = "unjudged_work",
     .cause = Cause::kUnjudged,
     .gain = GainModel::kNone,
     .threshold = 1.0,
     .title = "{ms} per step goes to kernels of which it is not known what they need",
     .summary = "{count:kernels} a step whose FLOPs and bytes are not known: not judged",
     .item = kWorkItem},
    {.rule = Rule::kFewBlocks,
     .id = "few_blocks",
     .cause = Cause::kUnjudged,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kUnknown,
     .threshold = 0.03,
     .title = "{ms} per step goes to long kernels of so few blocks that most of the device is idle",
     .summary = "{count:kernels} a step with blocks for less than an eighth of the multiprocessors: {ms}; "
                "their FLOPs "
                "and bytes are not known",
     .item = kWorkItem,
     .word = "leaves most of the device idle: it has few blocks",
     .fix = {.native =
                 "look for another implementation of it, or leave it: no remedy is known that was seen to "
                 "help"}},
    {.rule = Rule::kGroupedConvolutions,
     .id = "grouped_convolutions",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kUnknown,
     .threshold = 0.03,
     .title = "{ms} per step is lost in grouped convolutions far below their roof",
     .summary = "{count:kernels} a step of convolutions whose channels are divided into groups: {ms} above "
                "their floors",
     .item = kWorkItem,
     .word = "a grouped convolution, far below its roof",
     .fix = {.native =
                 "leave them, or measure the same model without groups: no remedy is known that was seen to "
                 "help; larger batches and a search for other kernels were seen not to"},
     .effort = Effort::kModel},
    {.rule = Rule::kOddSizes,
     .id = "odd_sizes",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in products whose sizes are not multiples of 8",
     .summary =
         "{count:products} a step with a size that matrix units cannot load well, of elements that lie next "
         "to each other: {ms} above their floors",
     .item = kWorkItem,
     .word = "a size is not a multiple of 8, so matrix units cannot load it well",
     .fix = {.native = "pad the sizes to multiples of 8 (better 64): hidden width, head size, vocabulary"},
     .effort = Effort::kModel},
    {.rule = Rule::kSmallGrids,
     .id = "small_grids",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in kernels that fill only a part of the device",
     .summary = "{count:kernels} a step with fewer blocks than the device has multiprocessors: {ms}",
     .item = kWorkItem,
     .word = "has fewer blocks than the device has multiprocessors",
     .fix =
         {.pytorch =
              "give each more blocks: for a sum, a norm or a scan over few long rows, each row in pieces (a "
              "partial result of each piece, then of these); small products joined into one (torch.bmm, "
              "grouped GEMM)",
          .jax = "give each more blocks: for a sum, a norm or a scan over few long rows, each row in pieces; "
                 "small "
                 "products joined into one (jax.vmap)",
          .tensorflow =
              "give each more blocks: for a sum, a norm or a scan over few long rows, each row in pieces; "
              "small products joined into one (tf.einsum, tf.vectorized_map)",
          .native =
              "give each more blocks: for a sum, a norm or a scan over few long rows, each row in pieces; "
              "small products joined into one (batched or grouped GEMM)"}},
    {.rule = Rule::kProductsInTurn,
     .id = "products_in_turn",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kProductsInTurn,
     .whole = true,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in products that a loop does one after another",
     .summary = "{count:products} a step, each with no more blocks than the device has multiprocessors: {ms} "
                "above their floors",
     .item = kWorkItem,
     .word = "one of many in a loop, each of which fills the device at most once",
     .fix = {.pytorch = "do all turns in one batched product: torch.bmm over stacked tensors, or a grouped "
                        "GEMM where their numbers of rows differ",
             .jax = "do all turns in one batched product: jax.vmap over stacked arrays, or lax.ragged_dot "
                    "where their numbers of rows differ",
             .tensorflow = "do all turns in one batched product: tf.matmul over stacked tensors",
             .hone = "join the products of the loop into one batched MatMul of the model",
             .native = "do all turns in one batched product (cublasGemmStridedBatchedEx), or in a grouped "
                       "GEMM where their numbers of rows differ"},
     .caveat = {.native = "tensors stacked in every step are copied each time: keep them stacked"}},
    {.rule = Rule::kPatchConvolutions,
     .id = "patch_convolutions",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in convolutions of patches that do not overlap",
     .summary =
         "{count:convolutions} a step whose stride is the size of their filter: {ms} above their floors",
     .item = kWorkItem,
     .word = "convolves patches that do not overlap; a matrix product would do",
     .fix =
         {.pytorch = "cut the image into patches by reshape and permute (or F.unfold) and use nn.Linear: a "
                     "matrix product",
          .jax =
              "cut the image into patches by reshape and transpose and use a dense layer: a matrix product",
          .native = "cut the image into patches and use a matrix product"},
     .effort = Effort::kModel},
    {.rule = Rule::kLongConvolutionKernels,
     .id = "long_convolution_kernels",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kOtherAlgorithm,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in convolutions over thousands of taps, done tap by tap",
     .summary =
         "{count:kernels} a step convolving with long kernels: {ms} above what Fourier transforms take",
     .item = kWorkItem,
     .word = "multiplies tap by tap; a product of spectra has far less to do",
     .fix = {.pytorch = "multiply spectra: torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(taps, n), "
                        "n), with n a power of two and no less than both lengths together; or use "
                        "torchaudio.functional.fftconvolve; both want the taps of conv1d flipped",
             .jax = "multiply spectra: jax.scipy.signal.fftconvolve",
             .native =
                 "multiply spectra (cuFFT), padded to a power of two no less than both lengths together"},
     .caveat = {.native = "spectra are in f32 and take several times the memory of the signals"},
     .effort = Effort::kModel},
    {.rule = Rule::kDenseAttentionMasks,
     .id = "dense_attention_masks",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to attention under a mask that is read from memory",
     .summary = "{count:kernels} of attention a step reading a mask of queries × keys: {ms} above what the "
                "causal kernel takes",
     .item = kWorkItem,
     .word = "reads a mask of queries × keys; a causal kernel leaves half of the work out",
     .fix = {.pytorch = "use F.scaled_dot_product_attention(q, k, v, is_causal=True) if the mask is the "
                        "causal one: it leaves half of the work out; for other masks, use flex_attention",
             .jax = "use jax.nn.dot_product_attention(q, k, v, is_causal=True) if the mask is the causal "
                    "one: it leaves half of the work out",
             .native = "use the causal form of the kernel if the mask is the causal one: it leaves half of "
                       "the work out"},
     .caveat = {.native = "a mask that is not causal must stay"}},
    {.rule = Rule::kRowsAddedInTurn,
     .id = "rows_added_in_turn",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost adding rows one after another, as the gradient of x[indices] does",
     .summary = "{count:kernels} a step, {ms} above what good kernels reach",
     .item = kWorkItem,
     .word = "adds rows one after another",
     .fix = {.pytorch = "look rows up with F.embedding or torch.index_select, whose gradients add rows side "
                        "by side; give rows that only fill up (padding) no gradient (padding_idx)",
             .jax = "sort rows by index: jax.ops.segment_sum(…, indices_are_sorted=True) adds those of one "
                    "index side by side",
             .native = "sort rows by index, so that those of one index are added side by side; leave rows "
                       "out that only fill up (padding)"},
     .caveat = {.native =
                    "how long the other gradient takes depends on how often the same row is looked up"}},
    {.rule = Rule::kSlowKernels,
     .id = "slow_kernels",
     .cause = Cause::kKernelInefficiency,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.05,
     .title = "{ms} per step is lost in kernels far below their roof",
     .summary = "{count:kernels} a step, {ms} above what good kernels reach",
     .item = kWorkItem,
     .word = "far below its roof",
     .fix = {.pytorch =
                 "try torch.compile(mode=\"max-autotune\"), which compares other kernels for these shapes",
             .jax = "set XLA_FLAGS=--xla_gpu_autotune_level=4, which compares other kernels for these shapes",
             .tensorflow = "try tf.function(jit_compile=True), which compares other kernels for these shapes",
             .hone = kOtherKernelsOfHone,
             .native = "try other algorithms for these shapes (cublasLtMatmulAlgoGetHeuristic, the "
                       "heuristics of cuDNN)"},
     .caveat = {.native = "a trace shows that they are slow but not why; hardware counters would"},
     .changes = {"compile_max_autotune", "cudnn_benchmark"},
     .effort = Effort::kSetting},
};

}  // namespace

std::span<const DeviceRule> inefficiency_rules() { return kInefficiencyRules; }

}  // namespace hone::analyze::device
