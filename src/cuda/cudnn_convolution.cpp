#include "cuda/cudnn_convolution.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone::cuda {
namespace {

using enum CudnnAttribute;

// Tensors of the graph, by which a run gives their addresses; virtual ones count from kFirstVirtual.
constexpr int64_t kX = 1, kW = 2, kY = 3, kAdded = 4, kBias = 5, kFirstVirtual = 16;

CudnnDataType data_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return CudnnDataType::kF16;
    case DType::kBF16:
      return CudnnDataType::kBF16;
    default:
      return CudnnDataType::kF32;
  }
}

// The library's images have two spatial axes at least: a line is one row of an image.
constexpr std::size_t kLeastSpatialAxes = 2;
Shape with_rows(const Shape& shape, std::size_t spatial_at, int64_t extent) {
  Shape rows = shape;
  while (rows.size() < spatial_at + kLeastSpatialAxes)
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(spatial_at), extent);
  return rows;
}

// Elements from one to the next along each axis.
std::vector<int64_t> strides_of(const Shape& shape, bool channels_last) {
  std::vector<int64_t> strides(shape.size());
  int64_t next = 1;
  const auto place = [&](std::size_t axis) {
    strides[axis] = next;
    next *= shape[axis];
  };
  if (channels_last) place(1);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (axis != 1 || !channels_last) place(axis);
  }
  return strides;
}

template <typename T, std::size_t kMost>
std::span<const T> first_of(const std::array<T, kMost>& values, int64_t count) {
  return std::span(values).first(std::min(static_cast<std::size_t>(count), kMost));
}

}  // namespace

std::string ConvolutionEngine::name() const {
  std::string text = fmt::format("engine {}", index);
  for (std::size_t i = 0; i < knobs.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? " (" : ", ", static_cast<int>(knobs[i].type), knobs[i].value);
  return knobs.empty() ? text : text + ")";
}

Result<std::shared_ptr<const Convolution>> Convolution::make(std::shared_ptr<const Cudnn> library,
                                                             const ConvolutionDesc& desc) {
  std::shared_ptr<Convolution> convolution(new Convolution);
  convolution->library_ = std::move(library);
  convolution->desc_ = desc;
  HONE_CHECK(convolution->library_->make_current());
  HONE_CHECK(convolution->build());
  return std::shared_ptr<const Convolution>(std::move(convolution));
}

// --- the graph of operations ---

// What operations give each other is f32 and has no memory; the last one's result is y.
Status Convolution::build() {
  const int following = (desc_.added ? 1 : 0) + (desc_.bias ? 1 : 0) + (desc_.activation.mode ? 1 : 0);
  int made = 0;
  const auto next_value = [&]() -> Result<CudnnDescriptorHandle> {
    const bool last = made++ == following;
    return last ? add_tensor(kY, desc_.dtype, desc_.y, false)
                : add_tensor(kFirstVirtual + made, DType::kF32, desc_.y, true);
  };
  HONE_ASSIGN(x_, add_tensor(kX, desc_.dtype, desc_.x, false));
  HONE_ASSIGN(w_, add_tensor(kW, desc_.dtype, desc_.w, false));
  HONE_ASSIGN(CudnnDescriptorHandle value, next_value());
  HONE_CHECK(add_convolution(value));
  const auto follow = [&](const ConvolutionActivation& what, CudnnDescriptorHandle operand) -> Status {
    const CudnnDescriptorHandle given = value;
    HONE_ASSIGN(value, next_value());
    return add_pointwise(what, given, operand, value);
  };
  const ConvolutionActivation addition{.mode = CudnnPointwise::kAdd};
  if (desc_.added) {
    HONE_ASSIGN(const CudnnDescriptorHandle added, add_tensor(kAdded, desc_.dtype, desc_.y, false));
    HONE_CHECK(follow(addition, added));
  }
  if (desc_.bias) {
    Shape channels(desc_.y.size(), 1);
    channels[1] = desc_.y[1];
    HONE_ASSIGN(const CudnnDescriptorHandle bias, add_tensor(kBias, desc_.dtype, channels, false));
    HONE_CHECK(follow(addition, bias));
  }
  if (desc_.activation.mode) HONE_CHECK(follow(desc_.activation, nullptr));
  HONE_ASSIGN(graph_, CudnnObject::make(*library_, CudnnDescriptor::kOperationGraph));
  HONE_CHECK(library_->set_handle(graph_, kGraphHandle));
  HONE_CHECK(graph_.set(kGraphOperations, CudnnAttributeType::kDescriptor,
                        static_cast<int64_t>(operations_.size()), operations_.data()));
  return graph_.finalise();
}

