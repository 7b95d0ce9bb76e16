// The zoo's architectures, each with the sizes that make it: the defaults are the published model, smaller
// ones are for tests. What each returns is the published network's graph as an exporter would write it, with
// seeded weights, and the number of its parameters.
#pragma once

#include "model/zoo/network.h"

namespace hone::model::zoo {

// What every model takes. A batch of 0 is the symbol "batch"; an open length, which models of text can have, the symbol
// "sequence", up to as many places as the published model has.
struct Common {
  uint64_t seed = 0;
  int64_t batch = 0;
  bool open_length = false;

  graph::Dim batch_dim() const { return batch > 0 ? graph::Dim(batch) : graph::Dim::symbol("batch"); }
  graph::Dim length_dim(int64_t length) const {
    return open_length ? graph::Dim::symbol("sequence") : length;
  }
};

// U-Net (Ronneberger et al. 2015) with batch normalisation and padded convolutions: the class of each pixel
// of a microscopy image. `levels` halvings, so `size` must be a multiple of 2^levels.
struct UnetSizes {
  int64_t size = 256;
  int64_t channels = 3;  // of the image
  int64_t base = 64;
  int64_t levels = 4;
  int64_t classes = 3;  // background, cell, border
};
Result<Built> build_unet(const Common& common, const UnetSizes& sizes = {});

// For 28 x 28 pictures of digits: small enough to be trained in seconds.
struct DigitsSizes {
  int64_t size = 28;
  int64_t base = 16;
  int64_t classes = 10;
};
Result<Built> build_digits(const Common& common, const DigitsSizes& sizes = {});

// ResNet v1.5 (He et al. 2015; stride in the 3 x 3 convolution) of bottleneck blocks, as in torchvision.
struct ResnetSizes {
  int64_t size = 224;
  int64_t base = 64;
  std::vector<int64_t> blocks = {3, 4, 6, 3};  // 50 layers
  int64_t classes = 1000;
};
Result<Built> build_resnet(const Common& common, const ResnetSizes& sizes = {});

// MobileNetV2 (Sandler et al. 2018), width 1, as in torchvision. `stages` shortens it for tests.
struct MobilenetSizes {
  int64_t size = 224;
  std::size_t stages = 7;
  int64_t classes = 1000;
};
Result<Built> build_mobilenet_v2(const Common& common, const MobilenetSizes& sizes = {});

// SSDLite on MobileNetV2 (Sandler et al. 2018), its boxes thinned out by NonMaxSuppression: object detection,
// with outputs whose first extent depends on the picture. `stages` and `extra` (maps beyond the backbone's)
// shorten it.
struct SsdliteSizes {
  int64_t size = 320;
  std::size_t stages = 7;
  std::size_t extra = 4;
  int64_t classes = 91;
};
Result<Built> build_ssdlite(const Common& common, const SsdliteSizes& sizes = {});

// BERT with its pooler (Devlin et al. 2018), as Hugging Face's transformers export it. Layer normalisation in
// primitive operators (opset 16 and before) or as the operator.
struct BertSizes {
  int64_t length = 128;
  int64_t layers = 12;
  int64_t hidden = 768;
  int64_t heads = 12;
  int64_t intermediate = 3072;
  int64_t vocabulary = 30522;
  int64_t positions = 512;
  bool spelled_layer_norm = true;
};
BertSizes minilm_sizes();  // MiniLM-L6-H384 (Wang et al. 2020), all-MiniLM-L6-v2's architecture
Result<Built> build_bert(const Common& common, const std::string& name, const BertSizes& sizes = {});
// The same with the head of masked language modelling instead of the pooler (Hugging Face's BertForMaskedLM), for whole
// windows of one text: its only input is tokens, none of them padding.
Result<Built> build_bert_mlm(const Common& common, const BertSizes& sizes = {});

// GPT-2 (Radford et al. 2019): causal, all positions' logits, embedding shared with the head.
struct GptSizes {
  int64_t length = 128;
  int64_t layers = 12;
  int64_t hidden = 768;
  int64_t heads = 12;
  int64_t vocabulary = 50257;
  int64_t positions = 1024;
};
Result<Built> build_gpt2(const Common& common, const GptSizes& sizes = {});

// ViT (Dosovitskiy et al. 2020), as Hugging Face's ViTForImageClassification exports it. `size` must be a
// multiple of `patch`.
struct VitSizes {
  int64_t size = 224;
  int64_t patch = 16;
  int64_t layers = 12;
  int64_t hidden = 768;
  int64_t heads = 12;
  int64_t intermediate = 3072;
  int64_t classes = 1000;
};
Result<Built> build_vit(const Common& common, const VitSizes& sizes = {});

}  // namespace hone::model::zoo
