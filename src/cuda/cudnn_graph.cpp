#include "cuda/cudnn_graph.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace hone::cuda {
namespace {

using enum CudnnAttribute;

template <typename T, std::size_t kMost>
std::span<const T> first_of(const std::array<T, kMost>& values, int64_t count) {
  return std::span(values).first(std::min(static_cast<std::size_t>(count), kMost));
}

}  // namespace

std::string CudnnEngine::name() const {
  std::string text = fmt::format("engine {}", index);
  for (std::size_t i = 0; i < knobs.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? " (" : ", ", static_cast<int>(knobs[i].type), knobs[i].value);
  return knobs.empty() ? text : text + ")";
}

CudnnDataType cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return CudnnDataType::kF16;
    case DType::kBF16:
      return CudnnDataType::kBF16;
    case DType::kI32:
      return CudnnDataType::kI32;
    case DType::kBool:
      return CudnnDataType::kBool;
    default:
      return CudnnDataType::kF32;
  }
}

// --- making ---

Result<CudnnDescriptorHandle> CudnnGraph::add_tensor(int64_t uid, DType dtype, const Shape& extents,
                                                     const std::vector<int64_t>& strides, Kept kept) {
  HONE_ASSIGN(CudnnObject tensor, new_object(CudnnDescriptor::kTensor));
  HONE_CHECK(tensor.set(kTensorUid, uid));
  HONE_CHECK(tensor.set(kTensorDataType, cudnn_type(dtype)));
  HONE_CHECK(tensor.set(kTensorDimensions, std::span<const int64_t>(extents)));
  HONE_CHECK(tensor.set(kTensorStrides, std::span<const int64_t>(strides)));
  HONE_CHECK(tensor.set(kTensorAlignment, static_cast<int64_t>(kCudnnAlignment)));
  HONE_CHECK(tensor.set(kTensorIsVirtual, kept == Kept::kVirtual));
  if (kept == Kept::kByValue) HONE_CHECK(tensor.set(kTensorIsByValue, true));
  HONE_CHECK(tensor.finalise());
  const CudnnDescriptorHandle handle = tensor.get();
  keep(std::move(tensor));
  return handle;
}

Status CudnnGraph::add_operation(CudnnObject operation) {
  HONE_CHECK(operation.finalise());
  operations_.push_back(operation.get());
  keep(std::move(operation));
  return {};
}

Status CudnnGraph::finish() {
  HONE_ASSIGN(graph_, new_object(CudnnDescriptor::kOperationGraph));
  HONE_CHECK(library_->set_handle(graph_, kGraphHandle));
  HONE_CHECK(graph_.set(kGraphOperations, CudnnAttributeType::kDescriptor,
                        static_cast<int64_t>(operations_.size()), operations_.data()));
  return graph_.finalise();
}

// --- engines ---

