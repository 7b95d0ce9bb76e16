// cuDNN without a GPU, for tests: libcudnn.so.9 over the fake driver, whose memory is the host's. It keeps descriptors as the
// backend API has them, refuses what the library refuses (attributes that are missing, of another type or out of order,
// descriptors that are gone, shapes that do not fit, misaligned or missing addresses), and computes graphs of one convolution
// and what follows it, and attention, as NVIDIA's documentation defines them: in double, values between operations in f32.
// What is composed of products, functions and reductions it computes one operation after the other, and takes where that is
// attention or its gradient by the rules of the library's engines (fake_cudnn_composition.cpp).
//
// Its engines are made after those that 9.19 has for an H100. Compiled ones take the sum of a convolution, one tensor and one
// bias, and a few functions of that; a generated one any function, with channels last, on tensor cores. In f32 its first
// guesses are engines of tensor cores, which round to tf32, or give other numbers each time: who runs one of those gets NaN.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/testing/fake_cudnn_graph.h"

extern "C" void fake_driver_give(void* stream, void (*work)(void*), void* data, void (*release)(void*));

namespace {

using namespace hone::cuda;
using namespace hone::cuda::fake_cudnn;

thread_local std::string last_error;
CudnnCode refuse(CudnnCode code, std::string why) { return last_error = std::move(why), code; }

std::mutex objects_mutex;
std::set<const void*> objects;  // that live
bool is_live(const void* object) {
  const std::lock_guard lock(objects_mutex);
  return objects.contains(object);
}

size_t size_of(Type type) {
  switch (type) {
    case Type::kBoolean:
    case Type::kChar:
      return 1;
    case Type::kInt64:
    case Type::kDouble:
    case Type::kPointer:
    case Type::kHandle:
    case Type::kDescriptor:
      return 8;
    default:
      return 4;
  }
}

struct Rule {
  Attribute attribute;
  Type type;
  bool needed;
  Kind refers_to = Kind::kTensor;  // of descriptors
};
constexpr bool kNeeded = true, kMayLack = false;

const std::vector<Rule>& rules_of(Kind kind) {
  using enum CudnnAttribute;
  static const std::map<Kind, std::vector<Rule>> rules = {
      {Kind::kTensor,
       {{kTensorUid, Type::kInt64, kNeeded},
        {kTensorDataType, Type::kDataType, kNeeded},
        {kTensorDimensions, Type::kInt64, kNeeded},
        {kTensorStrides, Type::kInt64, kNeeded},
        {kTensorAlignment, Type::kInt64, kNeeded},
        {kTensorIsVirtual, Type::kBoolean, kMayLack},
        {kTensorIsByValue, Type::kBoolean, kMayLack}}},
      {Kind::kConvolution,
       {{kConvolutionComputeType, Type::kDataType, kNeeded},
        {kConvolutionMode, Type::kConvolutionMode, kNeeded},
        {kConvolutionSpatialAxes, Type::kInt64, kNeeded},
        {kConvolutionDilations, Type::kInt64, kNeeded},
        {kConvolutionStrides, Type::kInt64, kNeeded},
        {kConvolutionPrePads, Type::kInt64, kNeeded},
        {kConvolutionPostPads, Type::kInt64, kNeeded}}},
      {Kind::kConvolutionForward,
       {{kForwardConvolution, Type::kDescriptor, kNeeded, Kind::kConvolution},
        {kForwardX, Type::kDescriptor, kNeeded},
        {kForwardW, Type::kDescriptor, kNeeded},
        {kForwardY, Type::kDescriptor, kNeeded},
        {kForwardAlpha, Type::kFloat, kNeeded},
        {kForwardBeta, Type::kFloat, kNeeded}}},
      {Kind::kConvolutionBackwardData,
       {{kBackwardDataConvolution, Type::kDescriptor, kNeeded, Kind::kConvolution},
        {kBackwardDataDy, Type::kDescriptor, kNeeded},
        {kBackwardDataW, Type::kDescriptor, kNeeded},
        {kBackwardDataDx, Type::kDescriptor, kNeeded},
        {kBackwardDataAlpha, Type::kFloat, kNeeded},
        {kBackwardDataBeta, Type::kFloat, kNeeded}}},
      {Kind::kConvolutionBackwardFilter,
       {{kBackwardFilterConvolution, Type::kDescriptor, kNeeded, Kind::kConvolution},
        {kBackwardFilterX, Type::kDescriptor, kNeeded},
        {kBackwardFilterDy, Type::kDescriptor, kNeeded},
        {kBackwardFilterDw, Type::kDescriptor, kNeeded},
        {kBackwardFilterAlpha, Type::kFloat, kNeeded},
        {kBackwardFilterBeta, Type::kFloat, kNeeded}}},
      {Kind::kPointwise,
       {{kPointwiseMode, Type::kPointwiseMode, kNeeded},
        {kPointwiseMathPrecision, Type::kDataType, kNeeded},
        {kReluLowerClip, Type::kDouble, kMayLack},
        {kReluUpperClip, Type::kDouble, kMayLack},
        {kReluLowerSlope, Type::kDouble, kMayLack},
        {kEluAlpha, Type::kDouble, kMayLack},
        {kSoftplusBeta, Type::kDouble, kMayLack},
        {kSwishBeta, Type::kDouble, kMayLack},
        {kPointwiseAxis, Type::kInt64, kMayLack}}},
      {Kind::kPointwiseOperation,
       {{kPointwiseDescriptor, Type::kDescriptor, kNeeded, Kind::kPointwise},
        {kPointwiseX, Type::kDescriptor, kNeeded},
        {kPointwiseB, Type::kDescriptor, kMayLack},
        {kPointwiseT, Type::kDescriptor, kMayLack},
        {kPointwiseY, Type::kDescriptor, kNeeded}}},
      {Kind::kProduct, {{kProductComputeType, Type::kDataType, kNeeded}}},
      {Kind::kProductOperation,
       {{kProductDescriptor, Type::kDescriptor, kNeeded, Kind::kProduct},
        {kProductA, Type::kDescriptor, kNeeded},
        {kProductB, Type::kDescriptor, kNeeded},
        {kProductC, Type::kDescriptor, kNeeded}}},
      {Kind::kReduction,
       {{kReductionOperator, Type::kReductionOperator, kNeeded},
        {kReductionComputeType, Type::kDataType, kNeeded}}},
      {Kind::kReductionOperation,
       {{kReductionDescriptor, Type::kDescriptor, kNeeded, Kind::kReduction},
        {kReductionX, Type::kDescriptor, kNeeded},
        {kReductionY, Type::kDescriptor, kNeeded}}},
      {Kind::kReshapeOperation,
       {{kReshapeX, Type::kDescriptor, kNeeded}, {kReshapeY, Type::kDescriptor, kNeeded}}},
      {Kind::kAttention,
       {{kAttentionQ, Type::kDescriptor, kNeeded},
        {kAttentionK, Type::kDescriptor, kNeeded},
        {kAttentionV, Type::kDescriptor, kNeeded},
        {kAttentionO, Type::kDescriptor, kNeeded},
        {kAttentionScale, Type::kDescriptor, kNeeded}}},
      // The handle is said to be of no use any more; older versions of 9 insist.
      {Kind::kOperationGraph,
       {{kGraphHandle, Type::kHandle, kNeeded},
        {kGraphOperations, Type::kDescriptor, kNeeded, Kind::kOperationGraph}}},  // any operation
      {Kind::kHeuristics,
       {{kHeuristicGraph, Type::kDescriptor, kNeeded, Kind::kOperationGraph},
        {kHeuristicMode, Type::kHeuristicMode, kNeeded}}},
      {Kind::kEngine,
       {{kEngineGraph, Type::kDescriptor, kNeeded, Kind::kOperationGraph},
        {kEngineIndex, Type::kInt64, kNeeded}}},
      {Kind::kKnobChoice, {{kKnobType, Type::kKnobType, kNeeded}, {kKnobValue, Type::kInt64, kNeeded}}},
      {Kind::kEngineConfig,
       {{kConfigEngine, Type::kDescriptor, kNeeded, Kind::kEngine},
        {kConfigKnobs, Type::kDescriptor, kMayLack, Kind::kKnobChoice}}},
      {Kind::kPlan,
       {{kPlanHandle, Type::kHandle, kNeeded},
        {kPlanConfig, Type::kDescriptor, kNeeded, Kind::kEngineConfig}}},
      {Kind::kVariantPack,
       {{kPackUids, Type::kInt64, kNeeded},
        {kPackPointers, Type::kPointer, kNeeded},
        {kPackWorkspace, Type::kPointer, kNeeded}}},
  };
  static const std::vector<Rule> none;
  const auto found = rules.find(kind);
  return found == rules.end() ? none : found->second;
}

// --- engines ---

enum : int64_t { kDirect = 0, kSplit = 3, kTensorCores = 5, kUnsteady = 7, kGenerated = 8, kEngines = 9 };
constexpr int kSplitKnob = 12;
constexpr int64_t kSplitBytes = 4096;

// conv [+ tensor] + bias, and a function that compiled engines have. Behind transposed convolutions: nothing.
bool is_compiled_form(const Program& program) {
  const std::vector<Step>& steps = program.steps;
  if (steps.empty()) return true;
  if (program.convolution().backward) return false;
  size_t i = 0;
  const auto adds = [&](bool like_result) {
    return i < steps.size() && steps[i].mode == CudnnPointwise::kAdd &&
           (steps[i].b->extents == steps[i].y.extents) == like_result;
  };
  if (adds(true)) ++i;
  if (!adds(false)) return false;
  ++i;
  if (i == steps.size()) return true;
  const CudnnPointwise last = steps[i].mode;
  return i + 1 == steps.size() && steps[i].low == 0 && steps[i].slope == 0 &&
         (last == CudnnPointwise::kRelu || last == CudnnPointwise::kSigmoid ||
          last == CudnnPointwise::kTanh || last == CudnnPointwise::kElu);
}

// Generated ones alone, of halves in whole 16 bytes.
bool takes_attention(int64_t engine, const AttentionView& attention) {
  const int64_t columns = attention.q.extents[3], values = attention.v.extents[3];
  return (engine == kGenerated || engine == kUnsteady) && attention.q.type != CudnnDataType::kF32 &&
         columns % 8 == 0 && values % 8 == 0 && std::max(columns, values) <= 256;
}

bool has_upper_clip(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), [](const Step& step) {
    return step.mode == CudnnPointwise::kRelu && std::isfinite(step.high);
  });
}

