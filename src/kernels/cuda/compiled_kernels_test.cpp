// What NVRTC makes of generated attentions, gathers, reductions, poolings and resizes for each architecture: no spills, no local memory. What
// they compute is tested where nodes are lowered to them (runtime/cuda/generated_kernels_test.cpp).
#include "cuda/testing/real_nvrtc.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/axis_softmax.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/contraction.h"
#include "kernels/cuda/cross_entropy.h"
#include "kernels/cuda/dependent_launch.h"
#include "kernels/cuda/depthwise.h"
#include "kernels/cuda/element_choice.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/gemv.h"
#include "kernels/cuda/integer_product.h"
#include "kernels/cuda/layer_norm_gradient.h"
#include "kernels/cuda/non_max_suppression.h"
#include "kernels/cuda/optimizer.h"
#include "kernels/cuda/pad.h"
#include "kernels/cuda/pooling.h"
#include "kernels/cuda/pooling_gradient.h"
#include "kernels/cuda/quantize.h"
#include "kernels/cuda/random.h"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/resize.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/scan.h"
#include "kernels/cuda/scatter_reduce.h"
#include "kernels/cuda/square_sum.h"
#include "kernels/cuda/testing/host_kernels.h"
#include "kernels/cuda/top_k.h"

namespace hone::kernels::gpu {
namespace {

constexpr std::array kFloats = {DType::kF32, DType::kF16, DType::kBF16};

struct NamedSource {
  std::string name, text;
  std::vector<std::string> entries;
};

void add_gathers(std::vector<NamedSource>& sources) {
  for (const std::size_t size : {1, 2, 4, 8, 16}) {
    const std::array<GatherForm, 3> forms = {
        GatherDesc{.element_size = size, .outer = 3, .axis = 30522, .inner = 7, .indices = 128},
        ElementsDesc{.element_size = size, .data_shape = {5, 60, 7}, .index_shape = {5, 9, 7}, .axis = 1},
        GatherNDDesc{.element_size = size,
                     .batch = 2,
                     .indexed_shape = {9, 8, 7},
                     .tuples = 50,
                     .slice = 48,
                     .index_type = DType::kI32}};
    for (const GatherForm& form : forms) {
      sources.push_back({"gather", generate_gather(form)->source.text, {kGatherEntry}});
      sources.push_back(
          {"scatter", generate_scatter(form)->source.text, {kClearClaimsEntry, kClaimEntry, kScatterEntry}});
    }
  }
}

void add_reductions(std::vector<NamedSource>& sources) {
  const auto add = [&](const ReduceProgram& program) {
    sources.push_back({"reduce", generate_reduce(program)->source.text, {kReduceEntry, kJoinPartsEntry}});
  };
  for (int op = 0; op <= static_cast<int>(Reduction::kLogSumExp); ++op) {
    for (const ReduceDesc& desc : {ReduceDesc{{8, 2048, 49}, {2}}, ReduceDesc{{64, 768}, {0}},
                                   ReduceDesc{{2, 1 << 20}, {1}}, ReduceDesc{{5, 6, 7, 8}, {1, 3}}}) {
      const DType dtype = kFloats[static_cast<std::size_t>(op) % kFloats.size()];
      ReduceProgram program{.desc = desc, .dtype = dtype, .arg = {}};
      program.desc.op = static_cast<Reduction>(op);
      add(program);
    }
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI32, DType::kI64}) {
    add({.desc = {{64, 50257}, {1}}, .dtype = dtype, .arg = ArgExtremumForm{}});
    add({.desc = {{64, 500, 30}, {1}}, .dtype = dtype, .arg = ArgExtremumForm{.min = true, .last = true}});
  }
}

void add_attentions(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    for (const int64_t columns : {64, 80, 128}) {
      AttentionProgram program;
      program.dtype = dtype;
      program.heads = program.kv_heads = 12;
      program.queries = program.keys = 197;
      program.head_dim = program.value_dim = columns;
      program.causal = columns == 80;
      const std::array<int64_t, 3> strides = {197 * 12 * columns, columns, 12 * columns};
      program.q.strides = program.k.strides = program.v.strides = program.out.strides = strides;
      if (columns == 64) program.mask = {.dtype = DType::kBool, .strides = {197, 0, 0, 1}};
      sources.push_back({"attention", generate_attention(program)->source.text, {kAttentionEntry}});
      for (const AttentionSplit split : {AttentionSplit::kKeys, AttentionSplit::kQueries}) {
        if (dtype != DType::kF32)
          sources.push_back(
              {"attention", generate_attention_mma(program, split)->source.text, {kAttentionMmaEntry}});
      }
    }
  }
}

