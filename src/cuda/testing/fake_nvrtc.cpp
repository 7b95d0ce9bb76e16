// NVRTC for tests where there is no GPU: the compiler of the host makes a library of a source (host_cuda.h), which the
// fake driver loads as a module and runs.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/nvrtc_abi.h"
#include "cuda/testing/host_cuda.h"
#include <unistd.h>

namespace {

using hone::cuda::NvrtcCode;
namespace fs = std::filesystem;

struct FakeProgram {
  std::string source, log, image;
};

std::string content(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// The names of the kernels: what stands before the parameters of each extern "C" __global__ function.
std::vector<std::string> entries(const std::string& source) {
  constexpr std::string_view kBegin = "extern \"C\" __global__";
  std::vector<std::string> found;
  for (size_t at = source.find(kBegin); at != std::string::npos; at = source.find(kBegin, at)) {
    at += kBegin.size();
    const size_t bounds = source.find("__launch_bounds__", at);
    size_t open = source.find('(', at);
    if (bounds < open) open = source.find('(', source.find(')', bounds));
    size_t begin = open;
    while (begin > at &&
           (std::isalnum(static_cast<unsigned char>(source[begin - 1])) || source[begin - 1] == '_'))
      --begin;
    found.push_back(source.substr(begin, open - begin));
  }
  return found;
}

std::string for_the_host(const std::string& source) {
  const bool barriers =
      source.find("__sync") != std::string::npos || source.find("__shfl") != std::string::npos;
  std::string text = hone::cuda::testing::kHostCuda + source;
  for (const std::string& entry : entries(source)) {
    text += "\nextern \"C\" void hone_launch_" + entry +
            "(const unsigned* shape, void** parameters) { hone_launch(" + entry + ", shape, " +
            (barriers ? "true" : "false") + ", parameters); }\nextern \"C\" unsigned hone_sizes_" + entry +
            "(size_t* sizes) { return hone_sizes(" + entry + ", sizes); }\n";
  }
  return text;
}

NvrtcCode compile(FakeProgram& program) {
  std::array<char, 64> folder{};
  std::snprintf(folder.data(), folder.size(), "%s", "/tmp/hone-fake-nvrtc-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) return static_cast<NvrtcCode>(1);
  const fs::path in = folder.data();
  std::ofstream(in / "kernel.cpp") << for_the_host(program.source);
  // Tests spend more on compiling kernels than on running them: not optimised, that takes half.
  const std::string command = "c++ -std=c++17 -w -O0 -ffp-contract=off -shared -fPIC -o " +
                              (in / "kernel.so").string() + " " + (in / "kernel.cpp").string() + " >" +
                              (in / "log").string() + " 2>&1";
  const int status = std::system(command.c_str());
  program.log = content(in / "log");
  program.image = content(in / "kernel.so");
  fs::remove_all(in);
  return status == 0 ? NvrtcCode::kSuccess : NvrtcCode::kCompilation;
}

NvrtcCode give(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NvrtcCode::kSuccess;
}

}  // namespace

extern "C" {
NvrtcCode nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, NvrtcCode::kSuccess; }
const char* nvrtcGetErrorString(NvrtcCode) { return "as the fake NVRTC says"; }
NvrtcCode nvrtcGetNumSupportedArchs(int* count) { return *count = 1, NvrtcCode::kSuccess; }
NvrtcCode nvrtcGetSupportedArchs(int* numbers) { return *numbers = 90, NvrtcCode::kSuccess; }
NvrtcCode nvrtcCreateProgram(FakeProgram** program, const char* source, const char*, int, const char* const*,
                             const char* const*) {
  *program = new FakeProgram{.source = source, .log = {}, .image = {}};
  return NvrtcCode::kSuccess;
}
NvrtcCode nvrtcDestroyProgram(FakeProgram** program) { return delete *program, NvrtcCode::kSuccess; }
NvrtcCode nvrtcCompileProgram(FakeProgram* program, int, const char* const*) { return compile(*program); }
NvrtcCode nvrtcGetProgramLogSize(FakeProgram* program, size_t* bytes) {
  return *bytes = program->log.size() + 1, NvrtcCode::kSuccess;
}
NvrtcCode nvrtcGetProgramLog(FakeProgram* program, char* log) { return give(program->log, log); }
NvrtcCode nvrtcGetCUBINSize(FakeProgram* program, size_t* bytes) {
  return *bytes = program->image.size(), NvrtcCode::kSuccess;
}
NvrtcCode nvrtcGetCUBIN(FakeProgram* program, char* image) {
  std::memcpy(image, program->image.data(), program->image.size());
  return NvrtcCode::kSuccess;
}
NvrtcCode nvrtcGetPTXSize(FakeProgram*, size_t*) { return static_cast<NvrtcCode>(1); }
NvrtcCode nvrtcGetPTX(FakeProgram*, char*) { return static_cast<NvrtcCode>(1); }
}
