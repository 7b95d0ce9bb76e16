// A text file as tokens, one a byte: windows of a fixed length, and the same one byte later, which a language model is to
// predict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "core/result.h"
#include "data/dataset.h"

namespace hone::data {

// The bytes from share `first` to share `last` of the file, in windows that follow each other. Fields: "tokens" and
// "next", i64 [length] each. The file stays mapped. An error where there is no whole window.
Result<std::shared_ptr<const Dataset>> make_byte_text(const std::filesystem::path& file, int64_t length,
                                                      double first = 0, double last = 1);

}  // namespace hone::data
