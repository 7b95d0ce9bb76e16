#include "lab/peers/ort.h"

#include <cstring>
#include <functional>

#include <fmt/core.h>

#include "core/onnx_dtype.h"
#include "lab/peers/ort_api.h"

namespace hone::lab {
namespace {

class Api {
 public:
  explicit Api(const void* const* table) : table_(table) {}

  template <typename Function>
  Function get(ort::Entry entry) const {
    Function function = nullptr;
    static_assert(sizeof(function) == sizeof(table_[0]));
    std::memcpy(&function, &table_[entry], sizeof(function));
    return function;
  }

  // The library's status as ours; it is released.
  Status check(ort::Status* status, const std::string& doing) const {
    if (status == nullptr) return {};
    const std::string message = get<ort::GetErrorMessage>(ort::kGetErrorMessage)(status);
    get<ort::Release<ort::Status>>(ort::kReleaseStatus)(status);
    return invalid(fmt::format("ONNX Runtime: {}: {}", doing, message));
  }

 private:
  const void* const* table_;
};

// An object of the library that is released with its owner.
template <typename T>
using Handle = std::unique_ptr<T, ort::Release<T>>;

template <typename T>
Handle<T> empty(const Api& api, ort::Entry release) {
  return Handle<T>(nullptr, api.get<ort::Release<T>>(release));
}

// Fills `handle` with what `create` makes.
template <typename T>
Status make(const Api& api, Handle<T>& handle, const std::string& doing,
            const std::function<ort::Status*(T**)>& create) {
  T* made = nullptr;
  HONE_CHECK(api.check(create(&made), doing));
  handle.reset(made);
  return {};
}

}  // namespace

struct OrtSession::State {
  explicit State(const OrtLibrary& library)
      : api(library.table()),
        run_function(api.get<ort::Run>(ort::kRun)),
        env(empty<ort::Env>(api, ort::kReleaseEnv)),
        session(empty<ort::Session>(api, ort::kReleaseSession)) {}
  ~State() {
    for (ort::Value* value : input_values) release_value(value);
    for (ort::Value* value : output_values) release_value(value);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void release_value(ort::Value* value) const {
    if (value != nullptr) api.get<ort::Release<ort::Value>>(ort::kReleaseValue)(value);
  }
  Status open(const std::filesystem::path& model, int threads);
  Status bind(std::vector<NamedTensor> given, std::vector<std::string> wanted);
  Result<Tensor> read(ort::Value* value, const std::string& name) const;

  Api api;
  ort::Run run_function;
  Handle<ort::Env> env;  // outlives the session
  Handle<ort::Session> session;
  std::vector<NamedTensor> inputs;
  std::vector<std::string> output_names;
  std::vector<const char*> input_pointers,
      output_pointers;  // the names once more, as the interface takes them
  std::vector<ort::Value*> input_values, output_values;
};

Status OrtSession::State::open(const std::filesystem::path& model, int threads) {
  HONE_CHECK(make<ort::Env>(api, env, "starting", [&](ort::Env** made) {
    return api.get<ort::CreateEnv>(ort::kCreateEnv)(ort::kLogErrors, "hone", made);
  }));
  auto options = empty<ort::SessionOptions>(api, ort::kReleaseSessionOptions);
  HONE_CHECK(make<ort::SessionOptions>(api, options, "making options", [&](ort::SessionOptions** made) {
    return api.get<ort::CreateSessionOptions>(ort::kCreateSessionOptions)(made);
  }));
  const std::pair<ort::Entry, int> settings[] = {{ort::kSetGraphOptimizationLevel, ort::kEveryOptimization},
                                                 {ort::kSetIntraOpThreads, threads},
                                                 {ort::kSetInterOpThreads, 1}};
  for (const auto& [entry, value] : settings)
    HONE_CHECK(api.check(api.get<ort::SetInt>(entry)(options.get(), value), "setting options"));
  return make<ort::Session>(api, session, "loading " + model.string(), [&](ort::Session** made) {
    return api.get<ort::CreateSession>(ort::kCreateSession)(env.get(), model.c_str(), options.get(), made);
  });
}

Status OrtSession::State::bind(std::vector<NamedTensor> given, std::vector<std::string> wanted) {
  inputs = std::move(given);
  output_names = std::move(wanted);
  auto memory = empty<ort::MemoryInfo>(api, ort::kReleaseMemoryInfo);
  HONE_CHECK(make<ort::MemoryInfo>(api, memory, "describing memory", [&](ort::MemoryInfo** made) {
    return api.get<ort::CreateCpuMemoryInfo>(ort::kCreateCpuMemoryInfo)(ort::kPlainAllocator,
                                                                        ort::kDefaultMemory, made);
  }));
  for (NamedTensor& input : inputs) {
    ort::Value* value = nullptr;
    Tensor& tensor = input.tensor;
    HONE_CHECK(api.check(api.get<ort::CreateTensorWithData>(ort::kCreateTensorWithData)(
                             memory.get(), tensor.data(), tensor.bytes(), tensor.shape().data(),
                             tensor.shape().size(), static_cast<int>(dtype_to_onnx(tensor.dtype())), &value),
                         fmt::format("input '{}'", input.name)));
    input_values.push_back(value);
    input_pointers.push_back(input.name.c_str());
  }
  for (const std::string& name : output_names) output_pointers.push_back(name.c_str());
  output_values.assign(output_names.size(), nullptr);
  return {};
}

Result<Tensor> OrtSession::State::read(ort::Value* value, const std::string& name) const {
  const std::string doing = fmt::format("output '{}'", name);
  auto info = empty<ort::TensorInfo>(api, ort::kReleaseTensorInfo);
  HONE_CHECK(make<ort::TensorInfo>(api, info, doing, [&](ort::TensorInfo** made) {
    return api.get<ort::GetTensorInfo>(ort::kGetTensorInfo)(value, made);
  }));
  int code = 0;
  std::size_t rank = 0;
  HONE_CHECK(api.check(api.get<ort::GetElementType>(ort::kGetElementType)(info.get(), &code), doing));
  HONE_CHECK(api.check(api.get<ort::GetRank>(ort::kGetRank)(info.get(), &rank), doing));
  Shape shape(rank);
  HONE_CHECK(api.check(api.get<ort::GetExtents>(ort::kGetExtents)(info.get(), shape.data(), rank), doing));
  const std::optional<DType> dtype = dtype_from_onnx(code);
  // Sub-byte types are packed there and one element a byte here.
  if (!dtype || dtype_size(*dtype) == 0 || dtype_bits(*dtype) < 8)
    return unsupported(fmt::format("ONNX Runtime: {}: cannot compare elements of type {}", doing, code));
  void* data = nullptr;
  HONE_CHECK(api.check(api.get<ort::GetTensorData>(ort::kGetTensorData)(value, &data), doing));
  HONE_ASSIGN(Tensor tensor, Tensor::try_make(*dtype, std::move(shape)));
  if (tensor.bytes() > 0) std::memcpy(tensor.data(), data, tensor.bytes());
  return tensor;
}

OrtSession::OrtSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
OrtSession::~OrtSession() = default;

Result<std::unique_ptr<OrtSession>> OrtSession::create(const OrtLibrary& library,
                                                       const std::filesystem::path& model, int threads,
                                                       std::vector<NamedTensor> inputs,
                                                       std::vector<std::string> outputs) {
  auto state = std::make_unique<State>(library);
  HONE_CHECK(state->open(model, threads));
  HONE_CHECK(state->bind(std::move(inputs), std::move(outputs)));
  return std::unique_ptr<OrtSession>(new OrtSession(std::move(state)));
}

Status OrtSession::run() {
  State& s = *state_;
  return s.api.check(s.run_function(s.session.get(), nullptr, s.input_pointers.data(), s.input_values.data(),
                                    s.input_values.size(), s.output_pointers.data(), s.output_values.size(),
                                    s.output_values.data()),
                     "running");
}

Result<std::vector<Tensor>> OrtSession::outputs() const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < state_->output_values.size(); ++i) {
    if (state_->output_values[i] == nullptr) return invalid("ONNX Runtime has not run yet");
    HONE_ASSIGN(Tensor tensor, state_->read(state_->output_values[i], state_->output_names[i]));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace hone::lab
