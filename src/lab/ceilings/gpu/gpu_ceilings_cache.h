// Measured roofs of GPUs on disk: a file for each kind of GPU, driver and version of the libraries.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "lab/ceilings/gpu/gpu_ceilings.h"

namespace hone::lab {

class GpuCeilingsCache {
 public:
  // `folder` empty: hone's folder for caches (core/cache_folder.h).
  GpuCeilingsCache(const std::filesystem::path& folder, const GpuTools& tools);

  // kNotFound: nothing there for this GPU; kCorrupt: a file that isn't what write() makes.
  Result<GpuCeilings> read() const;
  // Replaces the file whole or not at all.
  Status write(const GpuCeilings& ceilings) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::string key_;
  std::filesystem::path path_;
};

}  // namespace hone::lab
