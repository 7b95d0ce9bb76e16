// libFuzzer target: any bytes are cut into pieces that are not empty and make up the whole.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/text/split_words.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const std::size_t length = hone::data::word_length(text);
    if (length == 0 || length > text.size()) std::abort();
    text.remove_prefix(length);
  }
  return 0;
}
