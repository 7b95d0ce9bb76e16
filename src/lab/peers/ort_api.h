// What hone declares of the C interface of ONNX Runtime: where the functions that it calls stand in the
// interface's table, and what they take. The table only ever grows at its end, and all of these are in its
// first version, so any library since 1.0 has them at these places (microsoft/onnxruntime: docs/C_API.md, and
// the static_asserts beside the table itself in onnxruntime_c_api.cc: entry 101 ends version 1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone::lab::ort {

// Objects of the library, known only by address.
struct Status;
struct Env;
struct SessionOptions;
struct Session;
struct RunOptions;
struct MemoryInfo;
struct Value;
struct TensorInfo;

inline constexpr uint32_t kApiVersion = 1;

// Places in the table.
enum Entry : std::size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetGraphOptimizationLevel = 23,
  kSetIntraOpThreads = 24,
  kSetInterOpThreads = 25,
  kCreateTensorWithData = 49,
  kGetTensorData = 51,
  kGetElementType = 60,
  kGetRank = 61,
  kGetExtents = 62,
  kGetTensorInfo = 65,
  kCreateCpuMemoryInfo = 69,
  kReleaseEnv = 92,
  kReleaseStatus = 93,
  kReleaseMemoryInfo = 94,
  kReleaseSession = 95,
  kReleaseValue = 96,
  kReleaseTensorInfo = 99,
  kReleaseSessionOptions = 100,
};

// Values of the interface's enumerations.
inline constexpr int kLogErrors = 3;
inline constexpr int kEveryOptimization = 99;
inline constexpr int kPlainAllocator = 0;
inline constexpr int kDefaultMemory = 0;

using GetErrorMessage = const char* (*)(const Status*);
using CreateEnv = Status* (*)(int log_level, const char* log_name, Env**);
using CreateSession = Status* (*)(const Env*, const char* path, const SessionOptions*, Session**);
using Run = Status* (*)(Session*, const RunOptions*, const char* const* input_names,
                        const Value* const* inputs, std::size_t input_count, const char* const* output_names,
                        std::size_t output_count, Value** outputs);
using CreateSessionOptions = Status* (*)(SessionOptions**);
using SetInt = Status* (*)(SessionOptions*, int);
using CreateTensorWithData = Status* (*)(const MemoryInfo*, void* data, std::size_t bytes,
                                         const int64_t* shape, std::size_t rank, int element_type, Value**);
using GetTensorData = Status* (*)(Value*, void**);
using GetTensorInfo = Status* (*)(const Value*, TensorInfo**);
using GetElementType = Status* (*)(const TensorInfo*, int*);
using GetRank = Status* (*)(const TensorInfo*, std::size_t*);
using GetExtents = Status* (*)(const TensorInfo*, int64_t*, std::size_t rank);
using CreateCpuMemoryInfo = Status* (*)(int allocator, int memory_type, MemoryInfo**);
template <typename T>
using Release = void (*)(T*);

// What the library's one exported function, OrtGetApiBase, returns.
struct ApiBase {
  const void* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

}  // namespace hone::lab::ort
