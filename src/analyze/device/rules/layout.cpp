// Changes of the order of elements, and kernels that are slow in the order at hand.
#include "analyze/device/rules/tables.h"

namespace hone::analyze::device {
namespace {

constexpr DeviceRule kLayoutRules[] = {
    {.rule = Rule::kLayoutChanges,
     .id = "layout_changes",
     .cause = Cause::kLayout,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to changing the order of elements in memory",
     .summary = "{count:kernels} a step, {ms}",
     .item = kWorkItem,
     .fix = {.pytorch = "{images}",
             .jax = "keep one order through the model: images as NHWC in dimension_numbers, no jnp.transpose "
                    "that jnp.einsum does without",
             .tensorflow =
                 "keep one order through the model: images as NHWC, the default data_format, no tf.transpose "
                 "that tf.einsum does without",
             .hone =
                 "propagate one layout through the graph so that neighbouring reorders cancel (pass: layout)",
             .native =
                 "keep one order through the program; tensor cores want the channels of images last (NHWC)"},
     .changes = {"channels_last"},
     .effort = Effort::kSetting},
    {.rule = Rule::kChannelsFirstImages,
     .id = "channels_first_images",
     .cause = Cause::kLayout,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost to channels-first images: conversions around convolutions, slow "
              "normalisation",
     .summary = "{count:kernels} a step converting between channels-first and channels-last or normalising "
                "channels first: {ms}",
     .item = kWorkItem,
     .word =
         "works on channels-first images: converts them to channels-last, or is slow because nothing does",
     .fix = {.pytorch = "{images}",
             .jax = "keep images as NHWC: dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\") of "
                    "lax.conv_general_dilated, as Flax has it; tensor cores want channels last",
             .tensorflow = "keep images as NHWC, the default data_format: tensor cores want channels last",
             .hone =
                 "propagate one layout through the graph so that neighbouring reorders cancel (pass: layout)",
             .native =
                 "keep images and filters as NHWC (CUDNN_TENSOR_NHWC): tensor cores want channels last"},
     .caveat = {.native = "the input and the output of the model are still converted once"},
     .changes = {"channels_last"},
     .effort = Effort::kSetting},
    {.rule = Rule::kChannelsFirstBatchNorm,
     .id = "channels_first_batch_norm",
     .cause = Cause::kLayout,
     .precedence = Precedence::kOrderOfImages,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost to channels-first images of few channels: batch normalisation with one "
              "block a channel, conversions around convolutions",
     .summary = "{count:kernels} a step normalising channels-first images channel by channel, or converting "
                "such images for convolutions: {ms}",
     .item = kWorkItem,
     .word = "converts channels-first images to channels-last",
     .word_of_others =
         "normalises with one block a channel; over channels-last images all blocks share each channel",
     .fix = {.pytorch = "{images}",
             .jax = "keep images as NHWC (dimension_numbers=(\"NHWC\", \"HWIO\", \"NHWC\") of "
                    "lax.conv_general_dilated), and normalise over the axes before the last",
             .tensorflow = "keep images as NHWC, the default data_format, and normalise over the last axis",
             .hone =
                 "propagate one layout through the graph so that neighbouring reorders cancel (pass: layout)",
             .native = "keep images as NHWC (CUDNN_TENSOR_NHWC) and normalise with "
                       "CUDNN_BATCHNORM_SPATIAL_PERSISTENT"},
     .caveat = {.native = "a narrower type alone wins little here: the images stay channels first"},
     .changes = {"channels_last"},
     .effort = Effort::kSetting},
    {.rule = Rule::kStridedCopies,
     .id = "strided_copies",
     .cause = Cause::kLayout,
     .precedence = Precedence::kByItself,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to copies that only change strides",
     .summary = "{count:copies} a step between two orders of the same elements: {ms}",
     .item = kWorkItem,
     .word = "only changes the order of elements",
     .fix = {.pytorch = "remove .contiguous(), .permute() and .transpose() that the next operator does not "
                        "need; keep one layout through the model ({one_order})",
             .jax = "remove jnp.transpose and jnp.swapaxes that the next operator does not need: jnp.einsum "
                    "and lax.dot_general take any order",
             .tensorflow = "remove tf.transpose that the next operator does not need: tf.einsum and the "
                           "transpose_a, transpose_b of tf.matmul take any order",
             .hone =
                 "propagate one layout through the graph so that neighbouring reorders cancel (pass: layout)",
             .native =
                 "give the next call the strides, or a transposed operand (CUBLAS_OP_T), instead of a copy"},
     .caveat = {.native = "an operator that needs packed input makes the copy itself"}},
    {.rule = Rule::kMixedOrders,
     .id = "mixed_orders",
     .cause = Cause::kLayout,
     .precedence = Precedence::kByItself,
     .ends_in_long_chains = true,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step is lost in passes over tensors that lie in different orders",
     .summary = "{count:kernels} a step reading one tensor against its order in memory: {ms}",
     .item = kWorkItem,
     .word = "reads one tensor against its order in memory",
     .fix = {.pytorch = "keep one order through the model, without .transpose() and .permute() in between "
                        "({one_order})",
             .jax = "keep one order through the model, without jnp.transpose in between",
             .hone =
                 "propagate one layout through the graph so that neighbouring reorders cancel (pass: layout)",
             .native =
                 "keep one order through the program, or pass the tensors through shared memory by tiles"},
     .changes = {"channels_last"}},
    {.rule = Rule::kSeriesConvolutionOfSize1,
     .id = "series_convolution_of_size_1",
     .cause = Cause::kLayout,
     .precedence = Precedence::kAroundConvolutions,
     .gain = GainModel::kWorks,
     .threshold = 0.03,
     .title = "{ms} per step goes to passes around convolutions of size 1 whose channels do not lie last",
     .summary = "{count:kernels} a step changing the order of elements for them, adding their biases, or "
                "reading their results against their order: {ms}",
     .item = kWorkItem,
     .word = "around a convolution of size 1; a linear layer over channels that lie last needs none of it",
     .fix = {.pytorch = "use nn.Linear over channels that lie last instead of nn.Conv1d(kernel_size=1): "
                        "nothing is transposed around it, and the product adds the bias",
             .jax = "use a dense layer over channels that lie last instead of a convolution of size 1",
             .native = "use a matrix product over channels that lie last instead of a convolution of size 1"},
     .caveat = {.pytorch = "convolutions over more than one step of time still want time last, or a Conv2d "
                           "in channels_last",
                .native = "convolutions over more than one step of time still want time last"}},
};

}  // namespace

std::span<const DeviceRule> layout_rules() { return kLayoutRules; }

}  // namespace hone::analyze::device
