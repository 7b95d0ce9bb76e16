// Kernels compiled once: in memory for this process, on disk for the next. A cache is a convenience: what is missing,
// damaged or cannot be written is compiled again, and said once in take_notes(), never an error.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cuda/nvrtc.h"

#include "core/result.h"

namespace hone::cuda {

struct KernelSource {
  std::string name;  // of the source, in messages; it does not make another kernel
  std::string text;  // CUDA C++
  std::vector<std::string> options;
};

// Thread-safe; so are processes that share a folder: each file is written beside its name and renamed into place.
class KernelCache {
 public:
  // For one kind of device. `driver_version`: 0 where there is no driver. `folder` empty: in memory only.
  KernelCache(std::shared_ptr<const Nvrtc> nvrtc, Architecture architecture, int driver_version,
              std::filesystem::path folder);
  // "kernels" in hone's folder for caches (core/cache_folder.h); empty if there is none.
  static std::filesystem::path default_folder();

  // An error is one of the source: it does not compile. What another thread is compiling is waited for.
  Result<std::shared_ptr<const CompiledKernels>> get(const KernelSource& source);
  // All of them, as many at a time as there are cores. One result a source, in order.
  std::vector<Result<std::shared_ptr<const CompiledKernels>>> get_all(std::span<const KernelSource> sources);

  int compiled() const;  // how many were, since this object was made
  int compiler_version() const { return nvrtc_->version(); }
  std::vector<std::string> take_notes();

  // What a folder may hold. The files that were used longest ago go first.
  void limit_bytes(std::size_t bytes) { limit_bytes_ = bytes; }

 private:
  std::string key_of(const KernelSource& source) const;
  std::filesystem::path file_of(const std::string& key) const;
  Result<std::shared_ptr<const CompiledKernels>> make(const KernelSource& source, const std::string& key);
  std::shared_ptr<const CompiledKernels> load(const std::string& key);
  void store(const std::string& key, const CompiledKernels& kernels);
  void note(std::string text);

  const std::shared_ptr<const Nvrtc> nvrtc_;
  const Architecture architecture_;
  const int driver_version_;
  const std::filesystem::path folder_;
  std::size_t limit_bytes_ = std::size_t{1} << 30;

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const CompiledKernels>> known_;  // by key
  std::set<std::string> in_work_;                                        // keys
  std::condition_variable work_done_;
  std::vector<std::string> notes_;
  int compiled_ = 0;
};

// A file of the cache, and what it holds of `key`; an error where it is damaged or of another key.
std::string kernel_file(const std::string& key, const CompiledKernels& kernels);
Result<CompiledKernels> read_kernel_file(std::string_view file, std::string_view key);

}  // namespace hone::cuda
