#include "data/image/image_list.h"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

#include "data/file_bytes.h"
#include "data/image/tiff.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kReadWhole = uint64_t{32}
                                << 20;  // larger TIFF files are read by the pieces that are needed

bool has_tiff_name(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return suffix == ".tif" || suffix == ".tiff";
}

// A page or stack of a TIFF file, reading no more of it than that.
Result<Tensor> read_tiff_part(const ImagePart& part, Pages pages, const ImageLimits& limits,
                              StageTimes& times, Narrow narrow) {
  StageTimes both;
  int64_t read_ns = 0;
  const auto read = [&]() -> Result<Tensor> {
    const StageTimer timer(both, Stage::kDecode);
    HONE_ASSIGN(const TiffFile file, TiffFile::open(part.path, limits, narrow));
    const auto decode = [&]() -> Result<Tensor> {
      if (pages != Pages::kStack) return file.read_page(part.part);
      HONE_ASSIGN(const StackAxes axes, file.axes());
      return file.read_stack(axes, part.part);
    };
    auto image = decode();
    read_ns = file.read_ns();
    return image;
  };
  auto image = read();
  times[Stage::kRead] += read_ns;
  times[Stage::kDecode] += both[Stage::kDecode] - read_ns;
  return image;
}

}  // namespace

std::string ImagePart::name() const {
  return parts == 1 ? path.string() : fmt::format("{} (part {} of {})", path.string(), part, parts);
}

Result<std::map<std::string, fs::path>> list_images(const fs::path& folder, const std::string& suffix) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    return not_found(fmt::format("cannot read the images in '{}': there is no such folder", folder.string()));
  std::map<std::string, fs::path> images;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    const fs::path& path = it->path();
    std::string stem = path.stem().string();
    if (!has_image_name(path) || path.filename().string().starts_with('.') || !stem.ends_with(suffix))
      continue;
    if (stem.ends_with(".ome")) stem.resize(stem.size() - 4);
    stem.resize(stem.size() - suffix.size());
    const auto [other, is_new] = images.emplace(stem, path);
    if (!is_new)
      return invalid(fmt::format("'{}' and '{}' have the same name; which one is the image '{}'?",
                                 other->second.filename().string(), path.filename().string(), stem));
  }
  if (failed) return io_error(fmt::format("cannot list '{}': {}", folder.string(), failed.message()));
  if (images.empty())
    return not_found(fmt::format("'{}' holds no images{} (.png, .jpg, .tif, .npy)", folder.string(),
                                 suffix.empty() ? "" : fmt::format(" whose names end in '{}'", suffix)));
  return images;
}

Result<std::vector<ImagePart>> parts_of(const fs::path& path, Pages pages, const ImageLimits& limits) {
  if (pages == Pages::kFirst || !has_tiff_name(path)) return std::vector<ImagePart>{{path, 0, 1}};
  const auto count_parts = [&]() -> Result<int64_t> {
    HONE_ASSIGN(const TiffFile file, TiffFile::open(path, limits));
    if (pages == Pages::kEach) return file.pages();
    HONE_ASSIGN(const StackAxes axes, file.axes());
    return axes.times;
  };
  const auto counted = count_parts();
  // A damaged file is a sample that cannot be read: whoever takes it fails then, or skips it.
  if (!counted.ok() && counted.error().code == ErrorCode::kIo) return counted.error();
  const int64_t count = counted.ok() ? *counted : 1;
  std::vector<ImagePart> parts;
  for (int64_t i = 0; i < count; ++i) parts.push_back({path, i, count});
  return parts;
}

Result<Tensor> read_part(const ImagePart& part, Pages pages, const ImageLimits& limits, StageTimes& times,
                         Narrow narrow) {
  std::error_code failed;
  const bool by_pieces = has_tiff_name(part.path) && (part.parts > 1 || pages == Pages::kStack ||
                                                      fs::file_size(part.path, failed) > kReadWhole);
  if (by_pieces && !failed) return read_tiff_part(part, pages, limits, times, narrow);
  HONE_ASSIGN(Tensor image, read_image(part.path, times, limits, narrow));
  const Shape& shape = image.shape();
  if (pages == Pages::kStack) {  // one image is a stack of one
    if (shape.size() == 3) return image.reshaped({shape[0], 1, shape[1], shape[2]});
    return image;
  }
  if (shape.size() != 3)
    return unsupported(
        fmt::format("{}: its shape {} is no image of [channels, height, width]; read it as a stack",
                    part.path.string(), shape_text(shape)));
  return image;
}

Result<Field> image_field(const std::string& name, const std::vector<ImagePart>& parts, Pages pages,
                          const ImageLimits& limits) {
  Error first = invalid(fmt::format("there is no {} to read", name));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    StageTimes ignored;
    const auto image = read_part(parts[i], pages, limits, ignored);
    if (!image.ok() && !is_damage(image.error())) return image.error();
    if (!image.ok()) {
      if (i == 0) first = image.error();
      continue;
    }
    Field field{name, image->dtype(), image->shape()};
    for (std::size_t axis = 1; axis < field.shape.size(); ++axis) field.shape[axis] = kVaries;
    return field;
  }
  return first;
}

Status check_depth(const Tensor& image, const Field& field) {
  if (image.dtype() == field.dtype && image.rank() == std::ssize(field.shape) &&
      image.shape()[0] == field.shape[0])
    return {};
  return invalid(fmt::format(
      "its {} is {} with {} channels, but the first one's is {} with {}: images of one data set "
      "have one depth; convert the odd ones",
      field.name, dtype_name(image.dtype()), image.shape()[0], dtype_name(field.dtype), field.shape[0]));
}

}  // namespace hone::data
