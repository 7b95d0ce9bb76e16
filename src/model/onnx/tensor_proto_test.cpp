#include "model/onnx/tensor_proto.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/onnx/test_model.h"

namespace hone::model::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace hone::model::testing;

Result<Tensor> read(const Proto& proto) {
  // The bytes outlive the call: borrowed tensors point into them.
  static std::vector<std::unique_ptr<std::string>> kept;
  kept.push_back(std::make_unique<std::string>(proto.text()));
  auto decoded = decode_tensor(*kept.back());
  if (!decoded.ok()) return decoded.error();
  static const auto owner = std::make_shared<int>(0);
  return make_tensor(*decoded, {owner, nullptr});
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(TensorProto, ReadsTypedFieldsPackedAndUnpacked) {
  EXPECT_THAT(read(float_tensor("t", {3}, {1, -2, 3.5f}))->to_doubles(), ElementsAre(1, -2, 3.5));
  EXPECT_THAT(read(int_tensor("t", {2}, {-1, int64_t{1} << 40}))->to_ints(),
              ElementsAre(-1, int64_t{1} << 40));
  Proto unpacked = tensor("t", kFloat, {2});
  unpacked.real(4, 1.5f).real(4, 2.5f);
  EXPECT_THAT(read(unpacked)->to_doubles(), ElementsAre(1.5, 2.5));
}

TEST(TensorProto, ReadsNarrowTypesFromInt32Data) {
  const auto narrow = [](int type) { return tensor("t", type, {2}); };
  EXPECT_THAT(read(narrow(3).integers(5, {-7, 100}))->to_ints(), ElementsAre(-7, 100));           // int8
  EXPECT_THAT(read(narrow(4).integers(5, {0, 65535}))->to_ints(), ElementsAre(0, 65535));         // uint16
  EXPECT_THAT(read(narrow(9).integers(5, {0, 1}))->to_ints(), ElementsAre(0, 1));                 // bool
  EXPECT_THAT(read(narrow(10).integers(5, {0x3c00, 0xc000}))->to_doubles(), ElementsAre(1, -2));  // float16
  EXPECT_THAT(read(narrow(16).integers(5, {0x3f80, 0xc000}))->to_doubles(), ElementsAre(1, -2));  // bfloat16
  EXPECT_THAT(read(narrow(17).integers(5, {0x38, 0xc0}))->to_doubles(), ElementsAre(1, -2));  // float8e4m3fn
  EXPECT_THAT(read(narrow(12).integers(11, {1, 4000000000}))->to_ints(),
              ElementsAre(1, 4000000000));  // uint32
}

TEST(TensorProto, UnpacksFourAndTwoBitTypes) {
  const auto int4 = read(tensor("t", 22, {3}).bytes(9, std::string("\xf1\x08", 2)));
  EXPECT_THAT(int4->to_ints(), ElementsAre(1, -1, -8));
  const auto uint4 = read(tensor("t", 21, {3}).integers(5, {0xf1, 0x08}));
  EXPECT_THAT(uint4->to_ints(), ElementsAre(1, 15, 8));
  const auto int2 = read(tensor("t", 26, {5}).bytes(9, std::string("\xe4\x01", 2)));
  EXPECT_THAT(int2->to_ints(), ElementsAre(0, 1, -2, -1, 1));
}

TEST(TensorProto, ReadsStringsComplexNumbersAndEmptyTensors) {
  EXPECT_THAT(read(tensor("t", 8, {2}).bytes(6, "a").bytes(6, ""))->strings(), ElementsAre("a", ""));
  const auto complex = read(tensor("t", 14, {1}).reals(4, {1, 2}));
  EXPECT_EQ(complex->dtype(), DType::kC64);
  EXPECT_EQ(complex->bytes(), 8u);
  EXPECT_EQ(read(float_tensor("t", {0, 3}, {}))->size(), 0);
  EXPECT_EQ(read(tensor("t", kFloat, {0}).bytes(9, ""))->size(), 0);
}

TEST(TensorProto, KeepsAlignedRawDataWhereItLiesAndCopiesTheRest) {
  const std::vector<float> values = {1, 2, 3, 4};
  bool borrowed = false;
  for (int shift = 0; shift < 4; ++shift) {
    Proto proto = tensor(std::string(static_cast<std::size_t>(shift) + 1, 'n'), kFloat, {4});
    proto.bytes(9, raw(values));
    alignas(64) static char buffer[4][128];
    std::memcpy(buffer[shift], proto.text().data(), proto.text().size());
    const std::string_view bytes(buffer[shift], proto.text().size());
    const auto tensor = make_tensor(*decode_tensor(bytes), {std::make_shared<int>(0), nullptr});
    ASSERT_TRUE(tensor.ok());
    EXPECT_THAT(tensor->to_doubles(), ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data()) % alignof(float), 0u);
    const auto* at = static_cast<const char*>(tensor->data());
    borrowed = borrowed || (at >= bytes.data() && at < bytes.data() + bytes.size());
  }
  EXPECT_TRUE(borrowed);
}