// The guesses of the library's models come first. They are made for tensor cores: what computes in f32 alone is mostly
// found in the fallback, or only by asking each engine.
Result<std::vector<CudnnEngine>> CudnnGraph::engines(std::size_t most) const {
  HONE_CHECK(library_->make_current());
  std::vector<CudnnEngine> found;
  Status failed;  // the first; of no interest where there are engines
  const auto take = [&](const Result<std::vector<CudnnEngine>>& some) {
    if (!some.ok()) {
      if (failed.ok()) failed = some.error();
      return;
    }
    for (const CudnnEngine& engine : *some) {
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

Result<std::vector<CudnnEngine>> CudnnGraph::guesses(CudnnHeuristic mode) const {
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
  std::vector<CudnnEngine> found;
  for (int64_t i = 0; i < std::min(given, count); ++i) {
    const auto engine = read_config(configs[static_cast<std::size_t>(i)]);
    if (engine.ok() && *engine) found.push_back(**engine);
  }
  return found;
}

// Each engine with its knobs as they are: what the library does not take for this graph it says itself.
Result<std::vector<CudnnEngine>> CudnnGraph::all_engines() const {
  HONE_ASSIGN(const auto count, graph_.get_one<int64_t>(kGraphEngineCount));
  std::vector<CudnnEngine> found;
  for (int64_t index = 0; index < count; ++index) {
    CudnnEngine engine{.index = index, .knobs = {}};
    const auto object = engine_object(index);
    if (!object.ok()) continue;
    const auto exact = is_exact(*object, engine);
    if (exact.ok() && *exact && make_config(engine).ok()) found.push_back(engine);
  }
  return found;
}

// nullopt: it computes something else.
Result<std::optional<CudnnEngine>> CudnnGraph::read_config(const CudnnObject& config) const {
  HONE_ASSIGN(const CudnnObject object, CudnnObject::make(*library_, CudnnDescriptor::kEngine));
  CudnnDescriptorHandle handle = object.get();
  HONE_CHECK(config.get(kConfigEngine, CudnnAttributeType::kDescriptor, 1, &handle));
  CudnnEngine engine;
  HONE_ASSIGN(engine.index, object.get_one<int64_t>(kEngineIndex));
  HONE_ASSIGN(const bool exact, is_exact(object, engine));
  if (!exact) return std::optional<CudnnEngine>();
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
    CudnnEngine::Knob choice;
    HONE_ASSIGN(choice.type, knob.get_one<CudnnKnob>(kKnobType));
    HONE_ASSIGN(choice.value, knob.get_one<int64_t>(kKnobValue));
    engine.knobs.push_back(choice);
  }
  return std::optional(engine);
}

// Whether the engine computes what the description says, by what the library notes about it. What a newer library notes
// and we do not know is no.
Result<bool> CudnnGraph::is_exact(const CudnnObject& engine, CudnnEngine& into) const {
  std::array<CudnnNumericalNote, 32> notes{};
  HONE_ASSIGN(const int64_t count, engine.get(kEngineNumericalNotes, std::span<CudnnNumericalNote>(notes)));
  for (const CudnnNumericalNote note : first_of(notes, count)) {
    if (note == CudnnNumericalNote::kStrictNan) continue;
    if (note == CudnnNumericalNote::kTensorCore && tensor_cores_) continue;
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

Result<CudnnObject> CudnnGraph::engine_object(int64_t index) const {
  HONE_ASSIGN(CudnnObject engine, CudnnObject::make(*library_, CudnnDescriptor::kEngine));
  HONE_CHECK(engine.set(kEngineGraph, graph_));
  HONE_CHECK(engine.set(kEngineIndex, index));
  HONE_CHECK(library_->set_described_device(engine, kEngineDevice));
  HONE_CHECK(engine.finalise());
  return engine;
}

// The engine, its knobs, and last the configuration: what refers to something is kept with it.
Result<std::vector<CudnnObject>> CudnnGraph::make_config(const CudnnEngine& chosen) const {
  std::vector<CudnnObject> parts;
  HONE_ASSIGN(CudnnObject engine, engine_object(chosen.index));
  HONE_ASSIGN(CudnnObject config, CudnnObject::make(*library_, CudnnDescriptor::kEngineConfig));
  HONE_CHECK(config.set(kConfigEngine, engine));
  parts.push_back(std::move(engine));
  std::vector<CudnnDescriptorHandle> handles;
  for (const CudnnEngine::Knob& choice : chosen.knobs) {
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

Result<std::shared_ptr<const CudnnPlan>> CudnnGraph::plan(const CudnnEngine& engine) const {
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
  auto made = std::make_shared<const CudnnPlan>(
      CudnnPlan{std::move(config), std::move(plan), static_cast<std::size_t>(bytes)});
  const std::lock_guard lock(mutex_);
  return plans_.try_emplace(engine.name(), std::move(made)).first->second;
}

// --- runs ---

Status CudnnRuns::pack(std::span<const CudnnOperand> operands, void* workspace) {
  std::vector<int64_t> uids;
  std::vector<void*> addresses;
  for (const CudnnOperand& operand : operands) {
    if (reinterpret_cast<uintptr_t>(operand.address) % kCudnnAlignment != 0) [[unlikely]]
      return invalid(fmt::format("an operand of cuDNN's lies at {}, which is not aligned to {} bytes",
                                 operand.address, kCudnnAlignment));
    uids.push_back(operand.uid);
    addresses.push_back(const_cast<void*>(operand.address));  // the library's addresses are all of this type
  }
  HONE_ASSIGN(CudnnObject pack, CudnnObject::make(graph_->library(), CudnnDescriptor::kVariantPack));
  HONE_CHECK(pack.set(kPackUids, std::span<const int64_t>(uids)));
  HONE_CHECK(pack.set(kPackPointers, std::span<void* const>(addresses)));
  HONE_CHECK(pack.set(kPackWorkspace, workspace));
  HONE_CHECK(pack.finalise());
  pack_ = std::move(pack);
  packed_.assign(operands.begin(), operands.end());
  workspace_ = workspace;
  return {};
}

Status CudnnRuns::run(std::span<const CudnnOperand> operands, void* workspace, StreamHandle stream) {
  if (!pack_ || workspace != workspace_ ||
      !std::equal(operands.begin(), operands.end(), packed_.begin(), packed_.end()))
    HONE_CHECK(pack(operands, workspace));
  return graph_->library().execute(plan_->plan, pack_, stream);
}

}  // namespace hone::cuda
