#include "model/safetensors/safetensors.h"

#include <cstring>

#include <gmock/gmock.h>

#include "core/testing/scratch_path.h"

namespace hone::model {
namespace {

using ::testing::HasSubstr;

std::string file_of(const std::string& header, std::size_t elements) {
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + std::string(elements, 'x');
}

std::string reading_error(const std::string& file) {
  const auto contents = parse_safetensors(std::as_bytes(std::span(file)), nullptr);
  return contents.ok() ? "no error" : contents.error().message;
}

TEST(Safetensors, ComeBackAsTheyWere) {
  const std::filesystem::path path = scratch_path("hone-safetensors-test");
  Safetensors written;
  written.metadata["format"] = "hone";
  written.tensors.emplace_back("w", Tensor::f32({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  written.tensors.emplace_back("empty", Tensor(DType::kF32, {0, 4}));
  written.tensors.emplace_back("count", Tensor::scalar_i64(-7));
  written.tensors.emplace_back("half", Tensor::zeros(DType::kBF16, {3}));
  ASSERT_TRUE(write_safetensors(path, written).ok());
  const auto read = read_safetensors(path);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->metadata.at("format"), "hone");
  ASSERT_EQ(read->tensors.size(), written.tensors.size());
  for (std::size_t i = 0; i < written.tensors.size(); ++i) {
    EXPECT_EQ(read->tensors[i].first, written.tensors[i].first);
    EXPECT_TRUE(same_tensor(read->tensors[i].second, written.tensors[i].second)) << written.tensors[i].first;
  }
  std::filesystem::remove(path);
}

TEST(Safetensors, ReadsWhatOthersWrite) {
  // As huggingface/safetensors lays it out: metadata first, offsets from the end of the header.
  std::string file =
      file_of(R"({"__metadata__":{"a":"b"},"t":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})", 8);
  const int32_t numbers[] = {5, -6};
  std::memcpy(file.data() + file.size() - 8, numbers, 8);
  const auto read = parse_safetensors(std::as_bytes(std::span(file)), nullptr);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->tensors[0].second.aligned().to_ints(), (std::vector<int64_t>{5, -6}));
}

TEST(Safetensors, SayWhatIsWrongWithAFile) {
  EXPECT_THAT(reading_error("abc"), HasSubstr("too short"));
  EXPECT_THAT(reading_error(std::string(8, '\xff')), HasSubstr("its header has"));
  EXPECT_THAT(reading_error(file_of("nonsense", 0)), HasSubstr("no JSON object"));
  EXPECT_THAT(reading_error(file_of(R"({"t":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4)),
              HasSubstr("unknown type 'F99'"));
  EXPECT_THAT(reading_error(file_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4)),
              HasSubstr("its shape [2] needs 8"));
  EXPECT_THAT(reading_error(file_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,9]}})", 4)),
              HasSubstr("outside"));
  EXPECT_THAT(reading_error(file_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 6)),
              HasSubstr("2 bytes behind"));
  EXPECT_THAT(reading_error(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                    R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                                    6)),
              HasSubstr("overlaps"));
  EXPECT_THAT(reading_error(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)),
              HasSubstr("gap"));
  EXPECT_THAT(reading_error(file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                    R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                                    0)),
              HasSubstr("'a' twice"));
  EXPECT_THAT(reading_error(file_of(
                  R"({"t":{"dtype":"F32","shape":[9223372036854775807,9],"data_offsets":[0,4]}})", 4)),
              HasSubstr("tensor 't'"));
  EXPECT_THAT(reading_error(file_of(std::string(200, '[') + std::string(200, ']'), 0)), HasSubstr("header"));
}

TEST(Safetensors, RefuseToWriteWhatTheyCannotHold) {
  const std::filesystem::path path = scratch_path("hone-safetensors-test-bad");
  const Tensor one = Tensor::scalar_f32(1);
  EXPECT_THAT(write_safetensors(path, {{{"x", one}, {"x", one}}, {}}).error().message,
              HasSubstr("two tensors"));
  EXPECT_THAT(write_safetensors(path, {{{"x", Tensor::of_strings({1}, {"a"})}}, {}}).error().message,
              HasSubstr("no type for"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace hone::model