Result<CudnnDescriptorHandle> Convolution::add_tensor(int64_t uid, DType dtype, const Shape& shape,
                                                      bool is_virtual) {
  HONE_ASSIGN(CudnnObject tensor, CudnnObject::make(*library_, CudnnDescriptor::kTensor));
  const Shape extents = with_rows(shape, 2, 1);
  const std::vector<int64_t> strides = strides_of(extents, desc_.channels_last);
  HONE_CHECK(tensor.set(kTensorUid, uid));
  HONE_CHECK(tensor.set(kTensorDataType, data_type(dtype)));
  HONE_CHECK(tensor.set(kTensorDimensions, std::span<const int64_t>(extents)));
  HONE_CHECK(tensor.set(kTensorStrides, std::span<const int64_t>(strides)));
  HONE_CHECK(tensor.set(kTensorAlignment, static_cast<int64_t>(kConvolutionAlignment)));
  HONE_CHECK(tensor.set(kTensorIsVirtual, is_virtual));
  HONE_CHECK(tensor.finalise());
  const CudnnDescriptorHandle handle = tensor.get();
  parts_.push_back(std::move(tensor));
  return handle;
}

Status Convolution::add_convolution(CudnnDescriptorHandle y) {
  HONE_ASSIGN(CudnnObject window, CudnnObject::make(*library_, CudnnDescriptor::kConvolution));
  const auto set = [&](CudnnAttribute attribute, const Shape& numbers, int64_t of_one_row) {
    const Shape all = with_rows(numbers, 0, of_one_row);
    return window.set(attribute, std::span<const int64_t>(all));
  };
  HONE_CHECK(window.set(kConvolutionComputeType, CudnnDataType::kF32));
  HONE_CHECK(window.set(kConvolutionMode, CudnnConvolutionMode::kCrossCorrelation));
  HONE_CHECK(window.set(kConvolutionSpatialAxes,
                        static_cast<int64_t>(std::max(desc_.strides.size(), kLeastSpatialAxes))));
  HONE_CHECK(set(kConvolutionDilations, desc_.dilations, 1));
  HONE_CHECK(set(kConvolutionStrides, desc_.strides, 1));
  HONE_CHECK(set(kConvolutionPrePads, desc_.pads_begin, 0));
  HONE_CHECK(set(kConvolutionPostPads, desc_.pads_end, 0));
  HONE_CHECK(window.finalise());

  struct Names {
    CudnnDescriptor kind;
    CudnnAttribute window, w, x, y, alpha, beta;
  };
  const Names names = desc_.transposed ? Names{CudnnDescriptor::kConvolutionBackwardData,
                                               kBackwardDataConvolution,
                                               kBackwardDataW,
                                               kBackwardDataDy,
                                               kBackwardDataDx,
                                               kBackwardDataAlpha,
                                               kBackwardDataBeta}
                                       : Names{CudnnDescriptor::kConvolutionForward,
                                               kForwardConvolution,
                                               kForwardW,
                                               kForwardX,
                                               kForwardY,
                                               kForwardAlpha,
                                               kForwardBeta};
  HONE_ASSIGN(CudnnObject operation, CudnnObject::make(*library_, names.kind));
  const auto give = [&](CudnnAttribute attribute, CudnnDescriptorHandle object) {
    return operation.set(attribute, CudnnAttributeType::kDescriptor, 1, &object);
  };
  HONE_CHECK(operation.set(names.window, window));
  HONE_CHECK(give(names.w, w_));
  HONE_CHECK(give(names.x, x_));
  HONE_CHECK(give(names.y, y));
  HONE_CHECK(operation.set(names.alpha, 1.0F));
  HONE_CHECK(operation.set(names.beta, 0.0F));
  HONE_CHECK(operation.finalise());
  operations_.push_back(operation.get());
  parts_.push_back(std::move(window));
  parts_.push_back(std::move(operation));
  return {};
}

