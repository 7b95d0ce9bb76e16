// Bytes that fusion, or another way to compute the same, would not move.
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kTrafficRules[] = {
    {.rule = Rule::kUnfusedTraffic,
     .id = "unfused_traffic",
     .cause = Cause::kAvoidableTraffic,
     .gain = GainModel::kWorks,
     .threshold = 0.05,
     .title = "{ms} per step goes to memory traffic that fusion would avoid",
     .summary = "{count:passes} a step over data that could stay in registers: {ms}",
     .item = kWorkItem,
     .fix =
         {.pytorch = "use torch.compile(model), or the fused operators (F.layer_norm, F.gelu, "
                     "F.scaled_dot_product_attention)",
          .jax =
              "put jax.jit around the whole step: XLA joins passes over memory in what it compiles at once",
          .tensorflow =
              "use tf.function(jit_compile=True): it joins passes over memory in what it compiles at once",
          .hone = kFuseWithHone,
          .native = "join these passes into one kernel"},
     .changes = {"compile"},
     .effort = Effort::kSetting},
    {.rule = Rule::kUnfusedChain,
     .id = "unfused_chain",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kJoinedPasses,
     .gain = GainModel::kWorks,
     .threshold = 0.05,
     .title = "{ms} per step goes to chains of unfused pointwise and normalisation kernels",
     .summary = "{count:kernels} a step reading again what the kernel before them wrote: {ms}",
     .item = kWorkItem,
     .word = "reads again what the kernel before it wrote, which fusion would avoid",
     .fix = {.pytorch = "use torch.compile(model): it joins chains of pointwise and normalising kernels into "
                        "one; by hand, use one fused operator instead of a formula (F.gelu, nn.LayerNorm, "
                        "F.cross_entropy, torch.cdist)",
             .jax =
                 "put jax.jit around the whole step: XLA joins chains of pointwise and normalising operators",
             .tensorflow = "use tf.function(jit_compile=True): it joins chains of pointwise and normalising "
                           "kernels into one",
             .hone = kFuseWithHone,
             .native =
                 "write a chain of pointwise and normalising passes as one kernel, or as one graph of cuDNN"},
     .training_caveat = "what the backward pass needs is still written",
     .changes = {"compile"},
     .effort = Effort::kSetting},
    {.rule = Rule::kLoneCasts,
     .id = "lone_casts",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kJoinedPasses,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to type conversions on their own",
     .summary = "{count:conversion kernels} a step: {ms}",
     .item = kWorkItem,
     .word = "only converts the type",
     .fix = {.pytorch = "keep what products read in their type, so that nothing is converted{masters}; "
                        "torch.compile joins conversions with "
                        "passes next to them, not with products",
             .jax = "keep what products read in their type{masters}, so that nothing is converted",
             .hone = kFuseWithHone,
             .native =
                 "convert in the kernel that writes the tensor, or keep it in the type that products read"},
     .training_caveat = "small updates are lost in bf16: the copies that the optimizer changes stay in f32",
     .changes = {"compile"}},
    {.rule = Rule::kOneHotProducts,
     .id = "one_hot_products",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kMadeForAProduct,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to table lookups done as products with one-hot rows",
     .summary = "{count:kernels} a step writing, converting and multiplying one-hot rows: {ms} above what a "
                "lookup takes",
     .item = kWorkItem,
     .word = "writes or multiplies one-hot rows; a lookup reads only the rows asked for",
     .fix = {.pytorch =
                 "use F.embedding(ids, table) (nn.Embedding, table[ids]) instead of F.one_hot(ids).to(…) @ "
                 "table: it reads only the rows that are asked for; for sums by number use index_add_",
             .jax = "use table[ids] (jnp.take) instead of jax.nn.one_hot(ids, n) @ table; for sums by number "
                    "use jax.ops.segment_sum",
             .native = "gather the rows that are asked for; for sums by number, add rows up"}},
    {.rule = Rule::kMergedWeights,
     .id = "merged_weights",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kMadeForAProduct,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to merging weights again in every call",
     .summary = "{count:kernels} a step multiplying two narrow matrices and adding the result to a matrix of "
                "its size, which one product reads: {ms}",
     .item = kWorkItem,
     .word = "puts a weight together anew for one product",
     .fix = {.pytorch = "keep the narrow matrices of an adapter beside the weight: torch.addmm(x @ W.T, x @ "
                        "A.T, B.T, alpha=s); or, while none of them changes, add them to the weight once",
             .jax = "keep the narrow matrices of an adapter beside the weight: x @ W + (x @ A) @ B; or, "
                    "while none of them changes, add them to the weight once",
             .native = "keep the narrow matrices beside the weight and multiply by them in turn; or, while "
                       "none of them changes, add them to the weight once"},
     .caveat = {.native = "a weight that is merged once is rounded to its own type"}},
    {.rule = Rule::kWidenedWeights,
     .id = "widened_weights",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kMadeForAProduct,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to widening weights of 8 bits in memory before the products that read them",
     .summary = "{count:kernels} a step converting or scaling weights stored in 8 bits, or reading them "
                "widened: {ms} more than products take that read the bytes",
     .item = kWorkItem,
     .word = "widens a weight stored in 8 bits, or reads it widened; a product can read the bytes",
     .fix = {.pytorch =
                 "use products that read the bytes: torchao's quantize_(model, Int8WeightOnlyConfig()), or "
                 "Float8WeightOnlyConfig, with torch.compile(model, mode=\"max-autotune\"); or, if there is "
                 "memory, widen the weights once and keep them",
             .jax = "use products that read the bytes (lax.dot_general over int8 or float8 operands); or, if "
                    "there is memory, widen the weights once and keep them",
             .hone = "widen the weights once, before the first step, or keep them in 8 bits up to products "
                     "that read the bytes",
             .native = "use products that read the bytes (cublasLtMatmul over 8 bits, a mixed-input GEMM of "
                       "CUTLASS); or, if there is memory, widen the weights once and keep them"},
     .caveat = {.native =
                    "kernels over bytes are not equally good for all shapes: compare with weights that are "
                    "widened once"}},
    {.rule = Rule::kWrittenMessages,
     .id = "written_messages",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kOneKernelForMany,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to writing out rows for every edge of a graph before they are added up",
     .summary =
         "{count:kernels} a step looking rows up and scaling them for a sum that could read them where "
         "they are: {ms}",
     .item = kWorkItem,
     .word = "writes rows out that the sum after it could look up itself",
     .fix = {.pytorch =
                 "let one kernel look up, scale and add the rows: torch.compile(model); or multiply by "
                 "the graph as a sparse matrix in CSR (adj @ x with adj.to_sparse_csr(); in "
                 "torch_geometric give layers adj_t of ToSparseTensor, or that matrix, for edge_index)",
             .jax = "put jax.jit around the whole step, so that rows are looked up where they are added; or "
                    "multiply by the graph as a sparse matrix (jax.experimental.sparse)",
             .tensorflow = "multiply by the graph as a sparse matrix (tf.sparse.sparse_dense_matmul), which "
                           "looks rows up where it adds them",
             .hone = kFuseWithHone,
             .native =
                 "multiply by the graph as a sparse matrix (cusparseSpMM), which looks rows up where it "
                 "adds them"},
     .caveat = {.native = "the gain is that of a sum which takes as long as now; of a graph that stays, make "
                          "the matrix once, before the first step"},
     .changes = {"compile"},
     .effort = Effort::kSetting},
    {.rule = Rule::kManyMicroBatches,
     .id = "many_micro_batches",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kMicroBatches,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to accumulating gradients over more micro-batches than necessary",
     .summary = "{count:sums} of gradients a step, each reading and writing a gradient once more: {ms} of "
                "them would go with half as many micro-batches",
     .item = kWorkItem,
     .word = "adds up gradients over micro-batches; fewer of them need fewer sums",
     .fix = {.pytorch = "use fewer and larger micro-batches: half as many, if they fit into memory "
                        "(torch.utils.checkpoint makes room)",
             .jax = "use fewer and larger micro-batches: half as many, if they fit into memory "
                    "(jax.checkpoint makes room)",
             .native = "use fewer and larger micro-batches: half as many, if they fit into memory"},
     .caveat = {.pytorch = "larger micro-batches take more memory; torch.compile does not reach these sums",
                .native = "larger micro-batches take more memory"}},
    {.rule = Rule::kRepeatedWeightCasts,
     .id = "repeated_weight_casts",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kMicroBatches,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to converting weights again in every micro-batch",
     .summary = "{count:conversions} a step of weights that an earlier micro-batch has converted: {ms}",
     .item = kWorkItem,
     .word = "converts a weight that an earlier micro-batch of the step has converted",
     .fix = {.pytorch = "put one torch.autocast region around all micro-batches of a step: it converts each "
                        "weight once and keeps the result until the region ends",
             .jax = "convert the weights once a step, outside the lax.scan over micro-batches",
             .native = "convert the weights once a step, before its first micro-batch"},
     .caveat = {.native = "the converted weights stay in memory for the whole step"}},
    {.rule = Rule::kAttentionByHand,
     .id = "attention_by_hand",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kOneKernelForMany,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to the T×T scores of attention written by hand",
     .summary = "{count:kernels} a step writing and reading the scores: {ms}",
     .item = kWorkItem,
     .word = "passes over the T×T scores of attention, which a fused kernel keeps on the chip",
     .fix =
         {.pytorch =
              "use F.scaled_dot_product_attention(q, k, v, is_causal=…): the scores never leave the chip",
          .jax = "use jax.nn.dot_product_attention(q, k, v, is_causal=…, implementation=\"cudnn\"): the "
                 "scores never leave the chip",
          .native =
              "use cuDNN's scaled dot-product attention or FlashAttention: the scores never leave the chip"},
     .caveat = {.native = "pass dropout and masks to the fused operator"}},
    {.rule = Rule::kWrittenBroadcasts,
     .id = "written_broadcasts",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to writing out tensors whose elements are stored only once",
     .summary = "{count:copies} a step writing the same elements again and again: {ms}",
     .item = kWorkItem,
     .word = "writes many times what is stored once",
     .fix = {.pytorch = "leave tensors expanded: most operators read broadcasts as they are; no .repeat(), "
                        "and no .contiguous(), .clone() or .reshape() after .expand()",
             .jax = "leave arrays broadcast: no jnp.tile, jnp.repeat or jnp.broadcast_to before operators "
                    "that broadcast",
             .native = "read what is stored once with a stride of 0 instead of writing it out"},
     .caveat = {.native = "an operator that needs packed input makes the copy itself"},
     .training_caveat = "the gradient of a loss that is only a sum or a mean is one number, written out for "
                        "the operator before it; other losses have packed gradients",
     .changes = {"compile"}},
    {.rule = Rule::kRepeatedHeads,
     .id = "repeated_heads",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kRepeatedHeads,
     .gain = GainModel::kWorks,
     .threshold = 0.02,
     .title = "{ms} per step goes to repeating keys and values for the heads that share them",
     .summary = "{count:copies} a step writing each head of keys or values once for every head of queries "
                "that shares it: {ms}",
     .item = kWorkItem,
     .word = "writes heads of keys or values once for each head of queries; grouped-query attention need not",
     .fix = {.pytorch = "use F.scaled_dot_product_attention(q, k, v, enable_gqa=True): it reads each head of "
                        "keys and values as often as it is needed; leave out repeat_interleave, or .expand() "
                        "with .reshape(), before it",
             .jax = "call jax.nn.dot_product_attention with fewer heads of keys and values than of queries, "
                    "without jnp.repeat before it",
             .native = "use a kernel of grouped-query attention (cuDNN, FlashAttention): it reads each head "
                       "of keys and values as often as it is needed"},
     .caveat = {.native = "heads of queries that share keys must lie next to each other"}},
    {.rule = Rule::kUnfusedOptimizer,
     .id = "unfused_optimizer",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kOneKernelForMany,
     .scope = Scope::kWithGaps,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to an optimizer that passes over the parameters many times",
     .summary = "{count:kernels} a step updating parameters: {ms}, including the gaps before them",
     .item = kWorkItem,
     .word = "one of many passes over the parameters; a fused optimizer makes one",
     .fix = {.pytorch = "{optimizer}",
             .jax = "put jax.jit around the whole update, with its state in donate_argnums",
             .native = "update all parameters in one kernel (multi-tensor apply)"},
     .caveat = {.pytorch = "fused steps want all parameters on the device"},
     .changes = {"fused_optimizer"},
     .effort = Effort::kSetting},
    {.rule = Rule::kAppendByCopy,
     .id = "append_by_copy",
     .cause = Cause::kAvoidableTraffic,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to copying large tensors in order to append a little",
     .summary = "{count:concatenations} a step copying a tensor that is nearly all of the result: {ms}",
     .item = kWorkItem,
     .word = "copies all of the first tensor to put a little after it",
     .fix = {.pytorch = "allocate the whole once and write into it: cache[:, :, n] = new (a static key-value "
                        "cache), index_copy_, torch.narrow",
             .jax = "allocate the whole once and write into it: lax.dynamic_update_slice on a donated array",
             .native = "allocate the whole once and write after what is there"},
     .caveat = {.native = "what reads the tensor then reads part of a larger one"}},
};

}  // namespace

std::span<const DeviceRule> traffic_rules() { return kTrafficRules; }

}  // namespace hone::analyze::device
