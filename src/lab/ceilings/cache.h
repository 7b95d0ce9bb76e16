// Measured roofs on disk: one JSON file a machine, in the user's cache folder. A file belongs to one CPU
// model, core count, set of kernels and version of hone; whatever doesn't match isn't read.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "lab/ceilings/ceilings.h"
#include "lab/machine.h"

namespace hone::lab {

// Whether the next command is to find these. Quick ones of a busy machine, too: they carry their doubt and soon
// are measured again. Full ones never are, so they must be beyond doubt.
bool worth_keeping(const Ceilings& ceilings);

class CeilingsCache {
 public:
  // `folder` empty: $XDG_CACHE_HOME/hone, or ~/.cache/hone.
  CeilingsCache(const std::filesystem::path& folder, const Machine& machine, int threads);

  // kNotFound: nothing there for this machine; kCorrupt: a file that isn't what write() makes.
  Result<Ceilings> read() const;
  // Replaces the file whole or not at all.
  Status write(const Ceilings& ceilings) const;

  // Empty where the system names no home folder: then nothing is read, and write() says so.
  const std::filesystem::path& path() const { return path_; }
  const std::string& key() const { return key_; }

 private:
  std::string key_;
  std::filesystem::path path_;
};

}  // namespace hone::lab
