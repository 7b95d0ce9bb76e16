// ONNX Runtime as a peer to measure against: its C library, loaded at run time where it is installed. Nothing
// of it is needed to build hone.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/tensor.h"

namespace hone::lab {

class OrtLibrary {
 public:
  // Loads the library at `path`. Empty: $HONE_ORT_LIBRARY; then what the loader finds; then the one inside
  // the onnxruntime package of the python3 on the PATH. kNotFound says where it was looked for. The library
  // stays loaded until the program ends: its threads cannot be unloaded safely.
  static Result<OrtLibrary> open(const std::filesystem::path& path = {});

  const std::string& version() const { return version_; }
  const void* const* table() const { return table_; }

 private:
  OrtLibrary() = default;
  const void* const* table_ = nullptr;
  std::string version_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// A model in ONNX Runtime on the CPU, with its best settings for latency: every graph optimisation, `threads`
// threads inside operators, which spin between them (its default).
class OrtSession {
 public:
  // `inputs` keep their memory until the session ends; outputs of the first run are the buffers of all later
  // ones.
  static Result<std::unique_ptr<OrtSession>> create(const OrtLibrary& library,
                                                    const std::filesystem::path& model, int threads,
                                                    std::vector<NamedTensor> inputs,
                                                    std::vector<std::string> outputs);
  ~OrtSession();
  OrtSession(const OrtSession&) = delete;
  OrtSession& operator=(const OrtSession&) = delete;

  Status run();
  // Copies of what the last run gave, in the order of `outputs`.
  Result<std::vector<Tensor>> outputs() const;

 private:
  struct State;
  explicit OrtSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone::lab
