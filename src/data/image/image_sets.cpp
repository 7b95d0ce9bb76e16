#include "data/image/image_sets.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "data/file_bytes.h"
#include "data/image/image_list.h"
#include "data/table/csv.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

class ImageSet final : public Dataset {
 public:
  ImageSet(std::vector<ImagePart> parts, Pages pages, const ImageLimits& limits, Field field,
           Tensor labels = {})
      : parts_(std::move(parts)),
        pages_(pages),
        limits_(limits),
        fields_{std::move(field)},
        labels_(std::move(labels)) {
    if (labels_.defined()) fields_.push_back({"label", labels_.dtype(), {}});
  }
  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return std::ssize(parts_); }
  std::string name_of(int64_t index) const override { return part(index).name(); }
  uint64_t version_of(int64_t index) const override {
    return file_version(part(index).path) + static_cast<uint64_t>(part(index).part);
  }
  Result<Sample> read(int64_t index) const override {
    StageTimes ignored;
    return read_timed(index, ignored);
  }
  Result<Sample> read_timed(int64_t index, StageTimes& times) const override {
    HONE_ASSIGN(Tensor image, read_part(part(index), pages_, limits_, times));
    const Status fits = check_depth(image, fields_[0]);
    if (!fits.ok()) return fits.error().within(name_of(index));
    Sample sample = {std::move(image)};
    if (labels_.dtype() == DType::kI64) sample.push_back(Tensor::scalar_i64(labels_.int_at(index)));
    if (labels_.dtype() == DType::kF32)
      sample.push_back(Tensor::scalar_f32(static_cast<float>(labels_.at(index))));
    return sample;
  }

 private:
  const ImagePart& part(int64_t index) const { return parts_[static_cast<std::size_t>(index)]; }
  std::vector<ImagePart> parts_;
  Pages pages_;
  ImageLimits limits_;
  std::vector<Field> fields_;
  Tensor labels_;  // undefined: none
};

// Calls visit(the elements of a mask as their type): integers of up to 32 bits, and f32 for binary ones.
template <typename Visit>
auto visit_mask(const Tensor& mask, Visit&& visit) {
  switch (mask.dtype()) {
    case DType::kU8:
    case DType::kBool:
      return visit(mask.as<uint8_t>());
    case DType::kI8:
      return visit(mask.as<int8_t>());
    case DType::kU16:
      return visit(mask.as<uint16_t>());
    case DType::kI16:
      return visit(mask.as<int16_t>());
    case DType::kU32:
      return visit(mask.as<uint32_t>());
    case DType::kI32:
      return visit(mask.as<int32_t>());
    default:
      return visit(mask.as<float>());
  }
}

Tensor binary_mask(const Tensor& mask) {
  Shape shape = mask.shape();
  const int64_t channels = std::exchange(shape[0], 1);
  Tensor binary = Tensor::zeros(DType::kU8, shape);
  // Colour masks: what any colour marks. Alpha (the fourth, or the second of two) marks nothing.
  const int64_t colours = channels == 2 || channels == 4 ? channels - 1 : channels;
  auto out = binary.as<uint8_t>();
  visit_mask(mask, [&](const auto values) {
    for (int64_t c = 0; c < colours; ++c)
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] |= values[static_cast<std::size_t>(c) * out.size() + i] != 0 ? 1 : 0;
  });
  return binary;
}

// The class numbers of a mask, or 1 where it is binary and marked.
Result<Tensor> clean_mask(Tensor mask, MaskValues values, int64_t classes) {
  const bool is_binary = values == MaskValues::kBinary;
  if (dtype_size(mask.dtype()) > 4 || (is_float(mask.dtype()) && !(is_binary && mask.dtype() == DType::kF32)))
    return unsupported(fmt::format("its values are {}; save class numbers as 8 or 16 bit integers",
                                   dtype_name(mask.dtype())));
  if (is_binary) return binary_mask(mask);
  if (mask.shape()[0] != 1)
    return unsupported(fmt::format(
        "it has {} channels, a mask of classes has one; save class numbers as grey values", mask.shape()[0]));
  if (classes == 0) return mask;
  const auto [low, high] = visit_mask(mask, [](const auto all) {
    const auto [least, most] = std::minmax_element(all.begin(), all.end());
    return std::pair(static_cast<int64_t>(*least), static_cast<int64_t>(*most));
  });
  if (low >= 0 && high < classes) return mask;
  return corrupt(
      fmt::format("it holds the value {}, but there are {} classes (0 to {}); masks of black and white are "
                  "binary",
                  low < 0 ? low : high, classes, classes - 1));
}

