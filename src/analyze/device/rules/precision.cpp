// Arithmetic: what the hardware needs, and what a wider type than necessary costs on top.
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kPrecisionRules[] = {
    {.rule = Rule::kFloor,
     .id = "floor",
     .cause = Cause::kFloor,
     .gain = GainModel::kNone,
     .threshold = 1.0,
     .title = "{share} of the step is what this device needs for the arithmetic and the compulsory bytes",
     .summary = "{ms} at the roofs of the device",
     .item = "{name}: {ms}"},
    {.rule = Rule::kWideArithmetic,
     .id = "wide_arithmetic",
     .cause = Cause::kPrecision,
     .gain = GainModel::kWorks,
     .threshold = 0.05,
     .title = "{ms} per step goes to arithmetic in a wider type than it needs",
     .summary = "{count:kernels}, {ms} above what they would take on matrix units",
     .item = kWorkItem,
     .fix = {.pytorch = "run these products in bf16 (torch.autocast) or tf32 "
                        "(torch.set_float32_matmul_precision(\"high\"))",
             .jax = "compute in bf16: arrays of jnp.bfloat16, or a precision policy of the model "
                    "(dtype=jnp.bfloat16)",
             .tensorflow = "compute in bf16: tf.keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")",
             .hone = "run these products in a narrower type (--lossy)",
             .native = "give these products operands in bf16, or allow tf32 for those in f32 "
                       "(CUBLAS_COMPUTE_32F_FAST_TF32)"},
     .caveat = {.native = "changes the numbers: compare the {outcome}"},
     .changes = {"autocast_bf16"},
     .effort = Effort::kSetting},
    {.rule = Rule::kF32WithoutMatrixUnits,
     .id = "f32_without_matrix_units",
     .cause = Cause::kPrecision,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.05,
     .title = "{ms} per step goes to f32 products that do not use the matrix units",
     .summary = "{count:f32 products} a step without tensor cores: {ms} above what tf32 would take",
     .item = kWorkItem,
     .word = "runs in f32 without tensor cores: tf32 or bf16 would use them",
     .fix = {.pytorch = "allow tf32: torch.set_float32_matmul_precision(\"high\") for matrix products, "
                        "torch.backends.cudnn.allow_tf32 = True for convolutions; or put the forward pass "
                        "under torch.autocast(\"cuda\", dtype=torch.bfloat16)",
             .jax = "allow tf32 (no precision \"highest\", and autotuning on: "
                    "XLA_FLAGS=--xla_gpu_autotune_level=4), or give these products operands in jnp.bfloat16",
             .tensorflow = "allow tf32 (tf.config.experimental.enable_tensor_float_32_execution(True)), or "
                           "compute in bf16: tf.keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")",
             .hone = "run these products in a narrower type (--lossy)",
             .native =
                 "allow tf32: CUBLAS_COMPUTE_32F_FAST_TF32 for matrix products, "
                 "CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION for convolutions; or give them operands in bf16"},
     .caveat = {.native =
                    "tf32 keeps 11 bits of the mantissa, bf16 keeps 8, f32 has 24: compare the {outcome}"},
     .changes = {"autocast_bf16"},
     .effort = Effort::kSetting},
    {.rule = Rule::kTf32Products,
     .id = "tf32_products",
     .cause = Cause::kPrecision,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.05,
     .title = "{ms} per step goes to products in tf32 that bf16 would do in half the time",
     .summary = "{count:products and attentions} a step in tf32: {ms} above what bf16 would take",
     .item = kWorkItem,
     .word = "computes in tf32: bf16 would take half",
     .fix =
         {.pytorch = "put the forward pass under torch.autocast(\"cuda\", dtype=torch.bfloat16): products, "
                     "convolutions and attention then run in bf16, and the weights stay in f32",
          .jax = "compute the products in jnp.bfloat16 and keep the weights in f32 (Flax: "
                 "dtype=jnp.bfloat16, param_dtype=jnp.float32)",
          .tensorflow = "compute the products in bf16 and keep the weights in f32: "
                        "tf.keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")",
          .hone = "run these products in a narrower type (--lossy)",
          .native =
              "give these products operands in bf16 (CUDA_R_16BF) and sum in f32; the weights stay in f32"},
     .caveat = {.native = "bf16 keeps 8 bits of the mantissa, tf32 keeps 11: compare the {outcome}"},
     .changes = {"autocast_bf16"},
     .effort = Effort::kSetting,
     .adds_casts = true},
    {.rule = Rule::kF32Among16Bits,
     .id = "f32_among_16_bits",
     .cause = Cause::kPrecision,
     .precedence = Precedence::kWidthOfProducts,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to f32 products in a program that computes in 16 bits",
     .summary = "{count:f32 products} a step without tensor cores: {ms} above what bf16 would take",
     .item = kWorkItem,
     .word = "runs in f32 without tensor cores, while other products run in 16 bits",
     .word_of_others = "converts for a product in f32, while other products run in 16 bits",
     .fix = {.pytorch = "find where f32 enters (.float(), a buffer or a bias in f32, a region with autocast "
                        "off) and keep these products in bf16",
             .jax = "find where f32 enters (a constant or a layer in f32, preferred_element_type) and keep "
                    "these products in bf16",
             .tensorflow = "find where f32 enters (a layer with dtype=\"float32\", tf.cast) and keep these "
                           "products in bf16",
             .hone = "run these products in a narrower type (--lossy)",
             .native = "find which operands are still in f32 and keep these products in bf16"},
     .caveat = {.native = "sums and exponentials need f32, products seldom do: compare the {outcome}"},
     .changes = {"autocast_bf16"}},
    {.rule = Rule::kF64Arithmetic,
     .id = "f64_arithmetic",
     .cause = Cause::kPrecision,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to arithmetic in f64",
     .summary = "{count:kernels} a step in f64, {ms} above what f32 would take",
     .item = kWorkItem,
     .word = "computes in f64",
     .fix =
         {.pytorch = "find where f64 enters (numpy arrays are f64 by default; a Python scalar does not "
                     "widen) and convert there: .float(), dtype=torch.float32",
          .jax = "find where f64 enters (jax_enable_x64 with numpy arrays, which are f64 by default) and use "
                 "dtype=jnp.float32 there",
          .tensorflow = "find where f64 enters (numpy arrays are f64 by default) and convert there: "
                        "tf.cast(x, tf.float32)",
          .hone = "run these products in a narrower type (--lossy)",
          .native =
              "find where double enters (literals without f, arguments of type double) and compute in float"},
     .caveat = {.native = "keep f64 where the mathematics needs it"}},
};

}  // namespace

std::span<const DeviceRule> precision_rules() { return kPrecisionRules; }

}  // namespace hone::analyze::device
