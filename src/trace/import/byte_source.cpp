#include "trace/import/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

namespace hone::trace {
namespace {

constexpr std::size_t kInputBytes = std::size_t{256} << 10;  // compressed bytes read at a time

class FileSource final : public ByteSource {
 public:
  FileSource(std::string name, int descriptor, double size)
      : name_(std::move(name)), descriptor_(descriptor), size_(size) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  Result<std::size_t> read(std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      const ssize_t n = ::read(descriptor_, into.data() + got, into.size() - got);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return io_error(fmt::format("{}: {}", name_, std::strerror(errno)));
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    done_ += static_cast<double>(got);
    return got;
  }
  double progress() const override { return size_ > 0 ? std::min(done_ / size_, 1.0) : 0; }
  bool is_plain_file() const override { return size_ > 0; }

 private:
  std::string name_;
  int descriptor_;
  double size_;  // 0: not known, as of pipes
  double done_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t n = std::min(into.size(), bytes_.size() - at_);
    if (n > 0) std::memcpy(into.data(), bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  double progress() const override {
    return bytes_.empty() ? 0 : static_cast<double>(at_) / static_cast<double>(bytes_.size());
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// A source whose first bytes were looked at already.
class Unread final : public ByteSource {
 public:
  Unread(std::unique_ptr<ByteSource> source, std::string first)
      : source_(std::move(source)), first_(std::move(first)) {}
  Result<std::size_t> read(std::span<char> into) override {
    const std::size_t n = std::min(into.size(), first_.size() - at_);
    if (n > 0) std::memcpy(into.data(), first_.data() + at_, n);
    at_ += n;
    if (n == into.size()) return n;
    HONE_ASSIGN(const std::size_t more, source_->read(into.subspan(n)));
    return n + more;
  }
  double progress() const override { return source_->progress(); }
  bool is_plain_file() const override { return source_->is_plain_file(); }
  std::string trouble() const override { return source_->trouble(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string first_;
  std::size_t at_ = 0;
};

// What both decompressors do: keep a buffer of compressed bytes filled.
class Decompressor : public ByteSource {
 public:
  explicit Decompressor(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), input_(kInputBytes) {}
  double progress() const override { return source_->progress(); }
  std::string trouble() const override { return trouble_; }

 protected:
  Status refill() {
    HONE_ASSIGN(filled_, source_->read(input_));
    at_ = 0;
    return {};
  }

  std::unique_ptr<ByteSource> source_;
  std::vector<char> input_;
  std::size_t at_ = 0, filled_ = 0;
  std::string trouble_;
  bool ended_ = false;
};

// Members that follow one another are one stream, as gzip(1) has it.
class GzipSource final : public Decompressor {
 public:
  explicit GzipSource(std::unique_ptr<ByteSource> source) : Decompressor(std::move(source)) {
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) end("zlib cannot be set up");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  Result<std::size_t> read(std::span<char> into) override {
    std::size_t got = 0;
    while (!ended_ && got < into.size()) {
      if (at_ == filled_) HONE_CHECK(refill());
      if (filled_ == 0) {
        ended_ = true;
        if (!between_members_) trouble_ = "the gzip data end early";
        break;
      }
      got += inflate_some(into.subspan(got));
    }
    return got;
  }

 private:
  std::size_t inflate_some(std::span<char> into) {
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + at_);
    stream_.avail_in = static_cast<uInt>(filled_ - at_);
    const std::size_t room = std::min<std::size_t>(into.size(), 1u << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    at_ = filled_ - stream_.avail_in;
    const std::size_t made = room - stream_.avail_out;
    members_ += result == Z_STREAM_END ? 1 : 0;
    if (result == Z_STREAM_END) {
      between_members_ = true;
      inflateReset(&stream_);
    } else if (result == Z_OK || result == Z_BUF_ERROR) {
      between_members_ = false;
    } else if (members_ > 0 && between_members_) {
      ended_ = true;  // zeros or rubbish after the last member, which gzip(1) ignores too
    } else {
      end(fmt::format("the gzip data are damaged ({})", stream_.msg ? stream_.msg : "no reason given"));
    }
    return made;
  }
  void end(std::string why) {
    ended_ = true;
    trouble_ = std::move(why);
  }

  z_stream stream_ = {};
  bool between_members_ = false;
  int members_ = 0;
};

class ZstdSource final : public Decompressor {
 public:
  explicit ZstdSource(std::unique_ptr<ByteSource> source)
      : Decompressor(std::move(source)), stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {}

  Result<std::size_t> read(std::span<char> into) override {
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (!ended_ && out.pos < out.size) {
      if (at_ == filled_ && !flushing_) HONE_CHECK(refill());
      if (filled_ == 0) {
        ended_ = true;
        if (!at_frame_end_) trouble_ = "the Zstandard data end early";
        break;
      }
      ZSTD_inBuffer in{input_.data(), filled_, at_};
      const std::size_t wanted = ZSTD_decompressStream(stream_.get(), &out, &in);
      at_ = in.pos;
      if (ZSTD_isError(wanted)) {
        ended_ = true;
        if (!at_frame_end_)
          trouble_ = fmt::format("the Zstandard data are damaged ({})", ZSTD_getErrorName(wanted));
      } else {
        at_frame_end_ = wanted == 0;
        flushing_ = out.pos == out.size && wanted != 0;  // it may hold more than there was room for
      }
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool at_frame_end_ = true;
  bool flushing_ = false;
};

Result<std::unique_ptr<ByteSource>> decompressed(std::unique_ptr<ByteSource> source) {
  std::string first(4, '\0');
  HONE_ASSIGN(const std::size_t got, source->read(first));
  first.resize(got);
  auto whole = std::make_unique<Unread>(std::move(source), first);
  if (first.starts_with("\x1f\x8b")) return {std::make_unique<GzipSource>(std::move(whole))};
  if (first.starts_with("\x28\xb5\x2f\xfd")) return {std::make_unique<ZstdSource>(std::move(whole))};
  return {std::move(whole)};
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const std::string message = fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(errno));
    return errno == ENOENT ? not_found(message) : io_error(message);
  }
  struct stat about {};
  const bool regular = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  return decompressed(std::make_unique<FileSource>(path.string(), descriptor,
                                                   regular ? static_cast<double>(about.st_size) : 0));
}

std::unique_ptr<ByteSource> bytes_in_memory(std::string_view bytes) {
  auto source = decompressed(std::make_unique<MemorySource>(bytes));
  return source.ok() ? std::move(*source) : std::make_unique<MemorySource>(bytes);
}

Result<std::string> read_all(ByteSource& source, std::size_t most) {
  constexpr std::size_t kFirst = std::size_t{1} << 20;
  std::string bytes;
  while (true) {
    const std::size_t size = bytes.size();
    bytes.resize(std::max(kFirst, size + size / 2));
    HONE_ASSIGN(const std::size_t got, source.read({bytes.data() + size, bytes.size() - size}));
    const bool ended = got < bytes.size() - size;
    bytes.resize(size + got);
    if (bytes.size() > most) return unsupported(fmt::format("more than {} GB", most >> 30));
    if (ended) return bytes;
  }
}

std::unique_ptr<ByteSource> put_back(std::unique_ptr<ByteSource> source, std::string first) {
  return std::make_unique<Unread>(std::move(source), std::move(first));
}

}  // namespace hone::trace