Status Convolution::add_pointwise(const ConvolutionActivation& what, CudnnDescriptorHandle x,
                                  CudnnDescriptorHandle b, CudnnDescriptorHandle y) {
  HONE_ASSIGN(CudnnObject function, CudnnObject::make(*library_, CudnnDescriptor::kPointwise));
  HONE_CHECK(function.set(kPointwiseMode, *what.mode));
  HONE_CHECK(function.set(kPointwiseMathPrecision, CudnnDataType::kF32));
  switch (*what.mode) {
    case CudnnPointwise::kRelu:
      HONE_CHECK(function.set(kReluLowerClip, what.low));
      if (what.has_high) HONE_CHECK(function.set(kReluUpperClip, what.high));
      if (what.slope != 0) HONE_CHECK(function.set(kReluLowerSlope, what.slope));
      break;
    case CudnnPointwise::kElu:
      HONE_CHECK(function.set(kEluAlpha, what.alpha));
      break;
    case CudnnPointwise::kSwish:
      HONE_CHECK(function.set(kSwishBeta, what.alpha));
      break;
    case CudnnPointwise::kSoftplus:
      HONE_CHECK(function.set(kSoftplusBeta, what.alpha));
      break;
    default:
      break;
  }
  HONE_CHECK(function.finalise());
  HONE_ASSIGN(CudnnObject operation, CudnnObject::make(*library_, CudnnDescriptor::kPointwiseOperation));
  const auto give = [&](CudnnAttribute attribute, CudnnDescriptorHandle object) {
    return operation.set(attribute, CudnnAttributeType::kDescriptor, 1, &object);
  };
  HONE_CHECK(operation.set(kPointwiseDescriptor, function));
  HONE_CHECK(give(kPointwiseX, x));
  if (b != nullptr) HONE_CHECK(give(kPointwiseB, b));
  HONE_CHECK(give(kPointwiseY, y));
  HONE_CHECK(operation.finalise());
  operations_.push_back(operation.get());
  parts_.push_back(std::move(function));
  parts_.push_back(std::move(operation));
  return {};
}

// --- engines ---

// The guesses of the library's models come first. They are made for tensor cores: what computes in f32 alone is mostly
// found in the fallback, or only by asking each engine.
Result<std::vector<ConvolutionEngine>> Convolution::engines(std::size_t most) const {
  HONE_CHECK(library_->make_current());
  std::vector<ConvolutionEngine> found;
  Status failed;  // the first; of no interest where there are engines
  const auto take = [&](const Result<std::vector<ConvolutionEngine>>& some) {
    if (!some.ok()) {
      if (failed.ok()) failed = some.error();
      return;
    }
    for (const ConvolutionEngine& engine : *some) {
      if (found.size() < most && std::find(found.begin(), found.end(), engine) == found.end())
        found.push_back(engine);
    }
  };
  for (const CudnnHeuristic mode : {CudnnHeuristic::kA, CudnnHeuristic::kB, CudnnHeuristic::kFallback}) {
    if (found.size() < most) take(guesses(mode));
  }
  if (found.size() < most) take(all_engines());
  if (found.empty() && !failed.ok()) return failed.error();
  return found;
}

Result<std::vector<ConvolutionEngine>> Convolution::guesses(CudnnHeuristic mode) const {
  HONE_ASSIGN(const CudnnObject heuristics, CudnnObject::make(*library_, CudnnDescriptor::kHeuristics));
  HONE_CHECK(heuristics.set(kHeuristicGraph, graph_));
  HONE_CHECK(heuristics.set(kHeuristicMode, mode));
  HONE_CHECK(library_->set_described_device(heuristics, kHeuristicDevice));
  HONE_CHECK(heuristics.finalise());
  HONE_ASSIGN(const int64_t count,
              heuristics.get(kHeuristicResults, CudnnAttributeType::kDescriptor, 0, nullptr));
  std::vector<CudnnObject> configs;
  std::vector<CudnnDescriptorHandle> handles;
  for (int64_t i = 0; i < count; ++i) {
    HONE_ASSIGN(CudnnObject config, CudnnObject::make(*library_, CudnnDescriptor::kEngineConfig));
    handles.push_back(config.get());
    configs.push_back(std::move(config));
  }
  HONE_ASSIGN(const int64_t given,
              heuristics.get(kHeuristicResults, CudnnAttributeType::kDescriptor, count, handles.data()));
  std::vector<ConvolutionEngine> found;
  for (int64_t i = 0; i < std::min(given, count); ++i) {
    const auto engine = read_config(configs[static_cast<std::size_t>(i)]);
    if (engine.ok() && *engine) found.push_back(**engine);
  }
  return found;
}

