#include "data/byte_text.h"

#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/file.h"

namespace hone::data {
namespace {

class ByteText final : public Dataset {
 public:
  ByteText(std::shared_ptr<const MappedFile> file, std::string_view text, int64_t length, int64_t windows)
      : file_(std::move(file)),
        text_(text),
        length_(length),
        windows_(windows),
        fields_({{"tokens", DType::kI64, {length}}, {"next", DType::kI64, {length}}}) {}

  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return windows_; }
  std::string name_of(int64_t index) const override {
    return fmt::format("{}: byte {}", file_->name(), text_.data() - file_->text().data() + index * length_);
  }

  Result<Sample> read(int64_t index) const override {
    return Sample{tokens_from(index * length_), tokens_from(index * length_ + 1)};
  }

 private:
  Tensor tokens_from(int64_t at) const {
    Tensor tokens(DType::kI64, {length_});
    for (int64_t i = 0; i < length_; ++i)
      tokens.as<int64_t>()[static_cast<std::size_t>(i)] =
          static_cast<unsigned char>(text_[static_cast<std::size_t>(at + i)]);
    return tokens;
  }

  std::shared_ptr<const MappedFile> file_;
  std::string_view text_;
  int64_t length_;
  int64_t windows_;
  std::vector<Field> fields_;
};

}  // namespace

Result<std::shared_ptr<const Dataset>> make_byte_text(const std::filesystem::path& file, int64_t length,
                                                      double first, double last) {
  if (length < 1) return invalid(fmt::format("text: a length of {} bytes; at least 1", length));
  HONE_ASSIGN(std::shared_ptr<const MappedFile> mapped, MappedFile::open(file));
  const auto size = static_cast<double>(mapped->text().size());
  const auto begin = static_cast<std::size_t>(size * first);
  const std::string_view text = mapped->text().substr(begin, static_cast<std::size_t>(size * last) - begin);
  const int64_t windows = (static_cast<int64_t>(text.size()) - 1) / length;
  if (windows < 1)
    return invalid(fmt::format("{}: {} bytes hold no window of {} and the byte behind it", file.string(),
                               text.size(), length));
  return std::shared_ptr<const Dataset>(std::make_shared<ByteText>(std::move(mapped), text, length, windows));
}

}  // namespace hone::data