bool takes(int64_t engine, const Program& program) {
  if (program.attention) return takes_attention(engine, *program.attention);
  if (program.composition)
    return engine == kGenerated || engine == kUnsteady;  // what it reads is what it takes
  if (has_upper_clip(program) && engine != kDirect) return false;
  switch (engine) {
    case kDirect:
      return is_compiled_form(program);
    case kSplit:
    case kTensorCores:
    case kUnsteady:
      return is_compiled_form(program) && program.steps.size() < 4;
    case kGenerated:
      return program.result().channels_last() && !program.steps.empty();
    default:
      return false;
  }
}

std::vector<CudnnNumericalNote> notes_of(int64_t engine) {
  switch (engine) {
    case kDirect:
      return {CudnnNumericalNote::kStrictNan};
    case kTensorCores:
    case kGenerated:
      return {CudnnNumericalNote::kTensorCore};
    case kUnsteady:
      return {CudnnNumericalNote::kNondeterministic};
    default:
      return {};
  }
}

std::vector<int64_t> guesses(CudnnHeuristic mode, const Program& program) {
  const std::vector<int64_t> wanted = mode == CudnnHeuristic::kFallback
                                          ? std::vector<int64_t>{kDirect}
                                          : std::vector<int64_t>{kTensorCores, kUnsteady, kGenerated};
  std::vector<int64_t> found;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(found),
               [&](int64_t engine) { return takes(engine, program); });
  return found;
}