void add_poolings(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    for (const bool last : {false, true}) {
      for (const auto kind :
           {PoolProgram::Kind::kMax, PoolProgram::Kind::kAverage, PoolProgram::Kind::kAverageWithPadding}) {
        PoolProgram program{.kind = kind,
                            .dtype = dtype,
                            .batch = 2,
                            .channels = 64,
                            .channels_last = last,
                            .windows = {},
                            .in = {112, 112},
                            .out = {56, 56}};
        program.windows.assign(2, {.kernel = 3, .stride = 2, .pad_begin = 1, .pad_end = 1});
        sources.push_back({"pool", generate_pooling(program)->source.text, {kPoolEntry}});
      }
    }
  }
}

void add_resizes(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
        const ResizeDesc desc{.batch = 2,
                              .channels = 64,
                              .layout = layout,
                              .in_spatial = {32, 32},
                              .out_spatial = {64, 70},
                              .mode = mode};
        sources.push_back({"resize", generate_resize(desc, dtype)->source.text, {kResizeEntry}});
      }
    }
  }
}

void add_orders(std::vector<NamedSource>& sources) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI64, DType::kU8, DType::kF64}) {
    for (const auto& [extent, k] : {std::pair{64, 8}, {50257, 50}, {9001, 9001}}) {
      const auto top = *generate_top_k({.dtype = dtype, .outer = 5, .extent = extent, .inner = 2, .k = k});
      sources.push_back({"top_k",
                         top.source.text,
                         {kTopKOfDataEntry, kTopKOfItemsEntry, kTopKSortEntry, kTopKAcrossEntry,
                          kTopKWithinEntry, kTopKTakeEntry}});
    }
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32, DType::kF64}) {
    for (const int64_t inner : {1, 512}) {
      const ScanProgram program{.dtype = dtype, .outer = 80, .extent = 3000, .inner = inner, .reverse = true};
      sources.push_back({"scan", generate_scan(program)->source.text, {kScanEntry}});
    }
  }
}

void add_recurrent(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    for (const auto kind :
         {RecurrentProgram::Kind::kLstm, RecurrentProgram::Kind::kGru, RecurrentProgram::Kind::kRnn}) {
      for (const int64_t batch : {1, 64}) {
        using Kind = RecurrentFunction::Kind;
        RecurrentProgram program{.kind = kind,
                                 .dtype = dtype,
                                 .time = 100,
                                 .batch = batch,
                                 .hidden = 512,
                                 .reverse = {false, true},
                                 .functions = {{Kind::kSigmoid}, {}, {}, {Kind::kSigmoid}, {}, {}},
                                 .linear_before_reset = batch == 1};
        if (batch > 1)
          program.functions = {{Kind::kHardSigmoid, 0.2, 0.5}, {Kind::kSoftplus},
                               {Kind::kScaledTanh, 1.7, 0.6},  {Kind::kElu, 1},
                               {Kind::kAffine, 1, 0},          {Kind::kSoftsign}};
        sources.push_back({"recurrent",
                           generate_recurrent(program)->source.text,
                           {kRecurrentBeginEntry, kRecurrentResetEntry, kRecurrentStepEntry}});
      }
    }
  }
}

void add_depthwise(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    for (const bool last : {false, true}) {
      for (const int64_t taps : {3, 5}) {
        for (const int64_t size : {112, 14}) {
          const Shape image{1, 96, size, size}, pads{taps / 2, taps / 2};
          cuda::ConvolutionDesc desc{.dtype = dtype,
                                     .channels_last = last,
                                     .x = image,
                                     .w = {96, 1, taps, taps},
                                     .y = image,
                                     .strides = {1, 1},
                                     .dilations = {1, 1},
                                     .pads_begin = pads,
                                     .pads_end = pads,
                                     .bias = true};
          desc.activation.mode = cuda::CudnnPointwise::kRelu;
          desc.activation.has_high = true;
          desc.activation.high = 6;
          sources.push_back({"depthwise", generate_depthwise(desc)->source.text, {kDepthwiseEntry}});
        }
      }
    }
  }
}

void add_gemvs(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    for (const bool transposed : {false, true}) {
      for (const int64_t columns : {768, 50257}) {
        const cuda::ProductDesc desc{.dtype = dtype,
                                     .rows = 1,
                                     .columns = columns,
                                     .depth = 768,
                                     .transpose_b = transposed,
                                     .row = true};
        sources.push_back({"gemv", generate_gemv(desc)->source.text, {kGemvEntry, kGemvJoinEntry}});
      }
    }
  }
}

