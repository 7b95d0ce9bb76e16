// How the fake driver tells a profiler of what has run (fake_driver.cpp, fake_cupti.cpp).
#pragma once

#include <cstdint>

// `node`: hone::cuda::GraphNodeType; `graph`: the number of the executable graph whose replay it is of, or 0. Times are
// of fake_driver_clock().
using FakeDriverListener = void (*)(int node, uint32_t graph, int64_t start_ns, int64_t end_ns,
                                    const char* name);

extern "C" {
void fake_driver_listen(FakeDriverListener listener);  // null: nobody
int64_t fake_driver_clock();
}
