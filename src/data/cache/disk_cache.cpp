// A cache file: magic, version of the sample, checksum of all that follows; then for each tensor its dtype, rank and
// extents, and its elements, padded to eight bytes. Native byte order: a cache is one machine's.
#include "data/cache/disk_cache.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/file.h"
#include "data/file_bytes.h"

namespace hone::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCacheMagic = 0x31'65'6c'70'6d'61'73'68;  // "hsample1"
constexpr int64_t kMostCachedAxes = 16;
constexpr int64_t kFilesPerFolder = 1000;

struct CacheHeader {
  uint64_t magic = kCacheMagic, version = 0, checksum = 0, tensors = 0;
};

// Eight bytes at a time: far faster than a disk, and good enough for damage that nobody intends.
uint64_t checksum_of(std::span<const std::byte> bytes) {
  uint64_t sum = 0x9E3779B97F4A7C15u ^ bytes.size();
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    sum = std::rotl((sum ^ word) * 0xFF51AFD7ED558CCDu, 29);
  }
  return sum ^ sum >> 32;
}

std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

template <typename T>
void append(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string cached_sample_bytes(const Sample& sample, uint64_t version) {
  std::string text(sizeof(CacheHeader), '\0');
  for (const Tensor& tensor : sample) {
    append(text, static_cast<uint32_t>(tensor.dtype()));
    append(text, static_cast<uint32_t>(tensor.rank()));
    for (const int64_t extent : tensor.shape()) append(text, extent);
    text.append(static_cast<const char*>(tensor.data()), tensor.bytes());
    text.resize(padded(text.size()));
  }
  CacheHeader header;
  header.version = version;
  header.tensors = sample.size();
  header.checksum = checksum_of(std::as_bytes(std::span(text)).subspan(sizeof header));
  std::memcpy(text.data(), &header, sizeof header);
  return text;
}

// Written beside and renamed: who reads sees a whole file or none. Not flushed to disk: what a crash leaves half
// written has a wrong checksum.
Status write_cache_file(const fs::path& path, const std::string& text, int number) {
  fs::path temporary = path;
  temporary += fmt::format(".tmp-{}-{}", ::getpid(), number);
  const auto fail = [&](int error) {
    ::unlink(temporary.c_str());
    return io_error(fmt::format("cannot keep decoded samples in '{}': {}", path.parent_path().string(),
                                std::generic_category().message(error)));
  };
  {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.value < 0) return fail(errno);
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t count = ::write(file.value, text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(errno);
      done += static_cast<std::size_t>(count);
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno);
  return {};
}

class FolderCache final : public DiskCache {
 public:
  FolderCache(std::shared_ptr<const Dataset> dataset, fs::path folder)
      : dataset_(std::move(dataset)), folder_(std::move(folder)) {}

  std::span<const Field> fields() const override { return dataset_->fields(); }
  int64_t size() const override { return dataset_->size(); }
  std::string name_of(int64_t index) const override { return dataset_->name_of(index); }
  uint64_t version_of(int64_t index) const override { return dataset_->version_of(index); }
  Result<Sample> read(int64_t index) const override {
    StageTimes ignored;
    return read_timed(index, ignored);
  }
  Result<Sample> read_timed(int64_t index, StageTimes& times) const override {
    const fs::path path = path_of(index);
    const uint64_t version = dataset_->version_of(index);
    if (const auto file = FileBytes::read(path, times); file.ok()) {
      const StageTimer timer(times, Stage::kDecode);
      if (auto sample = parse_cached_sample(file->bytes(), version); sample.ok()) {
        ++hits_;
        return sample;
      }
    }
    ++misses_;
    auto sample = dataset_->read_timed(index, times);
    if (sample.ok()) keep(path, *sample, version, times);
    return sample;
  }
  CacheCounts counts() const override { return {kept_, hits_, misses_, bytes_}; }
  std::optional<Error> problem() const override {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  fs::path path_of(int64_t index) const {
    return folder_ / fmt::format("{:06}", index / kFilesPerFolder) / fmt::format("{}.sample", index);
  }
  void keep(const fs::path& path, const Sample& sample, uint64_t version, StageTimes& times) const {
    if (given_up_) return;
    const StageTimer timer(times, Stage::kRead);
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    const std::string text = cached_sample_bytes(sample, version);
    const Status written = write_cache_file(path, text, number_++);
    if (written.ok()) {
      ++kept_;
      bytes_ += std::ssize(text);
      return;
    }
    given_up_ = true;
    const std::lock_guard lock(mutex_);
    if (!problem_) problem_ = written.error();
  }

  std::shared_ptr<const Dataset> dataset_;
  fs::path folder_;
  mutable std::atomic<int64_t> kept_ = 0, hits_ = 0, misses_ = 0, bytes_ = 0;
  mutable std::atomic<int> number_ = 0;
  mutable std::atomic<bool> given_up_ = false;
  mutable std::mutex mutex_;
  mutable std::optional<Error> problem_;
};

}  // namespace

Result<Sample> parse_cached_sample(std::span<const std::byte> bytes, uint64_t version) {
  const Error wrong = corrupt("this is no whole file of a decoded sample");
  CacheHeader header;
  if (bytes.size() < sizeof header) return wrong;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::span<const std::byte> rest = bytes.subspan(sizeof header);
  if (header.magic != kCacheMagic || header.version != version || rest.size() % 8 != 0 ||
      header.checksum != checksum_of(rest))
    return wrong;
  const auto take = [&](void* to, std::size_t count) {
    if (rest.size() < count) return false;
    if (count > 0) std::memcpy(to, rest.data(), count);
    rest = rest.subspan(count);
    return true;
  };
  Sample sample;
  for (uint64_t i = 0; i < header.tensors; ++i) {
    uint32_t dtype = 0, rank = 0;
    if (!take(&dtype, 4) || !take(&rank, 4) || rank > kMostCachedAxes ||
        dtype >= static_cast<uint32_t>(DType::kString))
      return wrong;
    Shape shape(rank);
    for (int64_t& extent : shape)
      if (!take(&extent, 8)) return wrong;
    const auto type = static_cast<DType>(dtype);
    const auto count = checked_element_count(shape);
    if (!count.ok() || dtype_size(type) == 0 ||
        static_cast<uint64_t>(*count) > rest.size() / dtype_size(type))
      return wrong;
    HONE_ASSIGN(Tensor tensor, Tensor::try_make(type, std::move(shape)));
    const std::size_t size = tensor.bytes();
    if (size != 0) take(tensor.data(), size);
    if (rest.size() < padded(size) - size) return wrong;
    rest = rest.subspan(padded(size) - size);
    sample.push_back(std::move(tensor));
  }
  if (!rest.empty()) return wrong;
  return sample;
}

Result<std::shared_ptr<const DiskCache>> cache_on_disk(std::shared_ptr<const Dataset> dataset,
                                                       const fs::path& folder) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(check_folder(folder));
  return std::shared_ptr<const DiskCache>(std::make_shared<FolderCache>(std::move(dataset), folder));
}

}  // namespace hone::data