class PairSet final : public Dataset {
 public:
  PairSet(std::vector<ImagePart> images, std::vector<ImagePart> masks, PairOptions options,
          std::vector<Field> fields)
      : images_(std::move(images)),
        masks_(std::move(masks)),
        options_(std::move(options)),
        fields_(std::move(fields)) {}
  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return std::ssize(images_); }
  std::string name_of(int64_t index) const override {
    return images_[static_cast<std::size_t>(index)].name();
  }
  uint64_t version_of(int64_t index) const override {
    const auto i = static_cast<std::size_t>(index);
    return file_version(images_[i].path) * 31 + file_version(masks_[i].path) * 7 +
           static_cast<uint64_t>(images_[i].part * 2 + (options_.mask_values == MaskValues::kBinary));
  }
  Result<Sample> read(int64_t index) const override {
    StageTimes ignored;
    return read_timed(index, ignored);
  }
  Result<Sample> read_timed(int64_t index, StageTimes& times) const override {
    const auto i = static_cast<std::size_t>(index);
    HONE_ASSIGN(Tensor image, read_part(images_[i], options_.pages, options_.limits, times));
    HONE_ASSIGN(Tensor raw, read_part(masks_[i], options_.pages, options_.limits, times, Narrow::kStored));
    const StageTimer timer(times, Stage::kDecode);
    auto mask = clean_mask(std::move(raw), options_.mask_values, options_.classes);
    if (!mask.ok()) return mask.error().within("mask " + masks_[i].name());
    const Status fits = check_depth(image, fields_[0]);
    if (!fits.ok()) return fits.error().within(images_[i].name());
    const Status mask_fits = check_depth(*mask, fields_[1]);
    if (!mask_fits.ok()) return mask_fits.error().within("mask " + masks_[i].name());
    if (!std::equal(image.shape().begin() + 1, image.shape().end(), mask->shape().begin() + 1,
                    mask->shape().end()))
      return corrupt(fmt::format("{}: the image is {}, its mask '{}' is {}: a mask has the size of its image",
                                 images_[i].name(), shape_text(image.shape()), masks_[i].name(),
                                 shape_text(mask->shape())));
    return Sample{std::move(image), *std::move(mask)};
  }

 private:
  std::vector<ImagePart> images_, masks_;
  PairOptions options_;
  std::vector<Field> fields_;
};

Error unmatched(const char* what, const fs::path& path, const char* other, const fs::path& folder,
                const std::string& stem, const std::string& suffix) {
  return invalid(fmt::format(
      "the {} '{}' has no {}: '{}' holds no '{}{}' with an image's extension; add it, or take the "
      "{} away",
      what, path.string(), other, folder.string(), stem, suffix, what));
}

template <typename T>
std::optional<T> number_in(const std::string& text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(number) : std::nullopt;
}

std::optional<float> target_in(const std::string& text) {
  const auto number = number_in<float>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// Names of classes in their order: by number where all are numbers (2 before 10), else by letter.
std::vector<std::string> classes_in_order(const std::set<std::string>& names) {
  std::vector<std::string> classes(names.begin(), names.end());
  const auto is_number = [](const std::string& name) { return number_in<int64_t>(name).has_value(); };
  if (std::all_of(classes.begin(), classes.end(), is_number))
    std::stable_sort(classes.begin(), classes.end(), [](const std::string& a, const std::string& b) {
      return *number_in<int64_t>(a) < *number_in<int64_t>(b);
    });
  return classes;
}

// A label without the blanks around it.
std::string label_of(const std::string& cell) {
  constexpr const char* kBlanks = " \t";
  const std::size_t first = cell.find_first_not_of(kBlanks);
  return first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(kBlanks) - first + 1);
}

