#include "data/text/next_tokens.h"

#include <cstring>

#include <fmt/core.h>

namespace hone::data {
namespace {

class NextTokens final : public Transform {
 public:
  Result<std::vector<Field>> fields(std::span<const Field> fields) const override {
    if (fields.size() != 1 || fields[0].name != "tokens" || fields[0].shape.size() != 1 ||
        fields[0].shape[0] < 2)
      return invalid("predicting tokens: the data must be windows of two tokens or more, and nothing else");
    const Shape shape = {fields[0].shape[0] - 1};
    return std::vector<Field>{{"tokens", fields[0].dtype, shape}, {"next", fields[0].dtype, shape}};
  }

  Status apply(const Sample& sample, std::span<const Field>, const SampleRandom&,
               std::span<const TensorView> out) const override {
    const auto* tokens = static_cast<const std::byte*>(sample[0].data());
    const std::size_t one = dtype_size(sample[0].dtype());
    if (sample[0].size() != out[0].size() + 1)
      return invalid(
          fmt::format("a window of {} tokens among windows of {}", sample[0].size(), out[0].size() + 1));
    std::memcpy(out[0].data, tokens, sample[0].bytes() - one);
    std::memcpy(out[1].data, tokens + one, sample[0].bytes() - one);
    return {};
  }
};

}  // namespace

std::shared_ptr<const Transform> next_tokens() { return std::make_shared<NextTokens>(); }

}  // namespace hone::data