// --- finalising ---

CudnnCode finalise_engine(const Object& engine) {
  const auto program = read_program(engine.object(Attribute::kEngineGraph));
  const auto index = engine.one<int64_t>(Attribute::kEngineIndex);
  if (index < 0 || index >= kEngines) return refuse(CudnnCode::kBadParameter, "no such engine");
  return takes(index, *program) ? CudnnCode::kSuccess
                                : refuse(CudnnCode::kNotSupported, "the engine does not take the graph");
}

CudnnCode finalise_kind(const Object& object) {
  using enum CudnnAttribute;
  switch (object.kind) {
    case Kind::kTensor: {
      const TensorView tensor(object);
      const bool whole = tensor.extents.size() == tensor.strides.size() && tensor.extents.size() >= 3 &&
                         tensor.extents.size() <= 8 && tensor.count() > 0;
      return whole ? CudnnCode::kSuccess : refuse(CudnnCode::kBadParameter, "extents and strides do not fit");
    }
    case Kind::kOperationGraph:
      for (const Object* const operation : object.all<const Object*>(kGraphOperations)) {
        if (!is_operation(operation->kind)) return refuse(CudnnCode::kBadParameter, "not an operation");
      }
      return read_program(object)
                 ? CudnnCode::kSuccess
                 : refuse(CudnnCode::kNotSupportedGraph,
                          "no convolution with what follows it, no attention, no gradient of one");
    case Kind::kEngine:
      return finalise_engine(object);
    case Kind::kHeuristics:
      return guesses(object.one<CudnnHeuristic>(kHeuristicMode),
                     *read_program(object.object(kHeuristicGraph)))
                     .empty()
                 ? refuse(CudnnCode::kNotSupported, "no engine for the graph")
                 : CudnnCode::kSuccess;
    case Kind::kEngineConfig:
      for (const Object* const knob : object.all<const Object*>(kConfigKnobs)) {
        const bool known = object.object(kConfigEngine).one<int64_t>(kEngineIndex) == kTensorCores &&
                           knob->one<int>(kKnobType) == kSplitKnob && knob->one<int64_t>(kKnobValue) == 2;
        if (!known) return refuse(CudnnCode::kNotSupported, "the engine has no such knob");
      }
      return CudnnCode::kSuccess;
    case Kind::kVariantPack:
      return object.all<int64_t>(kPackUids).size() == object.all<void*>(kPackPointers).size()
                 ? CudnnCode::kSuccess
                 : refuse(CudnnCode::kTooSmall, "as many addresses as tensors are needed");
    default:
      return CudnnCode::kSuccess;
  }
}