// One label that is no number among numbers would make names of all: it is a slip.
Status check_labels(const Table& table, const std::vector<std::string>& labels) {
  std::size_t number = labels.size(), name = labels.size();  // where the first of each is
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty()) return invalid(fmt::format("line {}: the label is empty", table.rows[i].line));
    std::size_t& first = target_in(labels[i]) ? number : name;
    first = std::min(first, i);
  }
  if (std::max(number, name) == labels.size()) return {};
  return invalid(
      fmt::format("line {}: the label '{}' is no number, but that of line {} is ({}): labels are all numbers "
                  "or all names",
                  table.rows[name].line, labels[name], table.rows[number].line, labels[number]));
}

Result<Tensor> labels_from(const Table& table, std::size_t column, int64_t classes,
                           std::vector<std::string>& names) {
  std::vector<std::string> labels;
  for (const auto& row : table.rows) labels.push_back(label_of(row.cells[column]));
  HONE_CHECK(check_labels(table, labels));
  std::vector<int64_t> integers;
  std::vector<float> numbers;
  for (const std::string& label : labels) {
    if (const auto integer = number_in<int64_t>(label)) integers.push_back(*integer);
    if (const auto number = target_in(label)) numbers.push_back(*number);
  }
  const auto count = std::ssize(labels);
  if (std::ssize(integers) == count) {
    for (std::size_t i = 0; classes > 0 && i < integers.size(); ++i)
      if (integers[i] < 0 || integers[i] >= classes)
        return invalid(fmt::format("line {}: the label {} is out of range: there are {} classes, from 0",
                                   table.rows[i].line, integers[i], classes));
    return Tensor::i64({count}, integers);
  }
  if (std::ssize(numbers) == count) return Tensor::f32({count}, numbers);
  const std::set<std::string> different(labels.begin(), labels.end());
  names.assign(different.begin(), different.end());
  integers.clear();
  for (const std::string& label : labels)
    integers.push_back(std::lower_bound(names.begin(), names.end(), label) - names.begin());
  return Tensor::i64({count}, integers);
}

