#include "data/text/text_set.h"

#include <fmt/core.h>

#include "core/file.h"
#include "core/memory_budget.h"

namespace hone::data {

Result<std::shared_ptr<const Dataset>> open_text(const std::vector<std::filesystem::path>& files,
                                                 const Tokenizer& tokenizer, TokenOptions options) {
  if (files.empty()) return invalid("no text files were given");
  std::vector<uint32_t> tokens;
  for (const auto& path : files) {
    HONE_ASSIGN(const auto file, MappedFile::open(path));
    // A token of four bytes for each byte of text, at worst.
    const std::size_t most = 4 * (tokens.size() + file->bytes().size()), available = available_memory();
    if (available != 0 && most > available)
      return invalid(
          fmt::format("{}: its tokens could take {} bytes, and {} are free; make token files of the text",
                      path.string(), most, available));
    const std::vector<uint32_t> of_file = tokenizer.encode(file->text());
    tokens.insert(tokens.end(), of_file.begin(), of_file.end());
  }
  options.vocabulary = tokenizer.vocabulary();
  return tokens_in_memory(std::move(tokens), options, files[0].string());
}

}  // namespace hone::data
