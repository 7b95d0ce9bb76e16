// libFuzzer target: no input may crash the reader of safetensors, and all that it accepts can be touched.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto owner = std::make_shared<std::vector<std::byte>>(size);
  for (std::size_t i = 0; i < size; ++i) (*owner)[i] = std::byte{data[i]};
  const auto contents = hone::model::parse_safetensors(*owner, owner);
  if (!contents.ok()) return 0;
  std::size_t sum = 0;
  for (const auto& [name, tensor] : contents->tensors)
    for (std::size_t i = 0; i < tensor.bytes(); ++i)
      sum += static_cast<std::size_t>(static_cast<const std::byte*>(tensor.data())[i]);
  return sum == SIZE_MAX ? 1 : 0;
}