// Whether a file of one folder for both belongs to the others: "cell1_mask" among images without a suffix.
bool is_of_others(const std::string& stem, const std::string& suffix, const std::string& other_suffix) {
  return suffix.empty() && stem.ends_with(other_suffix);
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_pairs(const PairOptions& options) {
  std::error_code none;
  const bool together = fs::equivalent(options.images, options.masks, none);
  if (together && options.image_suffix == options.mask_suffix)
    return invalid(fmt::format(
        "'{}' holds images and masks, and nothing tells them apart: give a mask_suffix, or a folder "
        "of masks",
        options.images.string()));
  HONE_ASSIGN(const auto images, list_images(options.images, options.image_suffix));
  HONE_ASSIGN(const auto masks, list_images(options.masks, options.mask_suffix));
  std::vector<ImagePart> image_parts, mask_parts;
  for (const auto& [stem, path] : images) {
    if (together && is_of_others(stem, options.image_suffix, options.mask_suffix)) continue;
    const auto mask = masks.find(stem);
    if (mask == masks.end())
      return unmatched("image", path, "mask", options.masks, stem, options.mask_suffix);
    HONE_ASSIGN(const auto parts, parts_of(path, options.pages, options.limits));
    HONE_ASSIGN(const auto other_parts, parts_of(mask->second, options.pages, options.limits));
    if (parts.size() != other_parts.size())
      return invalid(fmt::format("'{}' has {} parts, its mask '{}' has {}", path.string(), parts.size(),
                                 mask->second.string(), other_parts.size()));
    image_parts.insert(image_parts.end(), parts.begin(), parts.end());
    mask_parts.insert(mask_parts.end(), other_parts.begin(), other_parts.end());
  }
  for (const auto& [stem, path] : masks)
    if (!images.contains(stem) &&
        !(together && is_of_others(stem, options.mask_suffix, options.image_suffix)))
      return unmatched("mask", path, "image", options.images, stem, options.image_suffix);
  HONE_ASSIGN(Field image, image_field("image", image_parts, options.pages, options.limits));
  HONE_ASSIGN(Field mask, image_field("mask", mask_parts, options.pages, options.limits));
  if (options.mask_values == MaskValues::kBinary) {
    mask.dtype = DType::kU8;
    mask.shape[0] = 1;
  }
  return std::shared_ptr<const Dataset>(
      std::make_shared<PairSet>(std::move(image_parts), std::move(mask_parts), options,
                                std::vector<Field>{std::move(image), std::move(mask)}));
}

Result<ClassFolders> open_class_folders(const fs::path& folder, const ImageLimits& limits) {
  std::error_code failed;
  std::set<std::string> names;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    if (it->is_directory() && !it->path().filename().string().starts_with('.'))
      names.insert(it->path().filename().string());
  if (failed) return not_found(fmt::format("cannot list '{}': {}", folder.string(), failed.message()));
  if (names.empty())
    return invalid(
        fmt::format("'{}' holds no folders: each class is a folder of images in it", folder.string()));
  ClassFolders result;
  std::vector<ImagePart> parts;
  std::vector<int64_t> labels;
  result.classes = classes_in_order(names);
  for (std::size_t i = 0; i < result.classes.size(); ++i) {
    HONE_ASSIGN(const auto images, list_images(folder / result.classes[i], ""));
    for (const auto& [stem, path] : images) {
      parts.push_back({path, 0, 1});
      labels.push_back(static_cast<int64_t>(i));
    }
  }
  HONE_ASSIGN(Field field, image_field("image", parts, Pages::kFirst, limits));
  result.labels = Tensor::i64({std::ssize(labels)}, labels);
  result.dataset =
      std::make_shared<ImageSet>(std::move(parts), Pages::kFirst, limits, std::move(field), result.labels);
  return result;
}

Result<ClassFolders> open_labelled_images(const TableOptions& options) {
  HONE_ASSIGN(const Table table, read_table(options.table));
  const auto within = [&](const Error& error) { return error.within(options.table.string()); };
  const auto files = table.column(options.file_column), labels = table.column(options.label_column);
  if (!files.ok()) return within(files.error());
  if (!labels.ok()) return within(labels.error());
  if (table.rows.empty()) return within(invalid("the table has a heading but no rows"));
  ClassFolders result;
  std::vector<ImagePart> parts;
  std::error_code failed;
  for (const auto& row : table.rows) {
    parts.push_back({options.folder / row.cells[*files], 0, 1});
    if (!fs::is_regular_file(parts.back().path, failed))
      return within(
          not_found(fmt::format("line {}: there is no file '{}'", row.line, parts.back().path.string())));
  }
  auto values = labels_from(table, *labels, options.classes, result.classes);
  if (!values.ok()) return within(values.error());
  HONE_ASSIGN(Field field, image_field("image", parts, Pages::kFirst, options.limits));
  result.labels = *std::move(values);
  result.dataset = std::make_shared<ImageSet>(std::move(parts), Pages::kFirst, options.limits,
                                              std::move(field), result.labels);
  return result;
}

Result<std::shared_ptr<const Dataset>> open_images(const fs::path& folder, Pages pages,
                                                   const ImageLimits& limits) {
  HONE_ASSIGN(const auto images, list_images(folder, ""));
  std::vector<ImagePart> parts;
  for (const auto& [stem, path] : images) {
    HONE_ASSIGN(const auto of_file, parts_of(path, pages, limits));
    parts.insert(parts.end(), of_file.begin(), of_file.end());
  }
  HONE_ASSIGN(Field field, image_field("image", parts, pages, limits));
  return std::shared_ptr<const Dataset>(
      std::make_shared<ImageSet>(std::move(parts), pages, limits, std::move(field)));
}

}  // namespace hone::data
