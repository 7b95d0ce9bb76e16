#include "model/zoo/zoo.h"

#include <array>

#include <fmt/core.h>

#include "model/zoo/models.h"

namespace hone::model {
namespace {

using zoo::Built;
using zoo::Common;

struct Entry {
  ZooModel model;
  Result<Built> (*build)(const Common& common, int64_t size);
};

const std::array<Entry, 8>& entries() {
  static const std::array<Entry, 8> list = {{
      {{"unet", "U-Net: the class of each pixel of a cell microscopy image", "image side", 256, 31'037'763},
       [](const Common& common, int64_t size) { return zoo::build_unet(common, {.size = size}); }},
      {{"resnet50", "ResNet-50 v1.5: image classification", "image side", 224, 25'557'032},
       [](const Common& common, int64_t size) { return zoo::build_resnet(common, {.size = size}); }},
      {{"mobilenet_v2", "MobileNetV2: image classification on small devices", "image side", 224, 3'504'872},
       [](const Common& common, int64_t size) { return zoo::build_mobilenet_v2(common, {.size = size}); }},
      {{"ssdlite", "SSDLite on MobileNetV2: object detection, ending in NonMaxSuppression", "image side", 320,
        4'500'543},
       [](const Common& common, int64_t size) { return zoo::build_ssdlite(common, {.size = size}); }},
      {{"bert_base", "BERT-base, uncased, with its pooler: text encoding", "sequence length", 128,
        109'482'240},
       [](const Common& common, int64_t size) {
         return zoo::build_bert(common, "bert_base", {.length = size});
       }},
      {{"minilm", "MiniLM-L6-H384: sentence embeddings", "sequence length", 128, 22'713'216},
       [](const Common& common, int64_t size) {
         zoo::BertSizes sizes = zoo::minilm_sizes();
         sizes.length = size;
         return zoo::build_bert(common, "minilm", sizes);
       }},
      {{"gpt2", "GPT-2 124M: text generation, the whole prompt at once", "sequence length", 128, 124'439'808},
       [](const Common& common, int64_t size) { return zoo::build_gpt2(common, {.length = size}); }},
      {{"vit", "ViT-B/16: image classification", "image side", 224, 86'567'656},
       [](const Common& common, int64_t size) { return zoo::build_vit(common, {.size = size}); }},
  }};
  return list;
}

}  // namespace

std::span<const ZooModel> zoo_models() {
  static const std::vector<ZooModel> models = [] {
    std::vector<ZooModel> list;
    for (const Entry& entry : entries()) list.push_back(entry.model);
    return list;
  }();
  return models;
}

Result<graph::Graph> build_zoo_model(std::string_view name, const ZooOptions& options) {
  for (const Entry& entry : entries()) {
    if (entry.model.name != name) continue;
    const int64_t size = options.size > 0 ? options.size : entry.model.default_size;
    if (options.open_length && entry.model.size_means != "sequence length")
      return invalid(fmt::format("{}: has no sequence whose length could be left open", name));
    HONE_ASSIGN(Built built, entry.build({options.seed, options.batch, options.open_length}, size));
    return std::move(built.graph);
  }
  std::string names;
  for (const Entry& entry : entries())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.model.name);
  return not_found(fmt::format("there is no zoo model '{}'; there are {}", name, names));
}

}  // namespace hone::model
