// Which instruction sets the kernels are compiled for: AVX-512, AVX2 with FMA, and Highway's scalar fallback
// for anything older. Fewer targets keep compile times short; AVX-512's later extensions bring f32 kernels
// nothing. Include before Highway.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
