#include "data/text/masked_tokens.h"

#include <algorithm>
#include <span>

#include <fmt/core.h>

namespace hone::data {
namespace {

// Of this transform's random numbers (SampleRandom); data/augment/steps.h numbers those of images, which no tokens meet.
constexpr uint64_t kMaskingStep = 0;

// A share of [0, 1] as a bound for words of 32 random bits.
uint64_t bound_of(double share) { return static_cast<uint64_t>(share * 0x1p32); }

class MaskedTokens final : public Transform {
 public:
  explicit MaskedTokens(const MaskingOptions& options)
      : options_(options),
        chosen_below_(bound_of(options.share)),
        masked_below_(bound_of(options.masked)),
        random_below_(bound_of(options.masked + options.random)) {
    options_.never.push_back(options.mask);
    std::sort(options_.never.begin(), options_.never.end());
    options_.never.erase(std::unique(options_.never.begin(), options_.never.end()), options_.never.end());
    drawn_ = options_.vocabulary - std::count_if(options_.never.begin(), options_.never.end(),
                                                 [&](int64_t token) { return token < options_.vocabulary; });
  }

  int64_t drawn() const { return drawn_; }

  Result<std::vector<Field>> fields(std::span<const Field> fields) const override {
    if (fields.size() != 1 || fields[0].name != "tokens" || fields[0].shape.size() != 1 ||
        fields[0].dtype != DType::kI64)
      return invalid("masking tokens: the data must be windows of tokens, and nothing else");
    return std::vector<Field>{fields[0], {"labels", DType::kI64, fields[0].shape}};
  }

  Status apply(const Sample& sample, std::span<const Field>, const SampleRandom& random,
               std::span<const TensorView> out) const override {
    const std::span<const int64_t> tokens = sample[0].as<int64_t>();
    if (sample[0].size() != out[0].size())
      return invalid(
          fmt::format("a window of {} tokens among windows of {}", sample[0].size(), out[0].size()));
    const Philox philox = random.philox();
    const uint64_t first = random.first_of(kMaskingStep);
    auto* given = static_cast<int64_t*>(out[0].data);
    auto* labels = static_cast<int64_t*>(out[1].data);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto words = philox.block(first + i);
      const bool is_chosen = words[0] < chosen_below_ && !is_never(tokens[i]);
      labels[i] = is_chosen ? tokens[i] : options_.unchosen;
      given[i] = is_chosen ? replacement(tokens[i], words[1], words[2]) : tokens[i];
    }
    return {};
  }

 private:
  bool is_never(int64_t token) const {
    return std::binary_search(options_.never.begin(), options_.never.end(), token);
  }

  int64_t replacement(int64_t token, uint32_t kind, uint32_t which) const {
    if (kind < masked_below_) return options_.mask;
    if (kind >= random_below_) return token;
    // One of those that are drawn from, and over the others before it.
    int64_t drawn = static_cast<int64_t>(uint64_t{which} * static_cast<uint64_t>(drawn_) >> 32);
    for (const int64_t never : options_.never)
      if (drawn >= never) ++drawn;
    return drawn;
  }

  MaskingOptions options_;
  uint64_t chosen_below_, masked_below_, random_below_;
  int64_t drawn_ = 0;  // tokens to draw from
};

}  // namespace

Result<std::shared_ptr<const Transform>> masked_tokens(const MaskingOptions& options) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  if (!(options.share > 0 && options.share <= 1))
    return invalid(
        fmt::format("masking tokens: a share of {:g} is chosen; give more than 0, at most 1", options.share));
  if (!is_share(options.masked) || !is_share(options.random) || options.masked + options.random > 1)
    return invalid(fmt::format(
        "masking tokens: of the chosen ones {:g} are masked and {:g} drawn; together they are at most 1",
        options.masked, options.random));
  if (options.mask < 0) return invalid("masking tokens: the token that stands for hidden ones is none");
  auto made = std::make_shared<MaskedTokens>(options);
  if (options.random > 0 && made->drawn() < 1)
    return invalid("masking tokens: no token is left to be drawn in place of others");
  return std::shared_ptr<const Transform>(std::move(made));
}

}  // namespace hone::data
