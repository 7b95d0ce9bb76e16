// Data sets of Zarr arrays: samples are places along n and t, and pieces of z, y and x.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "core/hash.h"
#include "data/file_bytes.h"
#include "data/zarr/zarr.h"

namespace hone::data {
namespace {

constexpr std::string_view kSpace = "zyx";

// An array with its axes named.
struct NamedArray {
  ZarrArray array;
  std::string axes;

  std::optional<std::size_t> find(char axis) const {
    const std::size_t at = axes.find(axis);
    return at == std::string::npos ? std::nullopt : std::optional(at);
  }
  int64_t extent(char axis) const {
    const auto at = find(axis);
    return at ? array.shape()[*at] : 1;
  }
};

Result<NamedArray> name_axes(ZarrArray array, std::string axes) {
  const std::size_t rank = array.shape().size();
  const auto within = [&](const Error& error) { return error.within(array.folder().string()); };
  if (axes.empty()) axes = array.axes();
  if (axes.empty()) {
    constexpr std::array<std::string_view, 4> kUsual = {"yx", "nyx", "ncyx", "nczyx"};
    if (rank < 2 || rank > 5)
      return within(invalid(
          fmt::format("an array of shape {} has no usual meaning; say what its axes are, as in \"ncyx\"",
                      shape_text(array.shape()))));
    axes = kUsual[rank - 2];
  }
  if (axes.size() != rank)
    return within(invalid(fmt::format("the axes \"{}\" are {}, the array's shape {} has {}", axes,
                                      axes.size(), shape_text(array.shape()), rank)));
  for (const char axis : axes)
    if (std::string_view("ntczyx").find(axis) == std::string_view::npos ||
        std::count(axes.begin(), axes.end(), axis) > 1)
      return within(invalid(fmt::format("the axes \"{}\": each is one of n, t, c, z, y and x, once", axes)));
  if (axes.find('y') == std::string::npos || axes.find('x') == std::string::npos)
    return within(invalid(fmt::format("the axes \"{}\" name no y and x", axes)));
  return NamedArray{std::move(array), std::move(axes)};
}

// Elements with their axes in the order of `axes` put into that of `wanted`, which names the same ones.
Tensor reordered(const Tensor& from, const std::string& axes, const std::string& wanted) {
  if (axes == wanted) return from;
  const std::vector<int64_t> strides = row_major_strides(from.shape());
  Shape shape;
  std::vector<int64_t> steps;
  for (const char axis : wanted) {
    shape.push_back(from.shape()[axes.find(axis)]);
    steps.push_back(strides[axes.find(axis)]);
  }
  Tensor to(from.dtype(), shape);
  const std::size_t size = dtype_size(from.dtype());
  const auto* source = static_cast<const std::byte*>(from.data());
  auto* target = static_cast<std::byte*>(to.data());
  Shape index(shape.size(), 0);
  int64_t at = 0;
  for (int64_t i = 0; i < to.size(); ++i, target += size) {
    std::memcpy(target, source + static_cast<std::size_t>(at) * size, size);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      at += steps[axis];
      if (++index[axis] < shape[axis]) break;
      at -= steps[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return to;
}

Tensor widened(Tensor tensor) {
  if (tensor.dtype() != DType::kF16) return tensor;
  Tensor wide(DType::kF32, tensor.shape());
  const auto from = std::as_const(tensor).as<uint16_t>();
  std::transform(from.begin(), from.end(), wide.as<float>().begin(), f16_to_f32);
  return wide;
}

class ZarrSet final : public ZarrDataset {
 public:
  ZarrSet(std::vector<NamedArray> arrays, Tensor labels, std::array<int64_t, 3> patch, uint64_t version,
          std::shared_ptr<CacheBudget> cache)
      : arrays_(std::move(arrays)), labels_(std::move(labels)), patch_(patch), version_(version) {
    const NamedArray& image = arrays_[0];
    for (std::size_t i = 0; i < kSpace.size(); ++i) {
      const int64_t extent = image.extent(kSpace[i]);
      patch_[i] = patch_[i] == 0 ? extent : patch_[i];
      pieces_[i] = (extent + patch_[i] - 1) / patch_[i];
      per_image_ *= pieces_[i];
    }
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const DType dtype = arrays_[i].array.dtype() == DType::kF16 ? DType::kF32 : arrays_[i].array.dtype();
      Shape shape = {arrays_[i].extent('c')};
      for (std::size_t k = 0; k < kSpace.size(); ++k)
        if (kSpace[k] != 'z' || image.find('z')) shape.push_back(patch_[k]);
      fields_.push_back({i == 0 ? "image" : "mask", dtype, std::move(shape)});
    }
    if (labels_.defined()) fields_.push_back({"label", labels_.dtype(), {}});
    if (cache && share_chunks()) keep_chunks(std::move(cache));
  }

  std::shared_ptr<const ChunkCache> chunks() const override { return chunks_; }

  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return arrays_[0].extent('n') * arrays_[0].extent('t') * per_image_; }
  std::string name_of(int64_t index) const override {
    return fmt::format("{} (sample {})", arrays_[0].array.folder().string(), index);
  }
  // Chunks are many files; the date of the metadata's stands for them.
  uint64_t version_of(int64_t index) const override { return fnv1a(name_of(index)) + version_; }

  Result<Sample> read(int64_t index) const override {
    StageTimes ignored;
    return read_timed(index, ignored);
  }
  Result<Sample> read_timed(int64_t index, StageTimes& times) const override {
    Sample sample;
    for (const NamedArray& named : arrays_) {
      HONE_ASSIGN(Tensor tensor, read_piece(named, index, times));
      sample.push_back(std::move(tensor));
    }
    const int64_t image = index / per_image_;
    if (labels_.dtype() == DType::kI64) sample.push_back(Tensor::scalar_i64(labels_.int_at(image)));
    if (labels_.dtype() == DType::kF32)
      sample.push_back(Tensor::scalar_f32(static_cast<float>(labels_.at(image))));
    return sample;
  }

 private:
  // Whether a chunk is part of several samples. Channels do not tell samples apart.
  bool share_chunks() const {
    for (const NamedArray& named : arrays_)
      for (std::size_t i = 0; i < named.axes.size(); ++i) {
        const int64_t extent = named.array.shape()[i], chunk = named.array.chunk()[i];
        if (named.axes[i] == 'n' || named.axes[i] == 't') {
          if (extent > 1 && chunk > 1) return true;
          continue;
        }
        const std::size_t space = kSpace.find(named.axes[i]);
        if (space == std::string_view::npos || pieces_[space] == 1) continue;
        if (patch_[space] % chunk != 0 || extent % patch_[space] != 0) return true;
      }
    return false;
  }

  void keep_chunks(std::shared_ptr<CacheBudget> budget) {
    chunks_ = std::make_shared<ChunkCache>(std::move(budget));
    for (NamedArray& named : arrays_) {
      int64_t of_a_sample = static_cast<int64_t>(dtype_size(named.array.dtype()));
      for (std::size_t i = 0; i < named.axes.size(); ++i) {
        const int64_t chunk = named.array.chunk()[i], extent = named.array.shape()[i];
        const std::size_t space = kSpace.find(named.axes[i]);
        const int64_t all = (extent + chunk - 1) / chunk;
        const int64_t touched = space != std::string_view::npos ? (patch_[space] - 1) / chunk + 2
                                : named.axes[i] == 'c'          ? all
                                                                : 1;
        of_a_sample *= std::min(touched, all) * chunk;
      }
      named.array.keep_chunks(chunks_, of_a_sample);
    }
  }

  Result<Tensor> read_piece(const NamedArray& named, int64_t index, StageTimes& times) const {
    const int64_t image = index / per_image_;
    int64_t piece = index % per_image_;
    std::array<int64_t, 3> at{};
    for (std::size_t i = kSpace.size(); i-- > 0;) {
      at[i] = std::min(piece % pieces_[i] * patch_[i], arrays_[0].extent(kSpace[i]) - patch_[i]);
      piece /= pieces_[i];
    }
    std::vector<int64_t> start, extent;
    std::string axes;  // that the sample has
    Shape shape;
    for (const char axis : named.axes) {
      const std::size_t space = kSpace.find(axis);
      const bool counts_samples = axis == 'n' || axis == 't';
      start.push_back(axis == 'n'   ? image / arrays_[0].extent('t')
                      : axis == 't' ? image % arrays_[0].extent('t')
                      : axis == 'c' ? 0
                                    : at[space]);
      extent.push_back(counts_samples ? 1 : axis == 'c' ? named.extent('c') : patch_[space]);
      if (counts_samples) continue;
      axes += axis;
      shape.push_back(extent.back());
    }
    HONE_ASSIGN(Tensor box, named.array.read(start, extent, times));
    const StageTimer timer(times, Stage::kDecode);
    std::string wanted;
    for (const char axis : std::string_view("czyx"))
      if (axes.find(axis) != std::string::npos) wanted += axis;
    Tensor tensor = widened(reordered(box.reshaped(shape), axes, wanted));
    Shape full = tensor.shape();
    if (!named.find('c')) full.insert(full.begin(), 1);
    return tensor.reshaped(std::move(full));
  }

  std::vector<NamedArray> arrays_;  // the image, then the mask
  std::shared_ptr<ChunkCache> chunks_;
  Tensor labels_;
  std::array<int64_t, 3> patch_, pieces_{};
  uint64_t version_;
  int64_t per_image_ = 1;
  std::vector<Field> fields_;
};

Result<Tensor> read_labels(const std::filesystem::path& folder, int64_t images) {
  HONE_ASSIGN(const ZarrArray array, ZarrArray::open(folder));
  if (array.shape() != Shape{images})
    return invalid(fmt::format("{}: labels of shape {} for {} images: one for each is needed",
                               folder.string(), shape_text(array.shape()), images));
  StageTimes ignored;
  HONE_ASSIGN(const Tensor labels, array.read(Shape{0}, Shape{images}, ignored, 2));
  if (!is_float(labels.dtype())) return Tensor::i64({images}, labels.to_ints());
  std::vector<float> values;
  for (const double value : labels.to_doubles()) values.push_back(static_cast<float>(value));
  return Tensor::f32({images}, values);
}

}  // namespace

Result<std::shared_ptr<const ZarrDataset>> open_zarr(const ZarrOptions& options) {
  std::vector<NamedArray> arrays;
  HONE_ASSIGN(ZarrArray image, ZarrArray::open(options.image));
  HONE_ASSIGN(NamedArray named, name_axes(std::move(image), options.axes));
  arrays.push_back(std::move(named));
  if (!options.mask.empty()) {
    HONE_ASSIGN(ZarrArray mask, ZarrArray::open(options.mask));
    HONE_ASSIGN(NamedArray named_mask, name_axes(std::move(mask), options.mask_axes));
    for (const char axis : std::string_view("ntzyx"))
      if (named_mask.extent(axis) != arrays[0].extent(axis))
        return invalid(
            fmt::format("{}: its axis {} is {} long, that of the image {}: a mask has the size of its image",
                        options.mask.string(), axis, named_mask.extent(axis), arrays[0].extent(axis)));
    arrays.push_back(std::move(named_mask));
  }
  for (std::size_t i = 0; i < kSpace.size(); ++i)
    if (options.patch[i] < 0 || options.patch[i] > arrays[0].extent(kSpace[i]))
      return invalid(fmt::format("{}: pieces of {} along {}, which is {} long", options.image.string(),
                                 options.patch[i], kSpace[i], arrays[0].extent(kSpace[i])));
  const int64_t images = arrays[0].extent('n') * arrays[0].extent('t');
  if (element_count(arrays[0].array.shape()) == 0)
    return invalid(fmt::format("{}: the array is empty: its shape is {}", options.image.string(),
                               shape_text(arrays[0].array.shape())));
  Tensor labels;
  if (!options.label.empty()) {
    HONE_ASSIGN(labels, read_labels(options.label, images));
  }
  uint64_t version = 0;
  for (const NamedArray& array : arrays)
    for (const char* name : {".zarray", "zarr.json"}) version += file_version(array.array.folder() / name);
  return std::shared_ptr<const ZarrDataset>(
      std::make_shared<ZarrSet>(std::move(arrays), std::move(labels), options.patch, version, options.cache));
}

}  // namespace hone::data
