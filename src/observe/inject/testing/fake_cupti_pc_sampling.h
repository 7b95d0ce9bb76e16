// Sampled instructions of the fake CUPTI.
#pragma once

// A kernel runs: between start and stop its instructions are sampled.
void fake_sampler_sees_kernel(const char* kernel);
