// Augmentation of a sample: where its pixels come from (placement.h), reading them (region.h), changing their values
// (pixels.h).
#include "data/augment/augment.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "data/augment/pixels.h"
#include "data/augment/placement.h"
#include "data/augment/region.h"
#include "data/augment/steps.h"

namespace hone::data {
namespace {

enum class Role : uint8_t { kOther, kImage, kMask };

// The last two axes are a plane; axis 0 counts channels, what is between them depth.
struct Planes {
  int64_t channels = 1, depth = 1, height = 0, width = 0;
  int64_t count() const { return channels * depth; }
};

Planes planes_of(std::span<const int64_t> shape) {
  const std::size_t rank = shape.size();
  Planes planes{shape[0], 1, shape[rank - 2], shape[rank - 1]};
  for (std::size_t axis = 1; axis + 2 < rank; ++axis) planes.depth *= shape[axis];
  return planes;
}

PlaneView plane_of(const Tensor& tensor, const Planes& planes, int64_t index) {
  const std::size_t bytes =
      static_cast<std::size_t>(planes.height * planes.width) * dtype_size(tensor.dtype());
  return {tensor.dtype(),
          static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(index) * bytes,
          planes.height, planes.width};
}

// What turns a channel's numbers into normalised ones.
struct Gain {
  float gain = 1, offset = 0;
};

// Where one sample's pixels come from, worked out once for all of its planes.
class Sampling {
 public:
  explicit Sampling(const Placement& placement) : placement_(placement) {
    if (placement.exact) return;
    points_ = points_of(placement.smooth, placement.height, placement.width);
    const auto& m = placement.smooth.matrix;
    const double step = std::min(std::hypot(m[0], m[2]), std::hypot(m[1], m[3]));
    if (step < 2) return;
    // Much smaller than the image: means of blocks first, or fine patterns turn into coarse ones that are not there.
    factor_ = static_cast<int64_t>(step);
    reduced_ = points_;
    const auto round_up = [&](int64_t extent) {
      return (std::max(extent, 2 * factor_) + factor_ - 1) / factor_ * factor_;
    };
    reduced_.window.width = round_up(points_.window.width);
    reduced_.window.height = round_up(points_.window.height);
    const auto scale = static_cast<float>(1.0 / static_cast<double>(factor_));
    const float offset = -static_cast<float>(factor_ - 1) / 2 * scale;
    scale_and_shift(reduced_.x.data(), reduced_.x.size(), scale, offset);
    scale_and_shift(reduced_.y.data(), reduced_.y.size(), scale, offset);
  }

  // Whether pixels of the window can be counted: they are found by 32-bit numbers.
  bool fits() const {
    const Window& window = factor_ > 1 ? reduced_.window : points_.window;
    return placement_.exact || window.height < (int64_t{1} << 31) / std::max<int64_t>(window.width, 1);
  }

  void image_plane(const PlaneView& plane, const Gain& gain, float* out) {
    const std::size_t count = static_cast<std::size_t>(placement_.height * placement_.width);
    if (placement_.exact) {
      const ExactPlacement& exact = *placement_.exact;
      if (!exact.transposed && !exact.flip_x && !exact.flip_y)
        return read_window(plane, exact.window, gain.gain, gain.offset, out);
      float* const window = floats(count);
      read_window(plane, exact.window, gain.gain, gain.offset, window);
      return turn_window(reinterpret_cast<const std::byte*>(window), exact, sizeof(float),
                         reinterpret_cast<std::byte*>(out));
    }
    const Points& points = factor_ > 1 ? reduced_ : points_;
    const Window& window = points.window;
    const auto pixels = static_cast<std::size_t>(window.height * window.width);
    float* const read = floats(factor_ > 1 ? 2 * pixels : pixels);
    read_window(plane, window, gain.gain, gain.offset, read);
    const float* source = read;
    if (factor_ > 1) {
      reduce_plane(read, window.height, window.width, factor_, read + pixels);
      source = read + pixels;
    }
    sample_bilinear(source, window.width / factor_, window.height / factor_, points.x.data(), points.y.data(),
                    count, out);
  }

