// Compares cudnn_abi.h with NVIDIA's cudnn_graph.h, where that is installed: compiled, never linked.
#if __has_include(<cudnn_graph.h>)
#include "cuda/abi_check.h"
#include "cuda/cudnn_abi.h"
#include <cudnn_graph.h>

namespace hone::cuda {

HONE_SAME_CALL(CudnnFunctions, get_version, ::cudnnGetVersion);
HONE_SAME_CALL(CudnnFunctions, get_error_string, ::cudnnGetErrorString);
HONE_SAME_CALL(CudnnFunctions, get_last_error, ::cudnnGetLastErrorString);
HONE_SAME_CALL(CudnnFunctions, create, ::cudnnCreate);
HONE_SAME_CALL(CudnnFunctions, destroy, ::cudnnDestroy);
HONE_SAME_CALL(CudnnFunctions, set_stream, ::cudnnSetStream);
HONE_SAME_CALL(CudnnFunctions, create_descriptor, ::cudnnBackendCreateDescriptor);
HONE_SAME_CALL(CudnnFunctions, destroy_descriptor, ::cudnnBackendDestroyDescriptor);
HONE_SAME_CALL(CudnnFunctions, finalise, ::cudnnBackendFinalize);
HONE_SAME_CALL(CudnnFunctions, set_attribute, ::cudnnBackendSetAttribute);
HONE_SAME_CALL(CudnnFunctions, get_attribute, ::cudnnBackendGetAttribute);
HONE_SAME_CALL(CudnnFunctions, execute, ::cudnnBackendExecute);

template <auto kOurs, auto kVendor>
constexpr bool same_cudnn_number = static_cast<int64_t>(kOurs) == static_cast<int64_t>(kVendor);
static_assert(same_cudnn_number<CudnnCode::kSuccess, CUDNN_STATUS_SUCCESS>);
static_assert(same_cudnn_number<CudnnCode::kBadParameter, CUDNN_STATUS_BAD_PARAM>);
static_assert(same_cudnn_number<CudnnCode::kNullPointer, CUDNN_STATUS_BAD_PARAM_NULL_POINTER>);
static_assert(same_cudnn_number<CudnnCode::kMisaligned, CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER>);
static_assert(same_cudnn_number<CudnnCode::kNotFinalised, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED>);
static_assert(same_cudnn_number<CudnnCode::kTooSmall, CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT>);
static_assert(same_cudnn_number<CudnnCode::kWrongType, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE>);
static_assert(same_cudnn_number<CudnnCode::kNotSupported, CUDNN_STATUS_NOT_SUPPORTED>);
static_assert(same_cudnn_number<CudnnCode::kNotSupportedGraph, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN>);
static_assert(same_cudnn_number<CudnnDataType::kF32, CUDNN_DATA_FLOAT>);
static_assert(same_cudnn_number<CudnnDataType::kF16, CUDNN_DATA_HALF>);
static_assert(same_cudnn_number<CudnnDataType::kBF16, CUDNN_DATA_BFLOAT16>);
static_assert(same_cudnn_number<CudnnDataType::kI32, CUDNN_DATA_INT32>);
static_assert(same_cudnn_number<CudnnDataType::kBool, CUDNN_DATA_BOOLEAN>);
static_assert(same_cudnn_number<CudnnDescriptor::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kHeuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kKnobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kConvolutionForward,
                                CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kConvolutionBackwardFilter,
                                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kConvolutionBackwardData,
                                CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR>);
static_assert(
    same_cudnn_number<CudnnDescriptor::kPointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kProduct, CUDNN_BACKEND_MATMUL_DESCRIPTOR>);
static_assert(
    same_cudnn_number<CudnnDescriptor::kProductOperation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnDescriptor::kReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR>);
static_assert(
    same_cudnn_number<CudnnDescriptor::kReductionOperation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR>);
static_assert(
    same_cudnn_number<CudnnDescriptor::kReshapeOperation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnAttributeType::kHandle, CUDNN_TYPE_HANDLE>);
static_assert(same_cudnn_number<CudnnAttributeType::kDataType, CUDNN_TYPE_DATA_TYPE>);
static_assert(same_cudnn_number<CudnnAttributeType::kBoolean, CUDNN_TYPE_BOOLEAN>);
static_assert(same_cudnn_number<CudnnAttributeType::kInt64, CUDNN_TYPE_INT64>);
static_assert(same_cudnn_number<CudnnAttributeType::kFloat, CUDNN_TYPE_FLOAT>);
static_assert(same_cudnn_number<CudnnAttributeType::kDouble, CUDNN_TYPE_DOUBLE>);
static_assert(same_cudnn_number<CudnnAttributeType::kPointer, CUDNN_TYPE_VOID_PTR>);
static_assert(same_cudnn_number<CudnnAttributeType::kConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE>);
static_assert(same_cudnn_number<CudnnAttributeType::kHeuristicMode, CUDNN_TYPE_HEUR_MODE>);
static_assert(same_cudnn_number<CudnnAttributeType::kKnobType, CUDNN_TYPE_KNOB_TYPE>);
static_assert(same_cudnn_number<CudnnAttributeType::kNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE>);
static_assert(same_cudnn_number<CudnnAttributeType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE>);
static_assert(same_cudnn_number<CudnnAttributeType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnAttributeType::kReductionOperator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE>);
static_assert(same_cudnn_number<CudnnAttributeType::kBehaviorNote, CUDNN_TYPE_BEHAVIOR_NOTE>);
static_assert(same_cudnn_number<CudnnAttributeType::kChar, CUDNN_TYPE_CHAR>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseMathPrecision, CUDNN_ATTR_POINTWISE_MATH_PREC>);
static_assert(same_cudnn_number<CudnnAttribute::kReluLowerClip, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP>);
static_assert(same_cudnn_number<CudnnAttribute::kReluUpperClip, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP>);
static_assert(same_cudnn_number<CudnnAttribute::kReluLowerSlope, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE>);
static_assert(same_cudnn_number<CudnnAttribute::kEluAlpha, CUDNN_ATTR_POINTWISE_ELU_ALPHA>);
static_assert(same_cudnn_number<CudnnAttribute::kSoftplusBeta, CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA>);
static_assert(same_cudnn_number<CudnnAttribute::kSwishBeta, CUDNN_ATTR_POINTWISE_SWISH_BETA>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS>);
static_assert(same_cudnn_number<CudnnAttribute::kConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE>);
static_assert(same_cudnn_number<CudnnAttribute::kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE>);
static_assert(same_cudnn_number<CudnnAttribute::kConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS>);
static_assert(same_cudnn_number<CudnnAttribute::kConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES>);
static_assert(same_cudnn_number<CudnnAttribute::kConvolutionPostPads, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS>);
static_assert(same_cudnn_number<CudnnAttribute::kConvolutionPrePads, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS>);
static_assert(
    same_cudnn_number<CudnnAttribute::kConvolutionSpatialAxes, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS>);
static_assert(same_cudnn_number<CudnnAttribute::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE>);
static_assert(same_cudnn_number<CudnnAttribute::kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH>);
static_assert(same_cudnn_number<CudnnAttribute::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS>);
static_assert(same_cudnn_number<CudnnAttribute::kConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE>);
static_assert(same_cudnn_number<CudnnAttribute::kConfigKnobs, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES>);
static_assert(same_cudnn_number<CudnnAttribute::kConfigWorkspace, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE>);
static_assert(same_cudnn_number<CudnnAttribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE>);
static_assert(same_cudnn_number<CudnnAttribute::kPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG>);
static_assert(same_cudnn_number<CudnnAttribute::kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE>);
static_assert(same_cudnn_number<CudnnAttribute::kKnobType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE>);
static_assert(same_cudnn_number<CudnnAttribute::kKnobValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE>);
static_assert(
    same_cudnn_number<CudnnAttribute::kForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA>);
static_assert(same_cudnn_number<CudnnAttribute::kForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA>);
static_assert(same_cudnn_number<CudnnAttribute::kForwardConvolution,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC>);
static_assert(same_cudnn_number<CudnnAttribute::kForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W>);
static_assert(same_cudnn_number<CudnnAttribute::kForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X>);
static_assert(same_cudnn_number<CudnnAttribute::kForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA>);
static_assert(same_cudnn_number<CudnnAttribute::kBackwardDataConvolution,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC>);
static_assert(same_cudnn_number<CudnnAttribute::kBackwardDataW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardDataDx, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardDataDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY>);
static_assert(same_cudnn_number<CudnnAttribute::kBackwardFilterAlpha,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardFilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA>);
static_assert(same_cudnn_number<CudnnAttribute::kBackwardFilterConvolution,
                                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardFilterDw, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardFilterX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X>);
static_assert(
    same_cudnn_number<CudnnAttribute::kBackwardFilterDy, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY>);
static_assert(
    same_cudnn_number<CudnnAttribute::kPointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kPointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE>);
static_assert(same_cudnn_number<CudnnAttribute::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS>);
static_assert(
    same_cudnn_number<CudnnAttribute::kGraphEngineCount, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorUid, CUDNN_ATTR_TENSOR_UNIQUE_ID>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL>);
static_assert(same_cudnn_number<CudnnAttribute::kTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE>);
static_assert(same_cudnn_number<CudnnAttribute::kPackUids, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS>);
static_assert(same_cudnn_number<CudnnAttribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS>);
static_assert(same_cudnn_number<CudnnAttribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE>);
static_assert(same_cudnn_number<CudnnAttribute::kEngineGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH>);
static_assert(same_cudnn_number<CudnnAttribute::kEngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX>);
static_assert(same_cudnn_number<CudnnAttribute::kEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE>);
static_assert(same_cudnn_number<CudnnAttribute::kEngineBehaviorNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE>);
static_assert(same_cudnn_number<CudnnAttribute::kProductComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE>);
static_assert(same_cudnn_number<CudnnAttribute::kProductA, CUDNN_ATTR_OPERATION_MATMUL_ADESC>);
static_assert(same_cudnn_number<CudnnAttribute::kProductB, CUDNN_ATTR_OPERATION_MATMUL_BDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kProductC, CUDNN_ATTR_OPERATION_MATMUL_CDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kProductDescriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC>);
static_assert(same_cudnn_number<CudnnAttribute::kReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR>);
static_assert(same_cudnn_number<CudnnAttribute::kReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE>);
static_assert(same_cudnn_number<CudnnAttribute::kReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kReductionDescriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC>);
static_assert(same_cudnn_number<CudnnAttribute::kReshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kReshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC>);
static_assert(same_cudnn_number<CudnnPointwise::kAdd, CUDNN_POINTWISE_ADD>);
static_assert(same_cudnn_number<CudnnPointwise::kMul, CUDNN_POINTWISE_MUL>);
static_assert(same_cudnn_number<CudnnPointwise::kDiv, CUDNN_POINTWISE_DIV>);
static_assert(same_cudnn_number<CudnnPointwise::kSub, CUDNN_POINTWISE_SUB>);
static_assert(same_cudnn_number<CudnnPointwise::kExp, CUDNN_POINTWISE_EXP>);
static_assert(same_cudnn_number<CudnnPointwise::kLog, CUDNN_POINTWISE_LOG>);
static_assert(same_cudnn_number<CudnnPointwise::kIdentity, CUDNN_POINTWISE_IDENTITY>);
static_assert(same_cudnn_number<CudnnPointwise::kRelu, CUDNN_POINTWISE_RELU_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kTanh, CUDNN_POINTWISE_TANH_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kSigmoid, CUDNN_POINTWISE_SIGMOID_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kElu, CUDNN_POINTWISE_ELU_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kGeluErf, CUDNN_POINTWISE_GELU_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kSoftplus, CUDNN_POINTWISE_SOFTPLUS_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kSwish, CUDNN_POINTWISE_SWISH_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kGeluTanh, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD>);
static_assert(same_cudnn_number<CudnnPointwise::kGreaterOrEqual, CUDNN_POINTWISE_CMP_GE>);
static_assert(same_cudnn_number<CudnnPointwise::kIndex, CUDNN_POINTWISE_GEN_INDEX>);
static_assert(same_cudnn_number<CudnnPointwise::kSelect, CUDNN_POINTWISE_BINARY_SELECT>);
static_assert(same_cudnn_number<CudnnReduction::kSum, CUDNN_REDUCE_TENSOR_ADD>);
static_assert(same_cudnn_number<CudnnReduction::kMax, CUDNN_REDUCE_TENSOR_MAX>);
static_assert(same_cudnn_number<CudnnHeuristic::kA, CUDNN_HEUR_MODE_A>);
static_assert(same_cudnn_number<CudnnHeuristic::kB, CUDNN_HEUR_MODE_B>);
static_assert(same_cudnn_number<CudnnHeuristic::kFallback, CUDNN_HEUR_MODE_FALLBACK>);
static_assert(same_cudnn_number<CudnnConvolutionMode::kCrossCorrelation, CUDNN_CROSS_CORRELATION>);
static_assert(same_cudnn_number<CudnnNumericalNote::kTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE>);
static_assert(
    same_cudnn_number<CudnnNumericalNote::kDownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS>);
static_assert(same_cudnn_number<CudnnNumericalNote::kReducedPrecisionReduction,
                                CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION>);
static_assert(same_cudnn_number<CudnnNumericalNote::kFft, CUDNN_NUMERICAL_NOTE_FFT>);
static_assert(
    same_cudnn_number<CudnnNumericalNote::kNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC>);
static_assert(same_cudnn_number<CudnnNumericalNote::kWinograd, CUDNN_NUMERICAL_NOTE_WINOGRAD>);
static_assert(same_cudnn_number<CudnnNumericalNote::kWinograd4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4>);
static_assert(same_cudnn_number<CudnnNumericalNote::kWinograd6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6>);
static_assert(same_cudnn_number<CudnnNumericalNote::kWinograd13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13>);
static_assert(same_cudnn_number<CudnnNumericalNote::kStrictNan, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP>);
static_assert(
    same_cudnn_number<CudnnBehaviorNote::kRuntimeCompilation, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION>);
static_assert(same_cudnn_number<CudnnBehaviorNote::kFilterReorder,
                                CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER>);
static_assert(
    same_cudnn_number<CudnnBehaviorNote::kBiasReorder, CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER>);
#if CUDNN_VERSION >= 91100  // devices that are described
static_assert(same_cudnn_number<CudnnDescriptor::kDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR>);
static_assert(same_cudnn_number<CudnnAttribute::kDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION>);
static_assert(same_cudnn_number<CudnnAttribute::kHeuristicDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP>);
static_assert(same_cudnn_number<CudnnAttribute::kPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP>);
static_assert(same_cudnn_number<CudnnAttribute::kEngineDevice, CUDNN_ATTR_ENGINE_DEVICEPROP>);
#endif
#if CUDNN_VERSION >= 91300  // attention as one operation
static_assert(same_cudnn_number<CudnnAttribute::kAttentionQ, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kAttentionK, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kAttentionV, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC>);
static_assert(same_cudnn_number<CudnnAttribute::kAttentionO, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC>);
static_assert(same_cudnn_number<CudnnAttribute::kAttentionScale, CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC>);
static_assert(same_cudnn_number<CudnnDescriptor::kAttention, CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR>);
#endif

}  // namespace hone::cuda
#endif
