// NumPy's .npy files: one array a file, the form in which `hone run` takes inputs and leaves outputs.
// Format versions 1.0 to 3.0 (numpy.lib.format). Archives (.npz), strings, structured dtypes and pickled
// Python objects are not read. Types that NumPy lacks are written as the unsigned or signed integers that
// hold their bits: bf16 as u2, 8-bit and 4-bit floats as u1, i4 and i2 as i1, u4 and u2 as u1. Reading gives
// those integers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "core/result.h"
#include "core/tensor.h"

namespace hone {

// The array of a file. Little-endian arrays in C order stay in the mapped file (nothing is copied);
// big-endian and Fortran-order ones are converted.
Result<Tensor> read_npy(const std::filesystem::path& path);

// The same from memory; the tensor owns a copy.
Result<Tensor> parse_npy(std::span<const std::byte> bytes);

// Replaces `path` whole or not at all.
Status write_npy(const std::filesystem::path& path, const Tensor& tensor);

// What stands before the elements in the file that write_npy() makes.
Result<std::string> npy_header(const Tensor& tensor);

}  // namespace hone