TEST(TensorProto, NormalizesBoolsThatAreNeitherZeroNorOne) {
  const auto bools = read(tensor("t", 9, {3}).bytes(9, std::string("\x00\x07\x01", 3)));
  EXPECT_THAT(bools->to_ints(), ElementsAre(0, 1, 1));
}

TEST(TensorProto, NamesTensorsWhoseShapeAndDataDisagree) {
  const auto message = [](const Proto& proto) { return read(proto).error().message; };
  EXPECT_THAT(message(float_tensor("w", {5}, {1, 2})), HasSubstr("tensor 'w': its shape [5]"));
  EXPECT_THAT(message(tensor("w", kFloat, {2}).bytes(9, "abc")), HasSubstr("does not fit the 3 bytes"));
  EXPECT_THAT(message(tensor("w", kFloat, {-1})), HasSubstr("tensor 'w'"));
  EXPECT_THAT(message(tensor("w", 99, {1})), HasSubstr("element type 99"));
  EXPECT_THAT(message(tensor("w", kFloat, {1, 1}).message(3, Proto())), HasSubstr("segments"));
}

TEST(TensorProto, RefusesHugeShapesWithoutTakingMemory) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_FALSE(read(float_tensor("w", {huge, huge}, {1})).ok());
  EXPECT_FALSE(read(float_tensor("w", {huge}, {1})).ok());
  EXPECT_FALSE(read(tensor("w", kFloat, {huge}).bytes(9, "1234")).ok());
  EXPECT_FALSE(read(tensor("w", 8, {huge}).bytes(6, "a")).ok());
  EXPECT_FALSE(read(tensor("w", 22, {huge}).bytes(9, "1234")).ok());
}

TEST(TensorProto, RefusesWrongWireTypesAndCutOffMessages) {
  EXPECT_FALSE(read(Proto().bytes(2, "not a number")).ok());
  EXPECT_FALSE(read(tensor("t", kFloat, {1}).integer(9, 3)).ok());
  EXPECT_FALSE(read(tensor("t", kFloat, {1}).bytes(4, "abc")).ok());
  const std::string whole = float_tensor("t", {4}, {1, 2, 3, 4}).text();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto decoded = decode_tensor(std::string_view(whole).substr(0, size));
    EXPECT_FALSE(decoded.ok() && make_tensor(*decoded, {}).ok() && size > 4) << size;
  }
}

TEST(TensorProto, MakesSparseTensorsDense) {
  SparseTensorProto sparse;
  const std::string values = float_tensor("s", {2}, {5, 7}).text();
  const std::string indices = int_tensor("", {2, 2}, {0, 1, 1, 0}).text();
  sparse.values = *decode_tensor(values);
  sparse.indices = *decode_tensor(indices);
  sparse.dims = {2, 2};
  EXPECT_THAT(make_dense(sparse, {})->to_doubles(), ElementsAre(0, 5, 7, 0));
  sparse.dims = {2, 1};
  EXPECT_THAT(make_dense(sparse, {}).error().message, HasSubstr("outside its shape"));
  sparse.dims = {int64_t{1} << 31, 1 << 20};
  EXPECT_THAT(make_dense(sparse, {}).error().message, HasSubstr("too large"));
}

}  // namespace
}  // namespace hone::model::onnx
