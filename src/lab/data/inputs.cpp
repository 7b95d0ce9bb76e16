#include "lab/data/inputs.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>

#include <fmt/core.h>

#include "core/hash.h"
#include "core/philox.h"
#include "data/microscopy.h"

namespace hone::lab {
namespace {

enum class Content { kImages, kNormal, kOnes, kZeros, kPositions, kWholeRange, kIds, kUnsupported };

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool looks_like_images(const InputSpec& spec) {
  const Shape& shape = spec.shape;
  return spec.dtype == DType::kF32 && shape.size() == 4 && shape[1] >= 1 && shape[1] <= 4 && shape[2] >= 32 &&
         shape[3] >= 32;
}

Content content_of(const InputSpec& spec) {
  const std::string name = lower_case(spec.name);
  const auto named = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return name.find(word) != std::string::npos; });
  };
  if (spec.dtype == DType::kString || spec.dtype == DType::kUndefined) return Content::kUnsupported;
  if (spec.dtype == DType::kBool) return Content::kOnes;
  const bool mask = named({"mask"});
  if (is_float(spec.dtype) || is_complex(spec.dtype)) {
    if (mask) return Content::kOnes;
    return looks_like_images(spec) ? Content::kImages : Content::kNormal;
  }
  if (mask) return Content::kOnes;
  if (named({"token_type", "segment"})) return Content::kZeros;
  if (named({"position"})) return Content::kPositions;
  if (element_count(spec.shape) == 1 && !spec.index_limit) return Content::kOnes;
  if (dtype_bits(spec.dtype) <= 8 && !spec.index_limit) return Content::kWholeRange;
  return Content::kIds;
}

// The first number after the largest that ids may have: the caller's, or the safe one, within the dtype.
int64_t id_limit(const InputSpec& spec) {
  const int bits = dtype_bits(spec.dtype) - (is_signed(spec.dtype) ? 1 : 0);
  const int64_t most = bits >= 62 ? std::numeric_limits<int64_t>::max() : int64_t{1} << bits;
  return std::min(most, std::max<int64_t>(1, spec.index_limit.value_or(kSafeIndexLimit)));
}

template <typename T>
void fill(Tensor& tensor, const std::function<double(int64_t)>& value) {
  auto* out = static_cast<T*>(tensor.data());
  for (int64_t i = 0; i < tensor.size(); ++i) out[i] = static_cast<T>(value(i));
}

void fill_narrow(Tensor& tensor, const std::function<double(int64_t)>& value) {
  const DType dtype = tensor.dtype();
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.as<uint8_t>()[static_cast<std::size_t>(i)] = f32_to_narrow(dtype, static_cast<float>(value(i)));
}

// Writes value(i) to each element, rounded to the dtype; real and imaginary parts count as elements of their
// own.
void fill_any(Tensor& tensor, const std::function<double(int64_t)>& value) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return fill<float>(tensor, value);
    case DType::kF64:
      return fill<double>(tensor, value);
    case DType::kC64:
    case DType::kC128: {
      const bool wide = tensor.dtype() == DType::kC128;
      for (int64_t i = 0; i < 2 * tensor.size(); ++i) {
        if (wide)
          static_cast<double*>(tensor.data())[i] = value(i);
        else
          static_cast<float*>(tensor.data())[i] = static_cast<float>(value(i));
      }
      return;
    }
    case DType::kF16:
    case DType::kBF16:
      for (int64_t i = 0; i < tensor.size(); ++i) {
        const auto real = static_cast<float>(value(i));
        tensor.as<uint16_t>()[static_cast<std::size_t>(i)] =
            tensor.dtype() == DType::kF16 ? f32_to_f16(real) : f32_to_bf16(real);
      }
      return;
    case DType::kI16:
      return fill<int16_t>(tensor, value);
    case DType::kU16:
      return fill<uint16_t>(tensor, value);
    case DType::kI32:
      return fill<int32_t>(tensor, value);
    case DType::kU32:
      return fill<uint32_t>(tensor, value);
    case DType::kI64:
      return fill<int64_t>(tensor, value);
    case DType::kU64:
      return fill<uint64_t>(tensor, value);
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return fill<int8_t>(tensor, value);
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
    case DType::kBool:
      return fill<uint8_t>(tensor, value);
    default:
      return fill_narrow(tensor, value);
  }
}

Result<Tensor> make_images(const InputSpec& spec, uint64_t seed) {
  data::MicroscopyOptions options;
  options.images = spec.shape[0];
  options.channels = spec.shape[1];
  options.height = spec.shape[2];
  options.width = spec.shape[3];
  options.seed = seed;
  HONE_ASSIGN(data::Microscopy microscopy, data::synthesise_microscopy(options));
  return std::move(microscopy.images);
}

}  // namespace

std::string describe_input(const InputSpec& spec) {
  switch (content_of(spec)) {
    case Content::kImages:
      return "synthetic microscopy";
    case Content::kNormal:
      return "standard normal values";
    case Content::kOnes:
      return lower_case(spec.name).find("mask") != std::string::npos ? "ones (a mask)" : "ones";
    case Content::kZeros:
      return "zeros";
    case Content::kPositions:
      return "positions";
    case Content::kWholeRange:
      return fmt::format("uniform over {}", dtype_name(spec.dtype));
    case Content::kIds:
      return fmt::format("ids below {}", id_limit(spec));
    case Content::kUnsupported:
      return "nothing";
  }
  return "nothing";
}

Result<Tensor> synthesise_input(const InputSpec& spec, uint64_t seed) {
  const auto count = checked_element_count(spec.shape);
  if (!count.ok()) return count.error().within(fmt::format("input '{}'", spec.name));
  const Content content = content_of(spec);
  if (content == Content::kUnsupported)
    return unsupported(fmt::format("input '{}': hone can't make up {} values; give them with --input",
                                   spec.name, dtype_name(spec.dtype)));
  // Shapes come from users and files: too large a one is an error here, not in the middle of the filling.
  if (auto room = Tensor::try_make(spec.dtype, spec.shape); !room.ok())
    return room.error().within(fmt::format("input '{}'", spec.name));
  if (content == Content::kImages && *count > 0) return make_images(spec, seed);
  const Philox random(seed, fnv1a(spec.name));
  const int64_t last = spec.shape.empty() ? 1 : std::max<int64_t>(1, spec.shape.back());
  const int64_t limit = id_limit(spec);
  const int bits = dtype_bits(spec.dtype);
  const double lowest = is_signed(spec.dtype) ? -std::ldexp(1.0, bits - 1) : 0.0;
  Tensor tensor(spec.dtype, spec.shape);
  fill_any(tensor, [&](int64_t i) -> double {
    const auto index = static_cast<uint64_t>(i);
    switch (content) {
      case Content::kOnes:
        return 1;
      case Content::kPositions:
        return static_cast<double>(spec.index_limit ? i % last % limit : i % last);
      case Content::kWholeRange:
        return lowest + std::floor(random.uniform(index) * std::ldexp(1.0, bits));
      case Content::kIds:
        return std::floor(random.uniform(index) * static_cast<double>(limit));
      case Content::kZeros:
        return 0;
      default:
        return random.normal(index);
    }
  });
  return tensor;
}

}  // namespace hone::lab
