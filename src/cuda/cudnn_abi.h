// What hone uses of cuDNN 9's graph API, declared by ourselves (driver_abi.h says why; cudnn_abi_check.cpp compares it).
// Everything is a descriptor: created, given attributes by number, finalised, and from then on read alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/driver_abi.h"

namespace hone::cuda {

// Thousands are the kind of error: 3000 and what follows say that the library does not do what was asked for.
enum class CudnnCode : int {
  kSuccess = 0,
  kBadParameter = 2000,
  kNullPointer = 2002,
  kMisaligned = 2003,
  kNotFinalised = 2004,
  kTooSmall = 2006,
  kWrongType = 2010,
  kNotSupported = 3000,
  kNotSupportedGraph = 3001,
};

enum class CudnnDataType : int { kF32 = 0, kF16 = 2, kI32 = 4, kBF16 = 9, kBool = 11 };

enum class CudnnDescriptor : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristics = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kProduct = 18,
  kProductOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kReshapeOperation = 31,
  kDeviceProperties = 38,  // since 9.8
  kAttention = 41,
};

// What the elements of an attribute are.
enum class CudnnAttributeType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kKnobType = 9,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
  kBehaviorNote = 19,
  kChar = 24,
};

enum class CudnnAttribute : int {
  kPointwiseMode = 0,
  kPointwiseMathPrecision = 1,
  kReluLowerClip = 3,
  kReluUpperClip = 4,
  kReluLowerSlope = 5,
  kEluAlpha = 6,
  kSoftplusBeta = 7,
  kSwishBeta = 8,
  kPointwiseAxis = 9,

  kConvolutionComputeType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPostPads = 104,
  kConvolutionPrePads = 105,
  kConvolutionSpatialAxes = 106,

  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDevice = 204,  // of a described device, as the others that end so

  kConfigEngine = 300,
  kConfigKnobs = 302,
  kConfigWorkspace = 303,

  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kPlanDevice = 407,

  kKnobType = 600,
  kKnobValue = 601,

  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardDataAlpha = 706,
  kBackwardDataBeta = 707,
  kBackwardDataConvolution = 708,
  kBackwardDataW = 709,
  kBackwardDataDx = 710,
  kBackwardDataDy = 711,
  kBackwardFilterAlpha = 712,
  kBackwardFilterBeta = 713,
  kBackwardFilterConvolution = 714,
  kBackwardFilterDw = 715,
  kBackwardFilterX = 716,
  kBackwardFilterDy = 717,

  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kPointwiseT = 758,

  kGraphHandle = 800,
  kGraphOperations = 801,
  kGraphEngineCount = 802,

  kTensorAlignment = 900,
  kTensorDataType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorUid = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,

  kPackUids = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,

  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineNumericalNotes = 1303,
  kEngineBehaviorNotes = 1305,
  kEngineDevice = 1307,

  kProductComputeType = 1500,
  kProductA = 1520,
  kProductB = 1521,
  kProductC = 1522,
  kProductDescriptor = 1523,

  kReductionOperator = 1600,
  kReductionComputeType = 1601,
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescriptor = 1612,

  kReshapeX = 2200,
  kReshapeY = 2201,

  kDeviceJson = 2702,

  kAttentionQ = 2800,  // since 9.13, as the operation
  kAttentionK = 2801,
  kAttentionV = 2802,
  kAttentionO = 2803,
  kAttentionScale = 2805,
};

enum class CudnnPointwise : int {
  kAdd = 0,
  kMul = 1,
  kDiv = 6,
  kSub = 9,
  kExp = 13,
  kLog = 15,
  kIdentity = 21,
  kRelu = 100,  // between its clips
  kTanh = 101,
  kSigmoid = 102,
  kElu = 103,
  kGeluErf = 104,
  kSoftplus = 105,
  kSwish = 106,
  kGeluTanh = 107,
  kGreaterOrEqual = 303,
  kIndex = 501,   // each element's own, along an axis
  kSelect = 601,  // x where t, else b
};

enum class CudnnReduction : int { kSum = 0, kMax = 3 };

enum class CudnnHeuristic : int { kB = 1, kFallback = 2, kA = 3 };
enum class CudnnConvolutionMode : int { kCrossCorrelation = 1 };
enum class CudnnKnob : int {};  // numbers that its engines are turned by

// What an engine does to numbers.
enum class CudnnNumericalNote : int {
  kTensorCore = 0,  // f32 by way of TF32
  kDownConvertInputs = 1,
  kReducedPrecisionReduction = 2,
  kFft = 3,
  kNondeterministic = 4,
  kWinograd = 5,
  kWinograd4 = 6,
  kWinograd6 = 7,
  kWinograd13 = 8,
  kStrictNan = 9,
};
enum class CudnnBehaviorNote : int { kRuntimeCompilation = 0, kFilterReorder = 1, kBiasReorder = 2 };

using CudnnHandle = struct CudnnContext*;
using CudnnDescriptorHandle = void*;

struct CudnnFunctions {
  size_t (*get_version)() = nullptr;
  const char* (*get_error_string)(CudnnCode) = nullptr;
  void (*get_last_error)(char* text, size_t most) = nullptr;  // of the calling thread
  CudnnCode (*create)(CudnnHandle*) = nullptr;
  CudnnCode (*destroy)(CudnnHandle) = nullptr;
  CudnnCode (*set_stream)(CudnnHandle, StreamHandle) = nullptr;
  CudnnCode (*create_descriptor)(CudnnDescriptor, CudnnDescriptorHandle*) = nullptr;
  CudnnCode (*destroy_descriptor)(CudnnDescriptorHandle) = nullptr;
  CudnnCode (*finalise)(CudnnDescriptorHandle) = nullptr;
  CudnnCode (*set_attribute)(CudnnDescriptorHandle, CudnnAttribute, CudnnAttributeType, int64_t count,
                             const void* elements) = nullptr;
  CudnnCode (*get_attribute)(CudnnDescriptorHandle, CudnnAttribute, CudnnAttributeType, int64_t most,
                             int64_t* count, void* elements) = nullptr;
  CudnnCode (*execute)(CudnnHandle, CudnnDescriptorHandle plan, CudnnDescriptorHandle pack) = nullptr;
};

// The name that each has in the library.
template <typename Visit>
void for_each_function(CudnnFunctions& f, Visit&& visit) {
  visit("cudnnGetVersion", f.get_version);
  visit("cudnnGetErrorString", f.get_error_string);
  visit("cudnnGetLastErrorString", f.get_last_error);
  visit("cudnnCreate", f.create);
  visit("cudnnDestroy", f.destroy);
  visit("cudnnSetStream", f.set_stream);
  visit("cudnnBackendCreateDescriptor", f.create_descriptor);
  visit("cudnnBackendDestroyDescriptor", f.destroy_descriptor);
  visit("cudnnBackendFinalize", f.finalise);
  visit("cudnnBackendSetAttribute", f.set_attribute);
  visit("cudnnBackendGetAttribute", f.get_attribute);
  visit("cudnnBackendExecute", f.execute);
}

}  // namespace hone::cuda
