// Hardware counters of the fake CUPTI.
#pragma once

// A kernel runs: between start and stop it is counted.
void fake_profiler_sees_kernel();
bool fake_profiler_is_enabled();
