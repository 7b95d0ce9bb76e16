// Tiny models for tests that run the program: built in memory, written as ONNX.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hone::testing_support {

// x: f32[batch,3,8,8] → Conv(4 filters) → BatchNormalization → Relu → y. Weights from `seed`.
void write_small_network(const std::filesystem::path& path, unsigned seed = 1);

// A .npy file of f32, every element `value`.
void write_f32_npy(const std::filesystem::path& path, const std::vector<int64_t>& shape, float value);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace hone::testing_support