// --- what is computed from attributes ---

template <typename T>
CudnnCode give(const std::vector<T>& values, int64_t most, int64_t* count, void* elements) {
  *count = static_cast<int64_t>(values.size());
  const auto given = static_cast<size_t>(std::min(most, *count));
  if (given > 0) std::memcpy(elements, values.data(), given * sizeof(T));
  return CudnnCode::kSuccess;
}

void make_engine(Object& engine, const Object& graph, int64_t index) {
  engine.values[Attribute::kEngineIndex] = {Type::kInt64, 1, std::vector<std::byte>(8)};
  std::memcpy(engine.values[Attribute::kEngineIndex].bytes.data(), &index, 8);
  const Object* const pointer = &graph;
  engine.values[Attribute::kEngineGraph] = {Type::kDescriptor, 1, std::vector<std::byte>(8)};
  std::memcpy(engine.values[Attribute::kEngineGraph].bytes.data(), &pointer, 8);
  engine.final = true;
}

int64_t workspace_of(const Object& config) {
  const auto index =
      config.one<const Object*>(Attribute::kConfigEngine)->one<int64_t>(Attribute::kEngineIndex);
  return index == kSplit ? kSplitBytes : 0;
}

// The engines that heuristics find keep an engine of their own, as long as the process lives.
CudnnCode give_results(const Object& heuristics, int64_t most, int64_t* count, void* elements) {
  const Object& graph = heuristics.object(Attribute::kHeuristicGraph);
  const auto found = guesses(heuristics.one<CudnnHeuristic>(Attribute::kHeuristicMode), *read_program(graph));
  *count = static_cast<int64_t>(found.size());
  static std::vector<std::unique_ptr<Object>> engines;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (int64_t i = 0; i < std::min(most, *count); ++i) {
    Object& config = *static_cast<Object**>(elements)[i];
    if (config.kind != Kind::kEngineConfig) return refuse(CudnnCode::kWrongType, "no configuration");
    engines.push_back(std::make_unique<Object>(Object{.kind = Kind::kEngine, .final = false, .values = {}}));
    make_engine(*engines.back(), graph, found[static_cast<size_t>(i)]);
    const Object* const pointer = engines.back().get();
    config.values[Attribute::kConfigEngine] = {Type::kDescriptor, 1, std::vector<std::byte>(8)};
    std::memcpy(config.values[Attribute::kConfigEngine].bytes.data(), &pointer, 8);
    config.final = true;
  }
  return CudnnCode::kSuccess;
}

CudnnCode give_knobs(const Object& config, int64_t most, int64_t* count, void* elements) {
  const auto index =
      config.one<const Object*>(Attribute::kConfigEngine)->one<int64_t>(Attribute::kEngineIndex);
  *count = index == kTensorCores ? 1 : 0;
  if (*count == 0 || most == 0) return CudnnCode::kSuccess;
  Object& knob = **static_cast<Object**>(elements);
  const int type = kSplitKnob;
  const int64_t value = 2;
  knob.values[Attribute::kKnobType] = {Type::kKnobType, 1, std::vector<std::byte>(4)};
  std::memcpy(knob.values[Attribute::kKnobType].bytes.data(), &type, 4);
  knob.values[Attribute::kKnobValue] = {Type::kInt64, 1, std::vector<std::byte>(8)};
  std::memcpy(knob.values[Attribute::kKnobValue].bytes.data(), &value, 8);
  knob.final = true;
  return CudnnCode::kSuccess;
}

