#include "observe/inject/torch/python_api.h"

#include <span>
#include <string>
#include <utility>

#include "observe/inject/torch/apart.h"
#include "observe/inject/torch/learn.h"
#include "observe/inject/torch/operators.h"

namespace hone::observe::torch {
namespace {

Learner* learner_of_child = nullptr;  // set in the child alone

const char* problem_of(Ending ending) {
  switch (ending) {
    case Ending::kCrashed:
      return "PyTorch: no operators: learning where this version keeps their inputs crashed (in a child "
             "process)";
    case Ending::kSilent:
      return "PyTorch: no operators: learning where this version keeps their inputs took too long";
    case Ending::kNoChild:
      return "PyTorch: no operators: no child process to learn in where this version keeps their inputs";
    case Ending::kAnswered:
      break;
  }
  return "PyTorch: no operators: its callbacks are not as in the versions that hone knows";
}

}  // namespace
}  // namespace hone::observe::torch

namespace torch = hone::observe::torch;

HONE_HOST_API int hone_torch_learn(int64_t (*perform)(int32_t, int32_t), int milliseconds) {
  const torch::Symbols symbols = torch::find_symbols();
  if (!symbols.known()) {
    hone_note("PyTorch: no operators: this version has no at::addGlobalCallback");
    return 0;
  }
  torch::Layout layout;
  const auto learn = [&](std::span<std::byte> answer) {
    torch::Learner learner(
        symbols, [&](torch::Deed deed, int round) { return perform(static_cast<int32_t>(deed), round); });
    torch::learner_of_child = &learner;
    const torch::Layout found = learner.run();
    __builtin_memcpy(answer.data(), &found, sizeof found);
  };
  const std::span<std::byte> answer = std::as_writable_bytes(std::span(&layout, 1));
  const torch::Ending ending = torch::run_apart(answer, learn, milliseconds);
  if (ending != torch::Ending::kAnswered || !layout.has_names()) {
    hone_note(torch::problem_of(ending));
    return 0;
  }
  if (!layout.has_inputs())
    hone_note("PyTorch: operators without their shapes: where this version keeps them was not found");
  torch::use_layout(layout, symbols, {hone_clock, hone_intern_bytes, hone_range, hone_note});
  return layout.has_inputs() ? 2 : 1;
}

HONE_HOST_API void hone_torch_tell(int32_t role, uint64_t impl, uint32_t dims, const int64_t* sizes,
                                   const int64_t* strides, const char* dtype) {
  if (torch::learner_of_child == nullptr) return;
  torch::TensorFact fact;
  fact.role = static_cast<torch::TensorFact::Role>(role);
  fact.impl = reinterpret_cast<const void*>(impl);
  fact.sizes.assign(sizes, sizes + dims);
  fact.strides.assign(strides, strides + dims);
  fact.dtype = dtype;
  torch::learner_of_child->tell(std::move(fact));
}

HONE_HOST_API void hone_torch_on_mode(void (*look)(), int (*add_pending_call)(int (*)(void*), void*)) {
  torch::tell_of_modes(look, add_pending_call);
}

HONE_HOST_API void hone_torch_ranges(uint32_t kind, const int64_t* ranges, size_t count) {
  for (size_t i = 0; i < count; ++i)
    hone_range(kind, static_cast<uint32_t>(ranges[3 * i]), 0, -1, ranges[3 * i + 1], ranges[3 * i + 2]);
}
