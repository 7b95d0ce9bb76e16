// Hardware counters of the fake CUPTI.
#pragma once

#include <cstddef>
#include <cstdint>

// Whether FAKE_CUPTI says so.
bool asked_to(const char* behave);

// How many samples an image of the fake PM sampling holds.
size_t fake_samples_of(const uint8_t* image);

// A kernel runs: between start and stop it is counted.
void fake_profiler_sees_kernel();
bool fake_profiler_is_enabled();
