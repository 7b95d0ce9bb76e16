// The zoo: well-known architectures by name, with seeded weights instead of trained ones. They cost and
// behave like the models that users bring; what they predict means nothing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::model {

struct ZooModel {
  std::string_view name;
  std::string_view summary;
  std::string_view size_means;  // "image side", "sequence length"
  int64_t default_size;
  // As published, with the default size; of ssdlite as built here, with a bias for each prediction (the
  // paper: 4.3 M).
  int64_t parameters;
};
std::span<const ZooModel> zoo_models();

struct ZooOptions {
  uint64_t seed = 0;         // of the weights: the same seed, the same file
  int64_t batch = 0;         // 0: the symbol "batch"
  int64_t size = 0;          // 0: the model's default
  bool open_length = false;  // of text: the symbol "sequence" in place of a size
  // Other extents than the published ones: "classes", "layers", "base", … An unknown one is an error that lists those
  // of the model.
  std::map<std::string, int64_t> sizes = {};
};
Result<graph::Graph> build_zoo_model(std::string_view name, const ZooOptions& options = {});

}  // namespace hone::model
