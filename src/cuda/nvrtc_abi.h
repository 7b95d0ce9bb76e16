// What hone uses of NVRTC, declared by ourselves (driver_abi.h says why; nvrtc_abi_check.cpp compares it).
#pragma once

#include <cstddef>

namespace hone::cuda {

enum class NvrtcCode : int { kSuccess = 0, kCompilation = 6 };
using NvrtcProgramHandle = struct NvrtcProgram*;

struct NvrtcFunctions {
  NvrtcCode (*version)(int*, int*) = nullptr;
  const char* (*get_error_string)(NvrtcCode) = nullptr;
  NvrtcCode (*get_num_supported_archs)(int*) = nullptr;
  NvrtcCode (*get_supported_archs)(int*) = nullptr;
  NvrtcCode (*create_program)(NvrtcProgramHandle*, const char*, const char*, int, const char* const*,
                              const char* const*) = nullptr;
  NvrtcCode (*destroy_program)(NvrtcProgramHandle*) = nullptr;
  NvrtcCode (*compile_program)(NvrtcProgramHandle, int, const char* const*) = nullptr;
  NvrtcCode (*get_program_log_size)(NvrtcProgramHandle, size_t*) = nullptr;
  NvrtcCode (*get_program_log)(NvrtcProgramHandle, char*) = nullptr;
  NvrtcCode (*get_cubin_size)(NvrtcProgramHandle, size_t*) = nullptr;
  NvrtcCode (*get_cubin)(NvrtcProgramHandle, char*) = nullptr;
  NvrtcCode (*get_ptx_size)(NvrtcProgramHandle, size_t*) = nullptr;
  NvrtcCode (*get_ptx)(NvrtcProgramHandle, char*) = nullptr;
};

// The name that each has in the library.
template <typename Visit>
void for_each_function(NvrtcFunctions& f, Visit&& visit) {
  visit("nvrtcVersion", f.version);
  visit("nvrtcGetErrorString", f.get_error_string);
  visit("nvrtcGetNumSupportedArchs", f.get_num_supported_archs);
  visit("nvrtcGetSupportedArchs", f.get_supported_archs);
  visit("nvrtcCreateProgram", f.create_program);
  visit("nvrtcDestroyProgram", f.destroy_program);
  visit("nvrtcCompileProgram", f.compile_program);
  visit("nvrtcGetProgramLogSize", f.get_program_log_size);
  visit("nvrtcGetProgramLog", f.get_program_log);
  visit("nvrtcGetCUBINSize", f.get_cubin_size);
  visit("nvrtcGetCUBIN", f.get_cubin);
  visit("nvrtcGetPTXSize", f.get_ptx_size);
  visit("nvrtcGetPTX", f.get_ptx);
}

}  // namespace hone::cuda