  void mask_plane(const PlaneView& plane, std::byte* out) {
    const std::size_t size = dtype_size(plane.dtype);
    if (placement_.exact) {
      const ExactPlacement& exact = *placement_.exact;
      if (!exact.transposed && !exact.flip_x && !exact.flip_y) return copy_window(plane, exact.window, out);
      std::byte* const window = bytes(static_cast<std::size_t>(placement_.height * placement_.width) * size);
      copy_window(plane, exact.window, window);
      return turn_window(window, exact, size, out);
    }
    const Window& window = points_.window;
    if (nearest_.empty()) {
      nearest_.resize(points_.x.size());
      nearest_indices(window.width, window.height, points_.x.data(), points_.y.data(), nearest_.size(),
                      nearest_.data());
    }
    std::byte* const read = bytes(static_cast<std::size_t>(window.height * window.width) * size);
    copy_window(plane, window, read);
    switch (size) {
      case 1:
        return pick<uint8_t>(read, out);
      case 2:
        return pick<uint16_t>(read, out);
      case 4:
        return pick<uint32_t>(read, out);
      default:
        return pick<uint64_t>(read, out);
    }
  }

 private:
  template <typename T>
  void pick(const std::byte* from, std::byte* to) const {
    const auto* source = reinterpret_cast<const T*>(from);
    auto* target = reinterpret_cast<T*>(to);
    for (std::size_t i = 0; i < nearest_.size(); ++i) target[i] = source[nearest_[i]];
  }
  std::byte* bytes(std::size_t count) {
    if (room_ < count) {
      scratch_ = std::make_unique_for_overwrite<std::byte[]>(count);
      room_ = count;
    }
    return scratch_.get();
  }
  float* floats(std::size_t count) { return reinterpret_cast<float*>(bytes(count * sizeof(float))); }

  const Placement& placement_;
  Points points_, reduced_;
  int64_t factor_ = 1;
  std::vector<int32_t> nearest_;
  std::unique_ptr<std::byte[]> scratch_;
  std::size_t room_ = 0;
};

class Augmentation final : public Transform {
 public:
  explicit Augmentation(AugmentOptions options) : options_(std::move(options)) {}

  Result<std::vector<Field>> fields(std::span<const Field> fields) const override;
  Status apply(const Sample& sample, std::span<const Field> fields, const SampleRandom& random,
               std::span<const TensorView> out) const override;

 private:
  Role role_of(const std::string& name) const {
    const auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    return has(options_.images) ? Role::kImage : has(options_.masks) ? Role::kMask : Role::kOther;
  }
  Gain gain_of(const Tensor& image, const Planes& planes, int64_t channel) const;
  void change_values(float* values, std::size_t count, int64_t channel, const SampleRandom& random) const;

