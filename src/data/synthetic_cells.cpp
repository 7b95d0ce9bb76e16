#include "data/synthetic_cells.h"

#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/hash.h"
#include "core/philox.h"

namespace hone::data {
namespace {

class SyntheticCells final : public Dataset {
 public:
  explicit SyntheticCells(const MicroscopyOptions& options) : options_(options) {
    fields_ = {{"image", DType::kF32, {options.channels, options.height, options.width}},
               {"mask", DType::kU8, {1, options.height, options.width}}};
  }
  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return options_.images; }
  std::string name_of(int64_t index) const override {
    return fmt::format("synthetic cells, seed {}, sample {}", options_.seed, index);
  }
  Result<Sample> read(int64_t index) const override {
    MicroscopyOptions one = options_;
    one.images = 1;
    const auto words = Philox(options_.seed, fnv1a("synthetic cells")).block(static_cast<uint64_t>(index));
    one.seed = uint64_t{words[0]} << 32 | words[1];
    HONE_ASSIGN(const Microscopy made, synthesise_microscopy(one));
    return Sample{made.images.reshaped(fields_[0].shape), made.masks.reshaped(fields_[1].shape)};
  }

 private:
  MicroscopyOptions options_;
  std::vector<Field> fields_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> synthetic_cells(const MicroscopyOptions& options) {
  if (options.images < 1) return invalid("synthetic microscopy: a data set of no images");
  const auto set = std::make_shared<SyntheticCells>(options);
  HONE_CHECK(set->read(0));  // whether the options can be
  return std::shared_ptr<const Dataset>(set);
}

}  // namespace hone::data
