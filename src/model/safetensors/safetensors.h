// safetensors files: named tensors, a JSON header and then the elements (huggingface/safetensors, format 0.4). What
// checkpoints are made of, and what other programs read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "core/result.h"
#include "core/tensor.h"

namespace hone::model {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

struct Safetensors {
  NamedTensors tensors;                         // in the order of their elements
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Tensors stay in the mapped file. An error says what is wrong with it: a header that is no JSON, an unknown type,
// offsets that overlap, leave gaps or lie outside.
Result<Safetensors> read_safetensors(const std::filesystem::path& path);
// The same from memory, which `owner` keeps alive.
Result<Safetensors> parse_safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// Writes into a file that its caller commits. Names must be distinct; strings and types that the format lacks are an error.
Status write_safetensors(AtomicFile& file, const Safetensors& contents);
Status write_safetensors(const std::filesystem::path& path, const Safetensors& contents);

}  // namespace hone::model