int the_handle;
void* the_stream = nullptr;

}  // namespace

extern "C" {
size_t cudnnGetVersion() { return 91900; }
const char* cudnnGetErrorString(CudnnCode) { return "CUDNN_STATUS_OF_THE_FAKE"; }
void cudnnGetLastErrorString(char* text, size_t most) {
  std::snprintf(text, most, "%s", last_error.c_str());
  last_error.clear();
}
CudnnCode cudnnCreate(void** handle) { return *handle = &the_handle, CudnnCode::kSuccess; }
CudnnCode cudnnDestroy(void*) { return CudnnCode::kSuccess; }
CudnnCode cudnnSetStream(void* handle, void* stream) {
  if (handle != &the_handle) return CudnnCode::kBadParameter;
  return the_stream = stream, CudnnCode::kSuccess;
}
int fake_cudnn_live() {
  const std::lock_guard lock(objects_mutex);
  return static_cast<int>(objects.size());
}

CudnnCode cudnnBackendCreateDescriptor(Kind kind, Object** object) {
  if (kind != Kind::kDeviceProperties && kind != Kind::kOperationGraph && rules_of(kind).empty())
    return refuse(CudnnCode::kNotSupported, "no such descriptor");
  *object = new Object{.kind = kind, .final = false, .values = {}};
  const std::lock_guard lock(objects_mutex);
  objects.insert(*object);
  return CudnnCode::kSuccess;
}
CudnnCode cudnnBackendDestroyDescriptor(Object* object) {
  {
    const std::lock_guard lock(objects_mutex);
    if (objects.erase(object) == 0) return CudnnCode::kBadParameter;
  }
  delete object;
  return CudnnCode::kSuccess;
}
CudnnCode cudnnBackendSetAttribute(Object* object, Attribute attribute, Type type, int64_t count,
                                   const void* elements) {
  if (!is_live(object) || object->final) return refuse(CudnnCode::kBadParameter, "gone, or finalised");
  const std::vector<Rule>& rules = rules_of(object->kind);
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.attribute == attribute; });
  if (rule == rules.end()) return refuse(CudnnCode::kBadParameter, "no attribute of this descriptor");
  if (rule->type != type) return refuse(CudnnCode::kWrongType, "of another type");
  if (count < 1 || elements == nullptr) return refuse(CudnnCode::kNullPointer, "no elements");
  if (type == Type::kDescriptor) {
    for (int64_t i = 0; i < count; ++i) {
      const Object* const refers = static_cast<Object* const*>(elements)[i];
      if (!is_live(refers) || !refers->final)
        return refuse(CudnnCode::kNotFinalised, "gone, or not finalised");
      const bool right = attribute == Attribute::kGraphOperations ? is_operation(refers->kind)
                                                                  : refers->kind == rule->refers_to;
      if (!right) return refuse(CudnnCode::kWrongType, "a descriptor of another kind");
    }
  }
  Value value{type, count, std::vector<std::byte>(static_cast<size_t>(count) * size_of(type))};
  std::memcpy(value.bytes.data(), elements, value.bytes.size());
  object->values[attribute] = std::move(value);
  return CudnnCode::kSuccess;
}
CudnnCode cudnnBackendFinalize(Object* object) {
  if (!is_live(object) || object->final) return refuse(CudnnCode::kBadParameter, "gone, or finalised");
  for (const Rule& rule : rules_of(object->kind)) {
    if (rule.needed && !object->has(rule.attribute))
      return refuse(CudnnCode::kBadParameter,
                    "attribute " + std::to_string(static_cast<int>(rule.attribute)) + " is missing");
  }
  const CudnnCode code = finalise_kind(*object);
  object->final = code == CudnnCode::kSuccess;
  return code;
}
CudnnCode cudnnBackendGetAttribute(Object* object, Attribute attribute, Type type, int64_t most,
                                   int64_t* count, void* elements) {
  using enum CudnnAttribute;
  if (!object->final) return refuse(CudnnCode::kNotFinalised, "not finalised");
  const auto of_type = [&](Type wanted) { return type == wanted; };
  switch (attribute) {
    case kHeuristicResults:
      return give_results(*object, most, count, elements);
    case kConfigEngine: {
      const Object& engine = object->object(kConfigEngine);
      make_engine(**static_cast<Object**>(elements), engine.object(kEngineGraph),
                  engine.one<int64_t>(kEngineIndex));
      return *count = 1, CudnnCode::kSuccess;
    }
    case kConfigKnobs:
      return give_knobs(*object, most, count, elements);
    case kEngineNumericalNotes:
      if (!of_type(Type::kNumericalNote)) return CudnnCode::kWrongType;
      return give(notes_of(object->one<int64_t>(kEngineIndex)), most, count, elements);
    case kEngineBehaviorNotes:
      if (!of_type(Type::kBehaviorNote)) return CudnnCode::kWrongType;
      return give(object->one<int64_t>(kEngineIndex) == kGenerated
                      ? std::vector{CudnnBehaviorNote::kRuntimeCompilation}
                      : std::vector<CudnnBehaviorNote>(),
                  most, count, elements);
    case kGraphEngineCount:
      if (!of_type(Type::kInt64)) return CudnnCode::kWrongType;
      return give(std::vector<int64_t>{kEngines}, most, count, elements);
    case kPlanWorkspace:
      if (!of_type(Type::kInt64)) return CudnnCode::kWrongType;
      return give(std::vector<int64_t>{workspace_of(object->object(kPlanConfig))}, most, count, elements);
    default: {
      const auto known = object->values.find(attribute);
      if (known == object->values.end())
        return refuse(CudnnCode::kBadParameter, "not an attribute to be read");
      if (known->second.type != type) return refuse(CudnnCode::kWrongType, "of another type");
      const int64_t given = std::min(most, *count = known->second.count);
      std::memcpy(elements, known->second.bytes.data(), static_cast<size_t>(given) * size_of(type));
      return CudnnCode::kSuccess;
    }
  }
}
CudnnCode cudnnBackendExecute(void* handle, Object* plan, Object* pack) {
  using enum CudnnAttribute;
  if (handle != &the_handle || !is_live(plan) || !is_live(pack) || !plan->final || !pack->final ||
      plan->kind != Kind::kPlan || pack->kind != Kind::kVariantPack)
    return refuse(CudnnCode::kBadParameter, "no plan, or no addresses");
  const Object& config = plan->object(kPlanConfig);
  if (!is_live(&config)) return refuse(CudnnCode::kBadParameter, "the configuration is gone");
  const Object& engine = config.object(kConfigEngine);
  const auto index = engine.one<int64_t>(kEngineIndex);
  auto run = std::make_unique<ProgramRun>(
      ProgramRun{.program = *read_program(engine.object(kEngineGraph)), .wrong = false, .at = {}});
  const bool in_f32 = !run->program.composition && run->program.result().type == CudnnDataType::kF32;
  run->wrong = index == kUnsteady;
  run->tf32 = in_f32 && (index == kTensorCores || index == kGenerated);
  const auto uids = pack->all<int64_t>(kPackUids);
  const auto addresses = pack->all<void*>(kPackPointers);
  for (size_t i = 0; i < uids.size(); ++i) run->at[uids[i]] = addresses[i];
  if (run->at.size() != run->program.memory.size())
    return refuse(CudnnCode::kBadParameter, "as many addresses as tensors of the graph in memory");
  for (const TensorView& tensor : run->program.memory) {
    const auto given = run->at.find(tensor.uid);
    if (given == run->at.end() || given->second == nullptr)
      return refuse(CudnnCode::kNullPointer, "no address for tensor " + std::to_string(tensor.uid));
    if (reinterpret_cast<uintptr_t>(given->second) % static_cast<uintptr_t>(tensor.alignment) != 0)
      return refuse(CudnnCode::kMisaligned, "tensor " + std::to_string(tensor.uid));
  }
  for (const TensorView& tensor : run->program.memory) {
    if (tensor.by_value) run->by_value[tensor.uid] = *static_cast<const float*>(run->at.at(tensor.uid));
  }
  if (workspace_of(config) > 0 && pack->one<void*>(kPackWorkspace) == nullptr)
    return refuse(CudnnCode::kNullPointer, "no workspace");
  fake_driver_give(
      the_stream, [](void* given) { static_cast<const ProgramRun*>(given)->compute(); }, run.release(),
      [](void* given) { delete static_cast<ProgramRun*>(given); });
  return CudnnCode::kSuccess;
}
}