// Each engine with its knobs as they are: what the library does not take for this graph it says itself.
Result<std::vector<ConvolutionEngine>> Convolution::all_engines() const {
  HONE_ASSIGN(const auto count, graph_.get_one<int64_t>(kGraphEngineCount));
  std::vector<ConvolutionEngine> found;
  for (int64_t index = 0; index < count; ++index) {
    ConvolutionEngine engine{.index = index, .knobs = {}};
    const auto object = engine_object(index);
    if (!object.ok()) continue;
    const auto exact = is_exact(*object, engine);
    if (exact.ok() && *exact && make_config(engine).ok()) found.push_back(engine);
  }
  return found;
}

// nullopt: it computes something else.
Result<std::optional<ConvolutionEngine>> Convolution::read_config(const CudnnObject& config) const {
  HONE_ASSIGN(const CudnnObject object, CudnnObject::make(*library_, CudnnDescriptor::kEngine));
  CudnnDescriptorHandle handle = object.get();
  HONE_CHECK(config.get(kConfigEngine, CudnnAttributeType::kDescriptor, 1, &handle));
  ConvolutionEngine engine;
  HONE_ASSIGN(engine.index, object.get_one<int64_t>(kEngineIndex));
  HONE_ASSIGN(const bool exact, is_exact(object, engine));
  if (!exact) return std::optional<ConvolutionEngine>();
  constexpr int64_t kMostKnobs = 64;
  std::vector<CudnnObject> knobs;
  std::vector<CudnnDescriptorHandle> handles;
  for (int64_t i = 0; i < kMostKnobs; ++i) {
    HONE_ASSIGN(CudnnObject knob, CudnnObject::make(*library_, CudnnDescriptor::kKnobChoice));
    handles.push_back(knob.get());
    knobs.push_back(std::move(knob));
  }
  HONE_ASSIGN(const int64_t count,
              config.get(kConfigKnobs, CudnnAttributeType::kDescriptor, kMostKnobs, handles.data()));
  for (int64_t i = 0; i < std::min(count, kMostKnobs); ++i) {
    const CudnnObject& knob = knobs[static_cast<std::size_t>(i)];
    ConvolutionEngine::Knob choice;
    HONE_ASSIGN(choice.type, knob.get_one<CudnnKnob>(kKnobType));
    HONE_ASSIGN(choice.value, knob.get_one<int64_t>(kKnobValue));
    engine.knobs.push_back(choice);
  }
  return std::optional(engine);
}

// Whether the engine computes what the description says, by what the library notes about it. What a newer library notes
// and we do not know is no.
Result<bool> Convolution::is_exact(const CudnnObject& engine, ConvolutionEngine& into) const {
  std::array<CudnnNumericalNote, 32> notes{};
  HONE_ASSIGN(const int64_t count, engine.get(kEngineNumericalNotes, std::span<CudnnNumericalNote>(notes)));
  for (const CudnnNumericalNote note : first_of(notes, count)) {
    const bool rounds_inputs = desc_.dtype == DType::kF32 && !desc_.tf32;
    if (note == CudnnNumericalNote::kStrictNan) continue;
    if (note == CudnnNumericalNote::kTensorCore && !rounds_inputs) continue;
    return false;
  }
  std::array<CudnnBehaviorNote, 32> behaviour{};
  HONE_ASSIGN(const int64_t noted, engine.get(kEngineBehaviorNotes, std::span<CudnnBehaviorNote>(behaviour)));
  for (const CudnnBehaviorNote note : first_of(behaviour, noted)) {
    if (note == CudnnBehaviorNote::kRuntimeCompilation) into.compiled_when_made = true;
    if (note == CudnnBehaviorNote::kFilterReorder || note == CudnnBehaviorNote::kBiasReorder) return false;
  }
  return true;
}

Result<CudnnObject> Convolution::engine_object(int64_t index) const {
  HONE_ASSIGN(CudnnObject engine, CudnnObject::make(*library_, CudnnDescriptor::kEngine));
  HONE_CHECK(engine.set(kEngineGraph, graph_));
  HONE_CHECK(engine.set(kEngineIndex, index));
  HONE_CHECK(library_->set_described_device(engine, kEngineDevice));
  HONE_CHECK(engine.finalise());
  return engine;
}