void add_pads(std::vector<NamedSource>& sources) {
  for (const std::size_t size : {1, 2, 4, 8}) {
    for (const auto mode : {PadProgram::Mode::kConstant, PadProgram::Mode::kEdge, PadProgram::Mode::kReflect,
                            PadProgram::Mode::kWrap}) {
      const PadProgram program{.mode = mode,
                               .element_size = size,
                               .shape = {1, 56, 56, 96},
                               .before = {0, 1, 1, 0},
                               .after = {0, 2, 1, 0}};
      sources.push_back({"pad", generate_pad(program)->source.text, {kPadEntry}});
    }
  }
  for (const DType dtype : kFloats) {
    for (const int64_t extent : {21, 150}) {
      const AxisSoftmaxProgram program{.dtype = dtype, .extent = extent, .inner = 512 * 512};
      sources.push_back({"axis_softmax", generate_axis_softmax(program)->source.text, {kAxisSoftmaxEntry}});
    }
  }
}

// What only training steps hold.
void add_updates(std::vector<NamedSource>& sources) {
  for (const DType dtype : kFloats) {
    OptimizerProgram adamw{.gradient = dtype, .scaled = dtype == DType::kF32};
    sources.push_back({"adamw", generate_optimizer(adamw)->text, {kOptimizerEntry}});
    if (dtype != DType::kF32) {
      adamw.mixed = true;
      sources.push_back({"adamw_of_two_types", generate_optimizer(adamw)->text, {kOptimizerEntry}});
    }
    OptimizerProgram sgd{.kind = OptimizerProgram::Kind::kSgd, .gradient = dtype};
    sgd.momentum = dtype == DType::kF16 ? 0.0F : 0.9F;
    sources.push_back({"sgd", generate_optimizer(sgd)->text, {kOptimizerEntry}});
    adamw.parameter = DType::kBF16;
    sources.push_back({"adamw_rounded", generate_optimizer(adamw)->text, {kOptimizerEntry}});
    sources.push_back({"square_sum", generate_square_sum(dtype)->text, {kSquaresEntry, kJoinSquaresEntry}});
  }
  for (const DType dtype : kFloats) {
    for (const RandomFunction function : {RandomFunction::kDropout, RandomFunction::kBernoulli,
                                          RandomFunction::kUniform, RandomFunction::kNormal}) {
      RandomProgram program{.function = function, .in = dtype, .out = dtype, .elements = 1000};
      program.reads_ratio = program.may_rest = program.mask = dtype != DType::kF16;
      sources.push_back({"random", generate_random(program)->source.text, {kRandomEntry}});
    }
    sources.push_back({"multinomial",
                       generate_multinomial({.in = dtype, .classes = 50257, .samples = 3})->text,
                       {kMultinomialEntry}});
  }
}

// Types take turns: they differ by how they are converted.
DType next_type() {
  static std::size_t turn = 0;
  return kFloats[turn++ % kFloats.size()];
}

void add_normalizations(std::vector<NamedSource>& sources) {
  for (const int form : {0, 1, 2, 3, 4, 5}) {
    BatchNormProgram program{.gradient = form > 1, .relu = form > 3 || form == 1, .dtype = next_type()};
    program.batch = 16;
    program.channels = 64;
    program.positions = form % 2 == 0 ? 56 * 56 : 49;
    program.channels_last = form % 2 != 0;
    std::vector<std::string> entries = {kBatchStatisticsEntry, kJoinStatisticsEntry};
    if (program.channels_last) entries.push_back(kBatchElementsEntry);
    sources.push_back({"batch_norm", generate_batch_norm(program)->source.text, entries});
  }
  for (const int64_t columns : {64, 768, 1600, 4096})
    sources.push_back(
        {"layer_norm_gradient",
         generate_layer_norm_gradient({.dtype = next_type(), .rows = 4096, .columns = columns})->source.text,
         {kLayerNormGradientEntry, kJoinColumnsEntry}});
}

