// Compressed recordings of tests/, as files that an importer can open where it reads no compressed ones.
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "trace/import/byte_source.h"

namespace hone::trace {

// A file with the bytes of `packed`, which goes with this object.
class Inflated {
 public:
  explicit Inflated(const std::filesystem::path& packed)
      : path(scratch_path(packed.stem().string().c_str())) {
    auto source = open_bytes(packed);
    EXPECT_TRUE(source.ok()) << packed;
    if (!source.ok()) return;
    std::string bytes;
    std::array<char, 65536> chunk;
    for (;;) {
      const auto size = (*source)->read(chunk);
      EXPECT_TRUE(size.ok()) << packed;
      if (!size.ok() || *size == 0) break;
      bytes.append(chunk.data(), *size);
    }
    EXPECT_TRUE((*source)->trouble().empty()) << (*source)->trouble();
    EXPECT_TRUE(write_file(path, bytes).ok());
  }
  ~Inflated() { std::filesystem::remove(path); }
  Inflated(const Inflated&) = delete;
  Inflated& operator=(const Inflated&) = delete;

  const std::filesystem::path path;
};

}  // namespace hone::trace
