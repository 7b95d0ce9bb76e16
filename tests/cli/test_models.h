// Tiny models for tests that run the program: built in memory, written as ONNX.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hone::testing_support {

// x: f32[batch,3,8,8] → Conv(4 filters) → BatchNormalization → Relu → y. Weights from `seed`.
void write_small_network(const std::filesystem::path& path, unsigned seed = 1);

// x: f32[1] → y: f32[1] by way of a Loop, node "forever", that never ends and adds to a scan output each
// time.
void write_endless_network(const std::filesystem::path& path);

// x: f32[1] → y: f32[1], with a constant of 16 bytes that `times` Concats, nodes "double0", "double1" …, join
// with itself.
void write_doubling_network(const std::filesystem::path& path, int times);

// rows: i64[4] → y: f32[4,64], rows of a table of 25 MB that the file holds aligned.
void write_lookup_network(const std::filesystem::path& path, unsigned seed);

// x: f32[256,512] → y: the sum of sixteen products that are one and the same: what hone makes many times
// faster, so that it shows on a busy machine, too.
void write_slow_network(const std::filesystem::path& path);

// An identity whose outputs are called `outputs`.
void write_outputs_network(const std::filesystem::path& path, const std::vector<std::string>& outputs);

// x: f32[1,4,8,8] → what no plan can fix beforehand, behind a convolution that one can: an If ("branch"), a
// NonMaxSuppression ("nms"), and a NonZero ("places") whose extent a Transpose ("turned") inherits.
void write_host_network(const std::filesystem::path& path);

// Many chained convolutions with batch normalisation, so that every pass has something to do and a step takes
// some milliseconds: an experiment on it lasts.
void write_long_network(const std::filesystem::path& path);

// A .npy file of f32, every element `value`.
void write_f32_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, float value);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace hone::testing_support
