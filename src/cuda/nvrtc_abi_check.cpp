// Compares nvrtc_abi.h with NVIDIA's nvrtc.h, where that is installed: compiled, never linked.
#include "cuda/abi_check.h"
#include "cuda/nvrtc_abi.h"
#include <nvrtc.h>

namespace hone::cuda {

HONE_SAME_CALL(NvrtcFunctions, version, ::nvrtcVersion);
HONE_SAME_CALL(NvrtcFunctions, get_error_string, ::nvrtcGetErrorString);
HONE_SAME_CALL(NvrtcFunctions, get_num_supported_archs, ::nvrtcGetNumSupportedArchs);
HONE_SAME_CALL(NvrtcFunctions, get_supported_archs, ::nvrtcGetSupportedArchs);
HONE_SAME_CALL(NvrtcFunctions, create_program, ::nvrtcCreateProgram);
HONE_SAME_CALL(NvrtcFunctions, destroy_program, ::nvrtcDestroyProgram);
HONE_SAME_CALL(NvrtcFunctions, compile_program, ::nvrtcCompileProgram);
HONE_SAME_CALL(NvrtcFunctions, get_program_log_size, ::nvrtcGetProgramLogSize);
HONE_SAME_CALL(NvrtcFunctions, get_program_log, ::nvrtcGetProgramLog);
HONE_SAME_CALL(NvrtcFunctions, get_cubin_size, ::nvrtcGetCUBINSize);
HONE_SAME_CALL(NvrtcFunctions, get_cubin, ::nvrtcGetCUBIN);
HONE_SAME_CALL(NvrtcFunctions, get_ptx_size, ::nvrtcGetPTXSize);
HONE_SAME_CALL(NvrtcFunctions, get_ptx, ::nvrtcGetPTX);
static_assert(static_cast<int>(NvrtcCode::kCompilation) == NVRTC_ERROR_COMPILATION);

}  // namespace hone::cuda