  AugmentOptions options_;
};

Result<std::vector<Field>> Augmentation::fields(std::span<const Field> fields) const {
  std::vector<Field> result;
  for (const Field& field : fields) {
    const Role role = role_of(field.name);
    result.push_back(field);
    if (role == Role::kOther) continue;
    Field& made = result.back();
    if (made.shape.size() < 3)
      return invalid(fmt::format(
          "augmentation: the field '{}' has shape {}, but images and masks are [channels, height, "
          "width]",
          field.name, shape_text(field.shape)));
    if (role == Role::kImage && !is_image_type(field.dtype))
      return unsupported(fmt::format("augmentation: the image '{}' is {}; convert it to 8, 16 or 32 bits",
                                     field.name, dtype_name(field.dtype)));
    if (role == Role::kImage) made.dtype = DType::kF32;
    const std::size_t rank = made.shape.size();
    const auto size = output_size(options_, made.shape[rank - 2], made.shape[rank - 1]);
    made.shape[rank - 2] = size[0];
    made.shape[rank - 1] = size[1];
    const auto channels = static_cast<std::size_t>(made.shape[0]);
    for (const auto* numbers : {&options_.mean, &options_.deviation})
      if (role == Role::kImage && numbers->size() > 1 && made.shape[0] != kVaries &&
          numbers->size() != channels)
        return invalid(fmt::format(
            "augmentation: {} means or deviations for an image of {} channels; give one, or one a "
            "channel",
            numbers->size(), channels));
  }
  return result;
}

Gain Augmentation::gain_of(const Tensor& image, const Planes& planes, int64_t channel) const {
  if (options_.normalise == Normalise::kRange) return {static_cast<float>(range_factor(image.dtype())), 0};
  const PlaneView first = plane_of(image, planes, channel * planes.depth);
  const auto [low, high] =
      percentiles_of(first, planes.depth, options_.low_percentile, options_.high_percentile);
  const double gain = 1 / std::max(high - low, 1e-12 * std::max(1.0, std::abs(high)));
  if (high <= low) return {0, 0};  // an even image has nothing to stretch
  return {static_cast<float>(gain), static_cast<float>(-low * gain)};
}

void Augmentation::change_values(float* values, std::size_t count, int64_t channel,
                                 const SampleRandom& random) const {
  double gain = 1, offset = 0;
  const auto apply_linear = [&] {
    if (gain != 1 || offset != 0)
      scale_and_shift(values, count, static_cast<float>(gain), static_cast<float>(offset));
    gain = 1, offset = 0;
  };
  if (options_.brightness > 0) offset = random.uniform(kBrightnessStep, 0, -1, 1) * options_.brightness;
  if (options_.contrast > 0) {
    const double mean = sum_of(values, count) / static_cast<double>(count) + offset;
    gain = 1 + random.uniform(kContrastStep, 0, -1, 1) * options_.contrast;
    offset = offset * gain + mean * (1 - gain);
  }
  if (options_.gamma > 0) {
    apply_linear();
    apply_gamma(values, count,
                static_cast<float>(std::pow(1 + options_.gamma, random.uniform(kGammaStep, 0, -1, 1))));
  }
  if (options_.noise > 0) {
    apply_linear();
    // Channels follow each other in the step's numbers; a block is four of them.
    const uint64_t first = random.first_of(kNoiseStep) + static_cast<uint64_t>(channel) * ((count + 3) / 4);
    add_noise(values, count, static_cast<float>(options_.noise), random.seed(), random.stream(), first);
  }
  const auto of_channel = [&](const std::vector<double>& numbers, double otherwise) {
    return numbers.empty() ? otherwise : numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  };
  const double deviation = of_channel(options_.deviation, 1);
  gain /= deviation;
  offset = (offset - of_channel(options_.mean, 0)) / deviation;
  apply_linear();
}

Status Augmentation::apply(const Sample& sample, std::span<const Field> fields, const SampleRandom& random,
                           std::span<const TensorView> out) const {
  std::optional<Placement> placement;
  std::optional<Sampling> sampling;
  Planes first;  // whose size the placement is made for
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Tensor& from = sample[i];
    const Role role = role_of(fields[i].name);
    if (role == Role::kOther) {
      if (from.dtype() != out[i].dtype || from.size() != out[i].size())
        return invalid(
            fmt::format("its '{}' is {}{}, but samples of the batch have {}{}: one batch, one shape",
                        fields[i].name, dtype_name(from.dtype()), shape_text(from.shape()),
                        dtype_name(out[i].dtype), shape_text(out[i].shape)));
      if (from.bytes() != 0) std::memcpy(out[i].data, from.data(), from.bytes());
      continue;
    }
    const Planes planes = planes_of(from.shape()), made = planes_of(out[i].shape);
    if (!placement) {
      HONE_ASSIGN(placement, place_in(options_, random, planes.height, planes.width));
      first = planes;
    }
    if (planes.height != first.height || planes.width != first.width)
      return invalid(fmt::format(
          "its image is {} x {} pixels, its mask {} x {}: they belong to each other only where they "
          "have one size",
          first.width, first.height, planes.width, planes.height));
    if (planes.count() != made.count() || placement->height != made.height || placement->width != made.width)
      return invalid(fmt::format(
          "its image {} becomes {} x {} pixels, but those of the batch are {}: images of mixed size; "
          "crop or resize them to one",
          shape_text(from.shape()), placement->width, placement->height, shape_text(out[i].shape)));
    if (!sampling) sampling.emplace(*placement);
    if (!sampling->fits())
      return unsupported(
          "more than 2^31 pixels would be turned or scaled at once; crop less, or cut the image to pieces");
    const auto pixels = static_cast<std::size_t>(made.height * made.width);
    if (role == Role::kMask) {
      const std::size_t bytes = pixels * dtype_size(from.dtype());
      if (from.dtype() != out[i].dtype)
        return invalid(fmt::format("its mask is {}, those of the batch {}", dtype_name(from.dtype()),
                                   dtype_name(out[i].dtype)));
      for (int64_t p = 0; p < planes.count(); ++p)
        sampling->mask_plane(plane_of(from, planes, p),
                             static_cast<std::byte*>(out[i].data) + static_cast<std::size_t>(p) * bytes);
      continue;
    }
    for (int64_t c = 0; c < planes.channels; ++c) {
      const Gain gain = gain_of(from, planes, c);
      float* const channel = out[i].as<float>() + static_cast<std::size_t>(c * planes.depth) * pixels;
      for (int64_t z = 0; z < planes.depth; ++z)
        sampling->image_plane(plane_of(from, planes, c * planes.depth + z), gain,
                              channel + static_cast<std::size_t>(z) * pixels);
      change_values(channel, pixels * static_cast<std::size_t>(planes.depth), c, random);
    }
  }
  return {};
}

Status check_strengths(const AugmentOptions& o) {
  struct Range {
    const char* name;
    double value, low, high;
  };
  const Range ranges[] = {{"rotate", o.rotate, 0, 180},
                          {"scale", o.scale, 0, 9},
                          {"elastic", o.elastic, 0, 1000},
                          {"elastic_cell", o.elastic_cell, 2, 1e6},
                          {"brightness", o.brightness, 0, 1e6},
                          {"contrast", o.contrast, 0, 1},
                          {"gamma", o.gamma, 0, 100},
                          {"noise", o.noise, 0, 1e6},
                          {"low_percentile", o.low_percentile, 0, 100},
                          {"high_percentile", o.high_percentile, o.low_percentile, 100}};
  for (const Range& range : ranges)
    if (!(range.value >= range.low && range.value <= range.high))
      return invalid(fmt::format("augmentation: {} is {}, but must be from {} to {}", range.name, range.value,
                                 range.low, range.high));
  for (const auto& [name, size] : {std::pair{"crop", o.crop}, std::pair{"resize", o.resize}}) {
    const bool none = size[0] == 0 && size[1] == 0;
    if (!none && (size[0] < 1 || size[1] < 1 || size[0] > 1 << 20 || size[1] > 1 << 20))
      return invalid(fmt::format("augmentation: {} to {} x {} pixels", name, size[1], size[0]));
  }
  for (const double deviation : o.deviation)
    if (!(deviation > 0))
      return invalid(fmt::format("augmentation: a deviation of {}; give more than 0", deviation));
  return {};
}

}  // namespace

Result<std::shared_ptr<const Transform>> make_augmentation(const AugmentOptions& options) {
  HONE_CHECK(check_strengths(options));
  return std::shared_ptr<const Transform>(std::make_shared<Augmentation>(options));
}

}  // namespace hone::data
