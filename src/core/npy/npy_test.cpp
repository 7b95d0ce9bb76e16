// .npy files: what NumPy writes is read, what is written NumPy reads (byte for byte), and nothing hostile
// passes.
#include "core/npy/npy.h"

#include <array>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

// A file as NumPy lays it out, with any version, dict and data.
std::string npy_file(const std::string& dict, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY"s + static_cast<char>(version) + '\0';
  for (std::size_t i = 0, length = dict.size(); i < (version == 1 ? 2u : 4u); ++i, length >>= 8)
    file += static_cast<char>(length & 0xff);
  return file + dict + data;
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

Result<Tensor> parse(const std::string& file) {
  return parse_npy(std::as_bytes(std::span<const char>(file.data(), file.size())));
}

std::string npy_error(const std::string& file) {
  const auto result = parse(file);
  return result.ok() ? "parsed" : result.error().message;
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(Npy, ReadsEveryVersion) {
  for (const int version : {1, 2, 3}) {
    const auto tensor = parse(npy_file(dict("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}), version));
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(tensor->dtype(), DType::kF32);
    EXPECT_EQ(tensor->shape(), (Shape{2, 2}));
    EXPECT_THAT(tensor->to_doubles(), ElementsAre(1, 2, 3, 4));
  }
}

TEST(Npy, ReadsEveryNumericType) {
  const auto dtype_of = [](const std::string& descr, std::size_t width) {
    const auto tensor = parse(npy_file(dict(descr, "(3,)"), std::string(3 * width, '\0')));
    return tensor.ok() ? tensor->dtype() : DType::kUndefined;
  };
  EXPECT_EQ(dtype_of("<f2", 2), DType::kF16);
  EXPECT_EQ(dtype_of("<f8", 8), DType::kF64);
  EXPECT_EQ(dtype_of("|i1", 1), DType::kI8);
  EXPECT_EQ(dtype_of("<i2", 2), DType::kI16);
  EXPECT_EQ(dtype_of("<i4", 4), DType::kI32);
  EXPECT_EQ(dtype_of("=i8", 8), DType::kI64);
  EXPECT_EQ(dtype_of("|u1", 1), DType::kU8);
  EXPECT_EQ(dtype_of("<u2", 2), DType::kU16);
  EXPECT_EQ(dtype_of(">u4", 4), DType::kU32);
  EXPECT_EQ(dtype_of("<u8", 8), DType::kU64);
  EXPECT_EQ(dtype_of("|b1", 1), DType::kBool);
  EXPECT_EQ(dtype_of("<c8", 8), DType::kC64);
  EXPECT_EQ(dtype_of("<c16", 16), DType::kC128);
}

TEST(Npy, ConvertsBigEndian) {
  const auto ints = parse(npy_file(dict(">i2", "(2,)"), "\x01\x02\xff\xfe"s));
  EXPECT_THAT(ints->to_ints(), ElementsAre(0x0102, -2));
  const auto complex = parse(npy_file(dict(">c8", "(1,)"), "\x3f\x80\0\0\x40\0\0\0"s));
  const auto* parts = static_cast<const float*>(complex->data());
  EXPECT_THAT(std::span(parts, 2), ElementsAre(1, 2));
}

TEST(Npy, ConvertsFortranOrder) {
  const auto matrix = parse(npy_file(dict("<i4", "(2, 3)", "True"), raw<int32_t>({1, 4, 2, 5, 3, 6})));
  EXPECT_THAT(matrix->to_ints(), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto cube = parse(npy_file(dict("|u1", "(2, 2, 2)", "True"), raw<uint8_t>({0, 4, 2, 6, 1, 5, 3, 7})));
  EXPECT_THAT(cube->to_ints(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  const auto empty = parse(npy_file(dict("<i4", "(2, 0, 3)", "True"), ""));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->shape(), (Shape{2, 0, 3}));
}

TEST(Npy, ReadsScalarsAndOddSpacing) {
  EXPECT_EQ(parse(npy_file(dict("<i8", "()"), raw<int64_t>({-5})))->int_at(0), -5);
  const std::string odd = "  {\"shape\":(2L,),'fortran_order' : False\n,'descr':'<i8'}   ";
  EXPECT_THAT(parse(npy_file(odd, raw<int64_t>({1, 2})))->to_ints(), ElementsAre(1, 2));
}

TEST(Npy, BooleansComeOutAsZeroOrOne) {
  const auto tensor = parse(npy_file(dict("|b1", "(3,)"), "\x00\x01\x80"s));
  EXPECT_THAT(tensor->as<uint8_t>(), ElementsAre(0, 1, 1));
}

TEST(Npy, WrittenHeaderIsNumpysOwn) {
  const std::string header = *npy_header(Tensor::zeros(DType::kF32, {3, 4}));
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(header, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"s +
                        std::string(58, ' ') + "\n");
  EXPECT_THAT(*npy_header(Tensor::zeros(DType::kI8, {3})),
              HasSubstr("'|i1', 'fortran_order': False, 'shape': (3,)"));
  EXPECT_THAT(*npy_header(Tensor::scalar_f32(1)), HasSubstr("'shape': ()"));
  EXPECT_THAT(*npy_header(Tensor::zeros(DType::kBF16, {2})), HasSubstr("'<u2'"));
  EXPECT_EQ(npy_header(Tensor(DType::kString, {1})).error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(npy_header(Tensor()).ok());
}

TEST(Npy, FilesRoundTrip) {
  const auto path = scratch_path("hone-npy-test.npy");
  for (const DType dtype : {DType::kF16, DType::kF64, DType::kI8, DType::kU32, DType::kBool, DType::kC128}) {
    Tensor tensor = Tensor::zeros(dtype, {3, 1, 5});
    for (std::size_t i = 0; i < tensor.bytes(); ++i)
      static_cast<uint8_t*>(tensor.data())[i] = static_cast<uint8_t>(dtype == DType::kBool ? i % 2 : i * 7);
    ASSERT_TRUE(write_npy(path, tensor).ok());
    const auto read = read_npy(path);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(same_tensor(*read, tensor)) << dtype_name(dtype);
  }
  std::filesystem::remove(path);
}

TEST(Npy, ErrorsNameTheFile) {
  const auto path = scratch_path("hone-npy-test-bad.npy");
  ASSERT_TRUE(write_file(path, "garbage").ok());
  EXPECT_THAT(read_npy(path).error().message, HasSubstr(path.string() + ": this is not a .npy file"));
  std::filesystem::remove(path);
  EXPECT_EQ(read_npy(path).error().code, ErrorCode::kNotFound);
  EXPECT_THAT(write_npy("/nowhere/x.npy", Tensor::scalar_f32(1)).error().message, HasSubstr("'/nowhere'"));
}

TEST(Npy, EveryTruncationIsAnError) {
  const std::string file = npy_file(dict("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse(file.substr(0, size)).ok()) << size;
  EXPECT_THAT(npy_error(file + "x"), HasSubstr("17 bytes of data"));
}

TEST(Npy, HostileHeadersAreErrors) {
  const std::string four(4, '\0');
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(-1,)"), four)), HasSubstr("negative extent -1"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(99999999999999999999,)"), four)), HasSubstr("'shape'"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(4294967296, 4294967296)"), four)), HasSubstr("more elements"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(4611686018427387904,)"), "")), HasSubstr("0 bytes of data"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(0, 9223372036854775807, 9)"), "")),
              HasSubstr("more elements"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(1 2)"), four)), HasSubstr("not a tuple"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "[1]"), four)), HasSubstr("not a tuple"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(1,)", "0"), four)), HasSubstr("neither True nor False"));
  EXPECT_THAT(npy_error(npy_file("{'descr': '<f4'}", four)), HasSubstr("missing"));
  EXPECT_THAT(npy_error(npy_file("{'a': 1}", four)), HasSubstr("unexpected or repeated key 'a'"));
  EXPECT_THAT(npy_error(npy_file("import os", four)), HasSubstr("not a dict"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(1,)") + "x", four)), HasSubstr("follows the dict"));
  std::string axes = "(";
  for (int i = 0; i < 65; ++i) axes += "1,";
  EXPECT_THAT(npy_error(npy_file(dict("<f4", axes + ")"), four)), HasSubstr("more than 64 axes"));
}

TEST(Npy, WhatIsNotAnArrayOfNumbersSaysSo) {
  EXPECT_THAT(npy_error(npy_file(dict("|O", "(1,)"), "")), HasSubstr("pickled Python objects"));
  EXPECT_THAT(npy_error(npy_file(dict("<U5", "(1,)"), "")), HasSubstr("dtype '<U5' is not supported"));
  EXPECT_THAT(npy_error(npy_file(dict("f4", "(1,)"), "")), HasSubstr("not a type string"));
  EXPECT_THAT(npy_error(npy_file("{'descr': [('a', '<f4')], }", "")), HasSubstr("structured dtype"));
  EXPECT_THAT(npy_error("PK\x03\x04"), HasSubstr(".npz archive"));
  EXPECT_THAT(npy_error(npy_file(dict("<f4", "(1,)"), "", 4)), HasSubstr("version 4.0"));
  EXPECT_THAT(npy_error(""), HasSubstr("empty"));
}

}  // namespace
}  // namespace hone
