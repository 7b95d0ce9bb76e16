#include "model/zoo/zoo.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/spelling.h"
#include "model/zoo/models.h"

namespace hone::model {
namespace {

using zoo::Built;
using zoo::Common;

// The extents of one model: what was asked for, or as published; and whether all that was asked for is there.
class Extents {
 public:
  explicit Extents(const std::map<std::string, int64_t>& given) : given_(given) {}

  void read(const char* name, int64_t& extent) {
    known_.emplace_back(name);
    if (const auto found = given_.find(name); found != given_.end()) extent = found->second;
  }
  Status check(std::string_view model) const {
    for (const auto& [name, extent] : given_) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        return invalid(fmt::format("{}: there is no size '{}'{}; there are {}", model, name,
                                   suggestion(name, known_), fmt::join(known_, ", ")));
      if (extent < 1 || extent > kMostExtent)
        return invalid(fmt::format("{}: {} is {}, must be in [1, {}]", model, name, extent, kMostExtent));
    }
    return {};
  }

 private:
  static constexpr int64_t kMostExtent = 1'000'000;
  const std::map<std::string, int64_t>& given_;
  std::vector<std::string> known_;
};

struct Entry {
  ZooModel model;
  Result<Built> (*build)(const Common& common, Extents& extents);
};

Result<Built> unet(const Common& common, Extents& extents) {
  zoo::UnetSizes sizes;
  extents.read("size", sizes.size);
  extents.read("channels", sizes.channels);
  extents.read("base", sizes.base);
  extents.read("levels", sizes.levels);
  extents.read("classes", sizes.classes);
  HONE_CHECK(extents.check("unet"));
  if (sizes.levels > 10) return invalid("unet: at most 10 levels");
  return zoo::build_unet(common, sizes);
}

Result<Built> digits(const Common& common, Extents& extents) {
  zoo::DigitsSizes sizes;
  extents.read("size", sizes.size);
  extents.read("base", sizes.base);
  extents.read("classes", sizes.classes);
  HONE_CHECK(extents.check("digits_cnn"));
  return zoo::build_digits(common, sizes);
}

Result<Built> resnet50(const Common& common, Extents& extents) {
  zoo::ResnetSizes sizes;
  extents.read("size", sizes.size);
  extents.read("base", sizes.base);
  extents.read("classes", sizes.classes);
  HONE_CHECK(extents.check("resnet50"));
  return zoo::build_resnet(common, sizes);
}

Result<Built> mobilenet_v2(const Common& common, Extents& extents) {
  zoo::MobilenetSizes sizes;
  extents.read("size", sizes.size);
  extents.read("classes", sizes.classes);
  HONE_CHECK(extents.check("mobilenet_v2"));
  return zoo::build_mobilenet_v2(common, sizes);
}

Result<Built> ssdlite(const Common& common, Extents& extents) {
  zoo::SsdliteSizes sizes;
  extents.read("size", sizes.size);
  extents.read("classes", sizes.classes);
  HONE_CHECK(extents.check("ssdlite"));
  return zoo::build_ssdlite(common, sizes);
}

Result<zoo::BertSizes> bert_sizes(Extents& extents, const char* name, zoo::BertSizes sizes) {
  extents.read("size", sizes.length);
  extents.read("layers", sizes.layers);
  extents.read("hidden", sizes.hidden);
  extents.read("heads", sizes.heads);
  extents.read("intermediate", sizes.intermediate);
  extents.read("vocabulary", sizes.vocabulary);
  extents.read("positions", sizes.positions);
  HONE_CHECK(extents.check(name));
  return sizes;
}

Result<Built> bert(const Common& common, Extents& extents, const char* name,
                   const zoo::BertSizes& published) {
  HONE_ASSIGN(const zoo::BertSizes sizes, bert_sizes(extents, name, published));
  return zoo::build_bert(common, name, sizes);
}

Result<Built> bert_mlm(const Common& common, Extents& extents) {
  zoo::BertSizes published;
  published.spelled_layer_norm = false;
  HONE_ASSIGN(const zoo::BertSizes sizes, bert_sizes(extents, "bert_mlm", published));
  return zoo::build_bert_mlm(common, sizes);
}

Result<Built> gpt2(const Common& common, Extents& extents) {
  zoo::GptSizes sizes;
  extents.read("size", sizes.length);
  extents.read("layers", sizes.layers);
  extents.read("hidden", sizes.hidden);
  extents.read("heads", sizes.heads);
  extents.read("vocabulary", sizes.vocabulary);
  extents.read("positions", sizes.positions);
  HONE_CHECK(extents.check("gpt2"));
  if (sizes.hidden % sizes.heads != 0) return invalid("gpt2: heads must divide hidden");
  return zoo::build_gpt2(common, sizes);
}

Result<Built> vit(const Common& common, Extents& extents) {
  zoo::VitSizes sizes;
  extents.read("size", sizes.size);
  extents.read("patch", sizes.patch);
  extents.read("layers", sizes.layers);
  extents.read("hidden", sizes.hidden);
  extents.read("heads", sizes.heads);
  extents.read("intermediate", sizes.intermediate);
  extents.read("classes", sizes.classes);
  HONE_CHECK(extents.check("vit"));
  return zoo::build_vit(common, sizes);
}

const std::array<Entry, 10>& entries() {
  static const std::array<Entry, 10> list = {{
      {{"unet", "U-Net: the class of each pixel of a cell microscopy image", "image side", 256, 31'037'763},
       unet},
      {{"resnet50", "ResNet-50 v1.5: image classification", "image side", 224, 25'557'032}, resnet50},
      {{"mobilenet_v2", "MobileNetV2: image classification on small devices", "image side", 224, 3'504'872},
       mobilenet_v2},
      {{"ssdlite", "SSDLite on MobileNetV2: object detection, ending in NonMaxSuppression", "image side", 320,
        4'500'543},
       ssdlite},
      {{"bert_base", "BERT-base, uncased, with its pooler: text encoding", "sequence length", 128,
        109'482'240},
       [](const Common& common, Extents& extents) { return bert(common, extents, "bert_base", {}); }},
      {{"minilm", "MiniLM-L6-H384: sentence embeddings", "sequence length", 128, 22'713'216},
       [](const Common& common, Extents& extents) {
         return bert(common, extents, "minilm", zoo::minilm_sizes());
       }},
      {{"bert_mlm", "BERT-base with the head that finds masked tokens again, to be trained",
        "sequence length", 128, 109'514'298},
       bert_mlm},
      {{"gpt2", "GPT-2 124M: text generation, the whole prompt at once", "sequence length", 128, 124'439'808},
       gpt2},
      {{"vit", "ViT-B/16: image classification", "image side", 224, 86'567'656}, vit},
      {{"digits_cnn", "a small network for pictures of digits, to be trained in seconds", "image side", 28,
        20'490},
       digits},
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
    if (options.open_length && entry.model.size_means != "sequence length")
      return invalid(fmt::format("{}: has no sequence whose length could be left open", name));
    std::map<std::string, int64_t> given = options.sizes;
    if (options.size > 0) given["size"] = options.size;
    Extents extents(given);
    HONE_ASSIGN(Built built, entry.build({options.seed, options.batch, options.open_length}, extents));
    return std::move(built.graph);
  }
  std::string names;
  for (const Entry& entry : entries())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.model.name);
  return not_found(fmt::format("there is no zoo model '{}'; there are {}", name, names));
}

}  // namespace hone::model
