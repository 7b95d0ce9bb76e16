// Sampled instructions of the fake CUPTI.
#pragma once

#include <cstddef>

// Code is loaded, of which all kernels are from here on.
void fake_sampler_sees_code(const void* cubin, size_t bytes);

// A kernel runs: between start and stop its instructions are sampled.
void fake_sampler_sees_kernel(const char* kernel);
