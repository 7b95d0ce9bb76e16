#include "trace/import/byte_source.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace hone::trace {
namespace {

std::string gzip(std::string_view text) {
  std::string packed(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::string some_text() {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919) + (i % 3 == 0 ? "\n" : ",");
  return text;
}

struct Bytes {
  std::string text;
  std::string trouble;
};

Bytes read_in_pieces(std::string_view packed, std::size_t piece) {
  const auto source = bytes_in_memory(packed);
  Bytes bytes;
  std::string buffer(piece, '\0');
  while (true) {
    const std::size_t got = source->read(buffer).value();
    bytes.text.append(buffer, 0, got);
    if (got < piece) break;
  }
  bytes.trouble = source->trouble();
  return bytes;
}

TEST(ByteSource, PlainAndCompressedBytesReadTheSameInPiecesOfAnySize) {
  const std::string text = some_text();
  for (const std::string& packed : {text, gzip(text), zstd(text)})
    for (const std::size_t piece : {std::size_t{1000}, std::size_t{65'536}, text.size(), text.size() + 1}) {
      const Bytes bytes = read_in_pieces(packed, piece);
      EXPECT_EQ(bytes.text, text);
      EXPECT_EQ(bytes.trouble, "");
    }
}

TEST(ByteSource, MembersAndFramesThatFollowOneAnotherAreOneStream) {
  EXPECT_EQ(read_in_pieces(gzip("one ") + gzip("two"), 3).text, "one two");
  EXPECT_EQ(read_in_pieces(zstd("one ") + zstd("two"), 3).text, "one two");
  EXPECT_EQ(read_in_pieces(gzip("one") + std::string(512, '\0'), 100).text, "one");
}

TEST(ByteSource, DataThatEndEarlyGiveWhatCameBeforeAndSayIt) {
  const std::string text = some_text();
  for (const std::string& packed : {gzip(text), zstd(text)}) {
    const Bytes half = read_in_pieces(packed.substr(0, packed.size() / 2), 5000);
    EXPECT_GT(half.text.size(), text.size() / 8);  // Zstandard gives out whole blocks
    EXPECT_EQ(half.text, text.substr(0, half.text.size()));
    EXPECT_NE(half.trouble.find("end early"), std::string::npos);
  }
}

TEST(ByteSource, DamagedDataEndThereAndSayIt) {
  const std::string text = some_text();
  for (std::string packed : {gzip(text), zstd(text)}) {
    for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 100; ++i)
      packed[i] = static_cast<char>(~packed[i]);
    const Bytes bytes = read_in_pieces(packed, 5000);
    EXPECT_NE(bytes.trouble.find("damaged"), std::string::npos);
  }
}

TEST(ByteSource, AFileThatIsNotThereIsSaidSo) {
  const auto source = open_bytes("/no/such/file");
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace hone::trace
