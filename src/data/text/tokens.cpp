#include "data/text/tokens.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "core/file.h"
#include "core/hash.h"
#include "data/file_bytes.h"

namespace hone::data {
namespace {

// Tokens that lie one behind the other, of 2 or 4 bytes each.
struct TokenRow {
  std::string name;
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  std::size_t width = 4;
  int64_t count = 0;
  int64_t first_window = 0;  // of all before it
  uint64_t version = 0;

  uint32_t at(int64_t index) const {
    uint32_t token = 0;
    std::memcpy(&token, data + static_cast<std::size_t>(index) * width,
                width);  // little-endian, as hone's machines
    return token;
  }
};

class TokenSet final : public Dataset {
 public:
  TokenSet(std::vector<TokenRow> rows, const TokenOptions& options, int64_t windows)
      : rows_(std::move(rows)), options_(options), windows_(windows) {
    fields_ = {{"tokens", DType::kI64, {options.length + 1}}};
  }
  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return windows_; }
  std::string name_of(int64_t index) const override {
    const TokenRow& row = row_of(index);
    return fmt::format("{} (tokens from {} on)", row.name, (index - row.first_window) * options_.stride);
  }
  uint64_t version_of(int64_t index) const override { return fnv1a(name_of(index)) + row_of(index).version; }
  Result<Sample> read(int64_t index) const override {
    const TokenRow& row = row_of(index);
    const int64_t start = (index - row.first_window) * options_.stride;
    Tensor tokens(DType::kI64, {options_.length + 1});
    auto out = tokens.as<int64_t>();
    uint32_t most = 0;
    for (int64_t i = 0; i <= options_.length; ++i) {
      const uint32_t token = row.at(start + i);
      most = std::max(most, token);
      out[static_cast<std::size_t>(i)] = token;
    }
    if (options_.vocabulary > 0 && most >= options_.vocabulary)
      return corrupt(fmt::format(
          "{}: it holds the token {}, but the vocabulary has {} (0 to {}); are the tokens of 16 or "
          "32 bits, and of this tokenizer?",
          name_of(index), most, options_.vocabulary, options_.vocabulary - 1));
    return Sample{std::move(tokens)};
  }

 private:
  const TokenRow& row_of(int64_t index) const {
    const auto after =
        std::upper_bound(rows_.begin(), rows_.end(), index,
                         [](int64_t window, const TokenRow& row) { return window < row.first_window; });
    return *std::prev(after);
  }
  std::vector<TokenRow> rows_;
  TokenOptions options_;
  int64_t windows_;
  std::vector<Field> fields_;
};

Result<std::shared_ptr<const Dataset>> make_token_set(std::vector<TokenRow> rows, TokenOptions options) {
  if (options.length < 1 || options.length > int64_t{1} << 24 || options.stride < 0)
    return invalid(fmt::format("windows of {} tokens, {} apart", options.length, options.stride));
  if (options.stride == 0) options.stride = options.length;
  int64_t windows = 0, tokens = 0;
  std::vector<TokenRow> used;
  for (TokenRow& row : rows) {
    tokens += row.count;
    if (row.count <= options.length) continue;
    row.first_window = windows;
    windows += (row.count - options.length - 1) / options.stride + 1;
    used.push_back(std::move(row));
  }
  if (windows == 0)
    return invalid(
        fmt::format("{}: {} tokens, too few for one sample of {}; give more text or a shorter window",
                    rows.empty() ? "tokens" : rows[0].name, tokens, options.length + 1));
  return std::shared_ptr<const Dataset>(std::make_shared<TokenSet>(std::move(used), options, windows));
}

}  // namespace

Result<std::shared_ptr<const Dataset>> open_token_files(const std::vector<std::filesystem::path>& files,
                                                        DType dtype, const TokenOptions& options) {
  if (dtype != DType::kU16 && dtype != DType::kU32)
    return invalid(fmt::format("token files of {}: tokens have 16 or 32 bits (u16, u32)", dtype_name(dtype)));
  std::vector<TokenRow> rows;
  for (const auto& path : files) {
    HONE_ASSIGN(auto file, MappedFile::open(path));
    TokenRow row;
    row.name = path.string();
    row.width = dtype_size(dtype);
    row.data = file->bytes().data();
    if (file->bytes().size() % row.width != 0)
      return corrupt(
          fmt::format("{}: its {} bytes are no whole number of {}-bit tokens; was it cut off, or are they of "
                      "another width?",
                      row.name, file->bytes().size(), 8 * row.width));
    row.count = static_cast<int64_t>(file->bytes().size() / row.width);
    row.version = file_version(path);
    row.owner = std::move(file);
    rows.push_back(std::move(row));
  }
  return make_token_set(std::move(rows), options);
}

Result<std::shared_ptr<const Dataset>> tokens_in_memory(std::vector<uint32_t> tokens,
                                                        const TokenOptions& options, std::string name) {
  const auto held = std::make_shared<const std::vector<uint32_t>>(std::move(tokens));
  TokenRow row;
  row.name = std::move(name);
  row.data = reinterpret_cast<const std::byte*>(held->data());
  row.count = std::ssize(*held);
  row.owner = held;
  return make_token_set({std::move(row)}, options);
}

}  // namespace hone::data
