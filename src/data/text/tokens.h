// Data sets of tokens: long rows of numbers, cut into windows.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace hone::data {

struct TokenOptions {
  int64_t length = 1024;   // T: a sample is T + 1 tokens, so that each of T has the one that follows
  int64_t stride = 0;      // from one window's start to the next; 0: T, so that every token is predicted once
  int64_t vocabulary = 0;  // tokens must be below it; 0: not checked
};

// Tokens as little-endian u16 or u32 in files without a heading, mapped and not read ahead; several files are one
// behind the other, and no window goes over a border. "tokens" i64 [T + 1].
Result<std::shared_ptr<const Dataset>> open_token_files(const std::vector<std::filesystem::path>& files,
                                                        DType dtype, const TokenOptions& options);

// Tokens in memory.
Result<std::shared_ptr<const Dataset>> tokens_in_memory(std::vector<uint32_t> tokens,
                                                        const TokenOptions& options, std::string name);

}  // namespace hone::data