// Of a residual stream of f32 between products of halves; the normalisations themselves are in rows_test.cpp.
void add_residual_normalizations(std::vector<NamedSource>& sources) {
  for (const int64_t columns : {64, 768, 1600, 4096}) {
    for (const bool stores : {true, false}) {
      const DType half = stores ? DType::kBF16 : DType::kF16;
      const LayerNormGradientProgram gradient{.gradient = half,
                                              .rows = 4096,
                                              .columns = columns,
                                              .added = columns != 64,
                                              .narrow = half,
                                              .stores = stores};
      sources.push_back({"layer_norm_gradient_of_a_stream",
                         generate_layer_norm_gradient(gradient)->source.text,
                         {kLayerNormGradientEntry, kJoinColumnsEntry}});
    }
  }
}

void add_losses(std::vector<NamedSource>& sources) {
  for (const int64_t inner : {1, 4096}) {
    for (const int form : {0, 1, 2}) {
      CrossEntropyProgram program{
          .outer = 8, .classes = inner == 1 ? 50257 : 21, .inner = inner, .dtype = next_type()};
      if (form == 0) program.kind = CrossEntropyProgram::Kind::kGradient;
      program.weighted = program.shows = form == 1;
      if (form == 2) program.reduction = CrossEntropyProgram::Reduction::kNone;
      sources.push_back({"cross_entropy",
                         generate_cross_entropy(program)->source.text,
                         {kCrossEntropyEntry, kSumLossesEntry}});
    }
  }
}

void add_scatters_that_reduce(std::vector<NamedSource>& sources) {
  const auto add = [&](const GatherForm& form, DType dtype, ScatterReduction reduction) {
    sources.push_back({"scatter_reduce",
                       generate_scatter_reduce(form, dtype, reduction)->source.text,
                       {kScatterKeysEntry, kSortTilesEntry, kSortStepEntry, kMergeTilesEntry,
                        kCombinePiecesEntry, kJoinPiecesEntry, kZeroEntry}});
  };
  add(GatherNDDesc{.batch = 1, .indexed_shape = {50257}, .tuples = 4096, .slice = 768}, DType::kF32,
      ScatterReduction::kAdd);
  const ElementsDesc elements{.data_shape = {64, 1000}, .index_shape = {64, 1}, .axis = 1};
  add(elements, DType::kF32, ScatterReduction::kAdd);
  int turn = 0;  // how elements are combined does not depend on how they lie in memory
  for (const DType dtype : {DType::kF16, DType::kF64, DType::kI8, DType::kI64, DType::kU32, DType::kBool}) {
    ElementsDesc of_type = elements;
    of_type.element_size = dtype_size(dtype);
    add(of_type, dtype, static_cast<ScatterReduction>(1 + turn++ % 3));
  }
}

void add_suppressions(std::vector<NamedSource>& sources) {
  for (const SuppressionProgram& program :
       {SuppressionProgram{.classes = 90, .boxes = 3234, .most = 100},
        SuppressionProgram{.batch = 8, .classes = 80, .boxes = 8400, .most = 300, .centre = true},
        SuppressionProgram{.dtype = DType::kF16, .boxes = 65536, .most = 65536},
        SuppressionProgram{.dtype = DType::kF64, .boxes = 20, .most = 5}})
    sources.push_back(
        {"suppression", generate_suppression(program)->source.text, {kSuppressEntry, kPlaceRowsEntry}});
}

void add_quantizations(std::vector<NamedSource>& sources) {
  const auto add = [&](const QuantizeProgram& program) {
    sources.push_back({"quantize", generate_quantize(program)->source.text, {kQuantizeEntry}});
  };
  add({.out = DType::kI4, .zero = true, .elements = 4096 * 4096, .extent = 4096, .inner = 1, .block = 128});
  add({.in = DType::kF16,
       .scale = DType::kF16,
       .out = DType::kF8E4M3FN,
       .precision = DType::kF16,
       .elements = 4096});
  add({.in = DType::kBF16,
       .out = DType::kF4E2M1,
       .precision = DType::kBF16,
       .elements = 4096,
       .extent = 64,
       .inner = 2});
  add({.dequantizes = true,
       .in = DType::kU4,
       .scale = DType::kF16,
       .out = DType::kF16,
       .zero = true,
       .elements = 4096 * 4096,
       .extent = 4096,
       .inner = 1,
       .block = 32});
  add({.dequantizes = true,
       .in = DType::kF8E5M2,
       .scale = DType::kF8E8M0,
       .out = DType::kBF16,
       .elements = 4096});
  add({.dequantizes = true, .in = DType::kI32, .out = DType::kF32, .elements = 4096, .extent = 64});
  for (const DType dtype : {DType::kF32, DType::kBF16})
    sources.push_back({"dynamic_quantize",
                       generate_dynamic_quantize(dtype, 1 << 20)->source.text,
                       {kRangeEntry, kQuantizeByRangeEntry}});
}

