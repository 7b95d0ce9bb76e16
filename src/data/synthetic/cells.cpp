#include "data/synthetic/cells.h"

#include <string>
#include <vector>

#include <fmt/core.h>

namespace hone::data {
namespace {

class Cells final : public Dataset {
 public:
  explicit Cells(const MicroscopyOptions& options)
      : options_(options),
        fields_({{"image", DType::kF32, {options.channels, options.height, options.width}},
                 {"mask", DType::kU8, {1, options.height, options.width}}}) {}

  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return options_.images; }
  std::string name_of(int64_t index) const override { return fmt::format("synthetic image {}", index); }

  Result<Sample> read(int64_t index) const override {
    HONE_ASSIGN(const Microscopy made, synthesise_microscopy(options_of(index)));
    return Sample{made.images.reshaped(fields_[0].shape), made.masks.reshaped(fields_[1].shape)};
  }

  MicroscopyOptions options_of(int64_t index) const {
    MicroscopyOptions one = options_;
    one.images = 1;
    one.seed = options_.seed * 1'000'003 + static_cast<uint64_t>(index);
    return one;
  }

 private:
  MicroscopyOptions options_;
  std::vector<Field> fields_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> make_cells(const MicroscopyOptions& options) {
  if (options.images < 1) return invalid("cells: at least one sample");
  const auto cells = std::make_shared<Cells>(options);
  // What is wrong with the options is said now, not when the first sample is read.
  if (auto first = synthesise_microscopy(cells->options_of(0)); !first.ok()) return first.error();
  return std::shared_ptr<const Dataset>(cells);
}

}  // namespace hone::data