// The engine, its knobs, and last the configuration: what refers to something is kept with it.
Result<std::vector<CudnnObject>> Convolution::make_config(const ConvolutionEngine& chosen) const {
  std::vector<CudnnObject> parts;
  HONE_ASSIGN(CudnnObject engine, engine_object(chosen.index));
  HONE_ASSIGN(CudnnObject config, CudnnObject::make(*library_, CudnnDescriptor::kEngineConfig));
  HONE_CHECK(config.set(kConfigEngine, engine));
  parts.push_back(std::move(engine));
  std::vector<CudnnDescriptorHandle> handles;
  for (const ConvolutionEngine::Knob& choice : chosen.knobs) {
    HONE_ASSIGN(CudnnObject knob, CudnnObject::make(*library_, CudnnDescriptor::kKnobChoice));
    HONE_CHECK(knob.set(kKnobType, choice.type));
    HONE_CHECK(knob.set(kKnobValue, choice.value));
    HONE_CHECK(knob.finalise());
    handles.push_back(knob.get());
    parts.push_back(std::move(knob));
  }
  if (!handles.empty())
    HONE_CHECK(config.set(kConfigKnobs, CudnnAttributeType::kDescriptor, static_cast<int64_t>(handles.size()),
                          handles.data()));
  HONE_CHECK(config.finalise());
  parts.push_back(std::move(config));
  return parts;
}

Result<std::shared_ptr<const ConvolutionPlan>> Convolution::plan(const ConvolutionEngine& engine) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = plans_.find(engine.name()); known != plans_.end()) return known->second;
  }
  HONE_CHECK(library_->make_current());
  HONE_ASSIGN(std::vector<CudnnObject> config, make_config(engine));
  HONE_ASSIGN(CudnnObject plan, CudnnObject::make(*library_, CudnnDescriptor::kPlan));
  HONE_CHECK(library_->set_handle(plan, kPlanHandle));
  HONE_CHECK(library_->set_described_device(plan, kPlanDevice));
  HONE_CHECK(plan.set(kPlanConfig, config.back()));
  HONE_CHECK(plan.finalise());
  HONE_ASSIGN(const auto bytes, plan.get_one<int64_t>(kPlanWorkspace));
  auto made = std::make_shared<const ConvolutionPlan>(
      ConvolutionPlan{std::move(config), std::move(plan), static_cast<std::size_t>(bytes)});
  const std::lock_guard lock(mutex_);
  return plans_.try_emplace(engine.name(), std::move(made)).first->second;
}

// --- runs ---

Status ConvolutionRuns::pack(const ConvolutionOperands& operands) {
  const ConvolutionDesc& desc = convolution_->desc();
  std::vector<int64_t> uids;
  std::vector<void*> addresses;
  const auto give = [&](bool has, int64_t uid, const void* address) -> Status {
    if (!has) return {};
    if (reinterpret_cast<uintptr_t>(address) % kConvolutionAlignment != 0) [[unlikely]]
      return invalid(fmt::format("a convolution's operand lies at {}, which is not aligned to {} bytes",
                                 address, kConvolutionAlignment));
    uids.push_back(uid);
    addresses.push_back(const_cast<void*>(address));  // the library's addresses are all of this type
    return {};
  };
  HONE_CHECK(give(true, kX, operands.x));
  HONE_CHECK(give(true, kW, operands.w));
  HONE_CHECK(give(true, kY, operands.y));
  HONE_CHECK(give(desc.added, kAdded, operands.added));
  HONE_CHECK(give(desc.bias, kBias, operands.bias));
  HONE_ASSIGN(CudnnObject pack, CudnnObject::make(convolution_->library(), CudnnDescriptor::kVariantPack));
  HONE_CHECK(pack.set(kPackUids, std::span<const int64_t>(uids)));
  HONE_CHECK(pack.set(kPackPointers, std::span<void* const>(addresses)));
  HONE_CHECK(pack.set(kPackWorkspace, operands.workspace));
  HONE_CHECK(pack.finalise());
  pack_ = std::move(pack);
  packed_ = operands;
  return {};
}

Status ConvolutionRuns::run(const ConvolutionOperands& operands, StreamHandle stream) {
  if (!pack_ || operands != packed_) HONE_CHECK(pack(operands));
  return convolution_->library().execute(plan_->plan, pack_, stream);
}

}  // namespace hone::cuda
