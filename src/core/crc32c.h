// CRC-32C (Castagnoli; RFC 3720, appendix B.4): the checksum of checkpoints, and of records in TensorBoard's files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hone {

// Of `bytes`, going on from `crc`, the checksum of what stands before them.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace hone
