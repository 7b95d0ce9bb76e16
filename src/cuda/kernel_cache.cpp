#include "cuda/kernel_cache.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/cache_folder.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/side_by_side.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKernelFileMagic = "hone kernels 1\n";
constexpr int kMostUses = 1 << 16;

// Reads the fields of a kernel file, each with its length in front; nothing once one did not fit.
class FieldReader {
 public:
  explicit FieldReader(std::string_view rest) : rest_(rest) {}

  std::optional<int64_t> number() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    int64_t value = 0;
    const auto [at, error] = std::from_chars(rest_.data(), rest_.data() + end, value);
    if (error != std::errc() || at != rest_.data() + end) return std::nullopt;
    rest_.remove_prefix(end + 1);
    return value;
  }
  std::optional<std::string_view> text() {
    const auto size = number();
    if (!size || *size < 0 || static_cast<std::size_t>(*size) > rest_.size()) return std::nullopt;
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(*size));
    rest_.remove_prefix(found.size());
    return found;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::string with_length(std::string_view text) {
  return fmt::format("{}\n", text.size()) + std::string(text);
}

}  // namespace

std::string kernel_file(const std::string& key, const CompiledKernels& kernels) {
  std::string body = with_length(key) + fmt::format("{}\n{}\n", kernels.is_ptx ? 1 : 0, kernels.uses.size());
  for (const KernelUse& use : kernels.uses)
    body += with_length(use.name) + fmt::format("{}\n{}\n{}\n{}\n", use.registers, use.stack_bytes,
                                                use.spill_stores, use.spill_loads);
  body += with_length({kernels.image.data(), kernels.image.size()});
  return std::string(kKernelFileMagic) + fmt::format("{:016x}\n", fnv1a(body)) + body;
}

Result<CompiledKernels> read_kernel_file(std::string_view file, std::string_view key) {
  constexpr std::size_t kHash = 17;  // with the end of its line
  if (!file.starts_with(kKernelFileMagic) || file.size() < kKernelFileMagic.size() + kHash)
    return corrupt("it is no file of compiled kernels");
  const std::string_view body = file.substr(kKernelFileMagic.size() + kHash);
  if (file.substr(kKernelFileMagic.size(), kHash) != fmt::format("{:016x}\n", fnv1a(body)))
    return corrupt("its bytes are not those that were written");
  FieldReader fields(body);
  const auto whose = fields.text();
  if (!whose || *whose != key) return corrupt("it is of another kernel");
  CompiledKernels kernels;
  const auto ptx = fields.number(), uses = fields.number();
  if (!ptx || !uses || *uses < 0 || *uses > kMostUses) return corrupt("it ends early");
  kernels.is_ptx = *ptx != 0;
  for (int64_t i = 0; i < *uses; ++i) {
    const auto name = fields.text();
    if (!name) return corrupt("it ends early");
    KernelUse use{.name = std::string(*name)};
    for (int* const number : {&use.registers, &use.stack_bytes, &use.spill_stores, &use.spill_loads}) {
      const auto value = fields.number();
      if (!value) return corrupt("it ends early");
      *number = static_cast<int>(*value);
    }
    kernels.uses.push_back(std::move(use));
  }
  const auto image = fields.text();
  if (!image || image->empty() || !fields.rest().empty()) return corrupt("it ends early");
  kernels.image.assign(image->begin(), image->end());
  return kernels;
}

KernelCache::KernelCache(std::shared_ptr<const Nvrtc> nvrtc, Architecture architecture, int driver_version,
                         fs::path folder)
    : nvrtc_(std::move(nvrtc)),
      architecture_(architecture),
      driver_version_(driver_version),
      folder_(std::move(folder)) {}

fs::path KernelCache::default_folder() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "kernels";
}

std::string KernelCache::key_of(const KernelSource& source) const {
  std::string key =
      fmt::format("sm_{}\nnvrtc {}\ndriver {}\n", architecture_.number, nvrtc_->version(), driver_version_);
  for (const std::string& option : source.options) key += option + "\n";
  return key + source.text;
}

fs::path KernelCache::file_of(const std::string& key) const {
  return folder_ / fmt::format("{:016x}.kernels", fnv1a(key));
}

Result<std::shared_ptr<const CompiledKernels>> KernelCache::get(const KernelSource& source) {
  const std::string key = key_of(source);
  std::unique_lock lock(mutex_);
  work_done_.wait(lock, [&] { return !in_work_.contains(key); });
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  in_work_.insert(key);
  lock.unlock();
  const std::shared_ptr<void> at_work(nullptr, [&](void*) {  // whatever happens
    const std::lock_guard guard(mutex_);
    in_work_.erase(key);
    work_done_.notify_all();
  });
  HONE_ASSIGN(std::shared_ptr<const CompiledKernels> kernels, make(source, key));
  const std::lock_guard guard(mutex_);
  return known_.emplace(key, std::move(kernels)).first->second;
}

Result<std::shared_ptr<const CompiledKernels>> KernelCache::make(const KernelSource& source,
                                                                 const std::string& key) {
  std::shared_ptr<const CompiledKernels> kernels = load(key);
  if (kernels != nullptr) return kernels;
  HONE_ASSIGN(CompiledKernels made, nvrtc_->compile(source.text, source.name, architecture_, source.options));
  kernels = std::make_shared<const CompiledKernels>(std::move(made));
  store(key, *kernels);
  return kernels;
}

std::vector<Result<std::shared_ptr<const CompiledKernels>>> KernelCache::get_all(
    std::span<const KernelSource> sources) {
  std::vector<Result<std::shared_ptr<const CompiledKernels>>> found(sources.size(),
                                                                    std::shared_ptr<const CompiledKernels>());
  each_side_by_side(sources.size(), [&](std::size_t i) { found[i] = get(sources[i]); });
  return found;
}

std::shared_ptr<const CompiledKernels> KernelCache::load(const std::string& key) {
  if (folder_.empty()) return nullptr;
  const fs::path path = file_of(key);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return nullptr;
  const auto text = read_file(path);
  const auto kernels = text.ok() ? read_kernel_file(*text, key) : Result<CompiledKernels>(text.error());
  if (!kernels.ok()) {
    note(fmt::format("{}: {}; the kernel is compiled again", path.string(), kernels.error().message));
    return nullptr;
  }
  mark_used(path);  // what is used stays longest
  return std::make_shared<const CompiledKernels>(*kernels);
}

void KernelCache::store(const std::string& key, const CompiledKernels& kernels) {
  const std::lock_guard lock(mutex_);
  ++compiled_;
  if (folder_.empty()) return;
  Status written = make_folder(folder_);
  if (written.ok()) {
    make_room(folder_, ".kernels", limit_bytes_);
    written = write_file(file_of(key), kernel_file(key, kernels));
  }
  if (!written.ok() && notes_.empty())
    notes_.push_back(fmt::format("compiled kernels are not kept: {}", written.error().message));
}

int KernelCache::compiled() const {
  const std::lock_guard lock(mutex_);
  return compiled_;
}

void KernelCache::note(std::string text) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(std::move(text));
}

std::vector<std::string> KernelCache::take_notes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

}  // namespace hone::cuda