void add_integer_products(std::vector<NamedSource>& sources) {
  const IntegerProductProgram matrices{.batch = 24,
                                       .rows = 128,
                                       .columns = 768,
                                       .depth = 768,
                                       .form = IntegerMatrices{{2, 12}, {12, 1}, {0, 1}},
                                       .b_signed = true,
                                       .a_zero = Spread::kOne,
                                       .b_zero = Spread::kEach};
  const IntegerProductProgram convolution{
      .batch = 2,
      .rows = 64,
      .columns = 56 * 56,
      .depth = 64 * 9,
      .form = IntegerConvolution{.channels = 64,
                                 .in = {56, 56},
                                 .out = {56, 56},
                                 .windows = {2, {.kernel = 3, .pad_begin = 1, .pad_end = 1}}},
      .a_signed = true,
      .b_zero = Spread::kOne};
  for (IntegerProductProgram program : {matrices, convolution}) {
    sources.push_back(
        {"integer_product", generate_integer_product(program)->source.text, {kIntegerProductEntry}});
    program.quantized.emplace();
    program.quantized->a = Spread::kEach;
    sources.push_back(
        {"integer_product", generate_integer_product(program)->source.text, {kIntegerProductEntry}});
  }
  IntegerProductProgram deep = matrices;
  deep.depth = 50000;
  sources.push_back({"integer_product", generate_integer_product(deep)->source.text, {kIntegerProductEntry}});
}

// bhid,bhjd->bhij, and a product of three vectors of each place.
void add_contractions(std::vector<NamedSource>& sources) {
  const std::vector<ContractionAxis> scores = {
      {12, {64 * 128, 64 * 128}, false}, {128, {64, 0}, false}, {128, {0, 64}, false}, {64, {1, 1}, true}};
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64, DType::kI64})
    sources.push_back({"contraction",
                       generate_contraction({.dtype = dtype, .operands = 2, .axes = scores})->source.text,
                       {kContractionEntry}});
  sources.push_back(
      {"contraction",
       generate_contraction(
           {.dtype = DType::kBF16, .operands = 3, .axes = {{50, {9, 9, 0}, false}, {9, {1, 1, 1}, true}}})
           ->source.text,
       {kContractionEntry}});
}

void add_choices(std::vector<NamedSource>& sources) {
  using Kind = ChoiceProgram::Kind;
  for (const ChoiceProgram& program :
       {ChoiceProgram{.elements = 1 << 20, .extent = 1024, .inner = 1024},
        ChoiceProgram{.kind = Kind::kOneHot, .element_size = 2, .elements = 1 << 20, .extent = 1024},
        ChoiceProgram{.kind = Kind::kOneHot, .elements = 4096, .extent = 64, .indices = DType::kF32},
        ChoiceProgram{.kind = Kind::kCache,
        .element_size = 2,
        .elements = 1 << 20,
        .extent = 64,
        .inner = 64,
        .written = 3,
        .of_batch = 1 << 16},
        ChoiceProgram{.kind = Kind::kCache,
        .element_size = 16,
        .elements = 1 << 20,
        .extent = 64,
        .inner = 64,
        .circular = true,
        .of_batch = 1 << 16},
        ChoiceProgram{.kind = Kind::kReverse,
        .element_size = 1,
        .elements = 1 << 20,
        .extent = 64,
        .inner = 1 << 14,
        .of_batch = 1 << 10,
        .batch = 16}})
    sources.push_back({"choice", generate_choice(program)->source.text, {kChoiceEntry}});
}

void add_samplings(std::vector<NamedSource>& sources) {
  using Program = GridSampleProgram;
  using enum GridSampleProgram::Mode;
  using enum GridSampleProgram::Padding;
  int turn = 0;
  for (const auto& [mode, padding] :
       {std::pair{kNearest, kZeros}, {kLinear, kReflection}, {kCubic, kZeros}, {kCubic, kBorder}}) {
    const Program program{.dtype = kFloats[static_cast<std::size_t>(turn) % 3],
                          .grid = turn == 2 ? DType::kF64 : DType::kF32,
                          .batch = 2,
                          .channels = 20,
                          .points = 900,
                          .image = turn++ % 2 == 0 ? Shape{33, 40} : Shape{9, 10, 11},
                          .mode = mode,
                          .padding = padding};
    sources.push_back({"grid_sample", generate_grid_sample(program)->source.text, {kGridSampleEntry}});
    if (mode != kNearest)
      sources.push_back(
          {"grid_gradient", generate_grid_gradient(program)->source.text, {kGridGradientEntry}});
    sources.push_back({"image_gradient",
                       generate_image_gradient(program)->source.text,
                       {kImageZeroEntry, kImageKeysEntry, kSortTilesEntry, kSortStepEntry, kMergeTilesEntry,
                        kImagePiecesEntry, kImageJoinEntry}});
  }
  for (const int64_t ratio : {0, 2}) {
    const RoiAlignProgram program{.dtype = ratio == 0 ? DType::kF32 : DType::kF16,
                                  .images = 2,
                                  .channels = 256,
                                  .height = 50,
                                  .width = 68,
                                  .regions = 1000,
                                  .out_height = 7,
                                  .out_width = 7,
                                  .ratio = ratio,
                                  .scale = 0.0625,
                                  .maximum = ratio == 0};
    sources.push_back({"roi_align", generate_roi_align(program)->source.text, {kRoiAlignEntry}});
  }
}

void add_pooling_gradients(std::vector<NamedSource>& sources) {
  for (const bool last : {false, true}) {
    for (const auto kind : {PoolProgram::Kind::kMax, PoolProgram::Kind::kAverage}) {
      PoolProgram program{.kind = kind,
                          .dtype = next_type(),
                          .batch = 2,
                          .channels = 64,
                          .channels_last = last,
                          .windows = {},
                          .in = {112, 112},
                          .out = {56, 56}};
      program.windows.assign(2, {.kernel = 3, .stride = 2, .pad_begin = 1, .pad_end = 1});
      sources.push_back(
          {"pool_gradient", generate_pooling_gradient(program)->source.text, {kPoolGradientEntry}});
    }
  }
}

std::vector<NamedSource> all_sources() {
  std::vector<NamedSource> sources;
  add_updates(sources);
  add_normalizations(sources);
  add_residual_normalizations(sources);
  add_losses(sources);
  add_scatters_that_reduce(sources);
  add_suppressions(sources);
  add_contractions(sources);
  add_choices(sources);
  add_samplings(sources);
  add_quantizations(sources);
  add_integer_products(sources);
  add_pooling_gradients(sources);
  add_pads(sources);
  add_depthwise(sources);
  add_gemvs(sources);
  add_recurrent(sources);
  add_orders(sources);
  add_gathers(sources);
  add_reductions(sources);
  add_poolings(sources);
  add_attentions(sources);
  add_resizes(sources);
  return sources;
}

class RealNvrtcGenerated : public ::testing::TestWithParam<int> {};

TEST_P(RealNvrtcGenerated, CompileWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  const std::vector<NamedSource> sources = all_sources();
  std::string text(kBasePrelude);
  for (std::size_t i = 0; i < sources.size(); ++i)
    text += testing::with_number(sources[i].text, i, sources[i].entries);
  const auto compiled = nvrtc->compile(with_dependent_launch(text), "generated.cu", {GetParam()},
                                       std::array{std::string("--fmad=false")});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  EXPECT_GE(compiled->uses.size(), sources.size());
  for (const cuda::KernelUse& use : compiled->uses)
    EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0) << use.name;
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcGenerated, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

TEST(GeneratedKernels, OfTypesThatTheyDoNotComputeAreRefused) {
  EXPECT_EQ(generate_reduce({.desc = {{4}, {0}}, .dtype = DType::kI64, .arg = {}}).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(generate_pooling({.dtype = DType::kU8, .windows = {{}}, .in = {4}, .out = {4}}).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(generate_gather(GatherDesc{.indices = 3, .index_type = DType::kF32}).error().code,
            ErrorCode::kUnsupported);
}

// Few results: more than one block for each, and what they leave is joined in a fixed order.
TEST(GeneratedReductions, HaveSeveralBlocksForAResultWhereThereAreFew) {
  const ReduceKernel one = *generate_reduce({.desc = {{2048, 49}, {1}}, .arg = {}});
  EXPECT_EQ(one.parts, 1);
  EXPECT_EQ(one.scratch_bytes, 0U);
  const ReduceKernel many = *generate_reduce({.desc = {{2, 1 << 20}, {1}}, .arg = {}});
  EXPECT_GT(many.parts, 100);
  EXPECT_EQ(many.scratch_bytes, static_cast<std::size_t>(many.parts) * 2 * 4);
}

}  // namespace
}  // namespace hone::kernels::gpu
