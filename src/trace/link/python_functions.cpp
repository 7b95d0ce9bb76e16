#include "trace/link/python_functions.h"

#include <charconv>

namespace hone::trace::link {
namespace {

using enum CodeOwner;

// Whole paths, then what is left of them without the search path. Python's own modules that calls of operators go through.
constexpr NamePattern<CodeOwner> kCodeOwners[] = {
    {"-packages/torch/", kFramework},
    {"-packages/numpy/", kFramework},
    {"-packages/triton/", kFramework},
    {"/site-packages/", kPackage},
    {"/dist-packages/", kPackage},
    {"/lib/python", kFramework},
    {"<", kFramework, At::kFront},
    {"torch/", kFramework, At::kFront},
    {"functorch/", kFramework, At::kFront},
    {"triton/", kFramework, At::kFront},
    {"numpy/", kFramework, At::kFront},
    {"asyncio/", kFramework, At::kFront},
    {"collections/", kFramework, At::kFront},
    {"concurrent/", kFramework, At::kFront},
    {"importlib/", kFramework, At::kFront},
    {"json/", kFramework, At::kFront},
    {"logging/", kFramework, At::kFront},
    {"multiprocessing/", kFramework, At::kFront},
    {"abc.py", kFramework, At::kWhole},
    {"contextlib.py", kFramework, At::kWhole},
    {"copy.py", kFramework, At::kWhole},
    {"dataclasses.py", kFramework, At::kWhole},
    {"enum.py", kFramework, At::kWhole},
    {"functools.py", kFramework, At::kWhole},
    {"inspect.py", kFramework, At::kWhole},
    {"queue.py", kFramework, At::kWhole},
    {"random.py", kFramework, At::kWhole},
    {"threading.py", kFramework, At::kWhole},
    {"typing.py", kFramework, At::kWhole},
    {"warnings.py", kFramework, At::kWhole},
    {"weakref.py", kFramework, At::kWhole},
    {"accelerate/", kPackage, At::kFront},
    {"apex/", kPackage, At::kFront},
    {"bitsandbytes/", kPackage, At::kFront},
    {"cv2/", kPackage, At::kFront},
    {"datasets/", kPackage, At::kFront},
    {"deepspeed/", kPackage, At::kFront},
    {"detectron2/", kPackage, At::kFront},
    {"dgl/", kPackage, At::kFront},
    {"diffusers/", kPackage, At::kFront},
    {"einops/", kPackage, At::kFront},
    {"fairseq/", kPackage, At::kFront},
    {"flash_attn/", kPackage, At::kFront},
    {"kornia/", kPackage, At::kFront},
    {"lightning/", kPackage, At::kFront},
    {"lightning_fabric/", kPackage, At::kFront},
    {"mmcv/", kPackage, At::kFront},
    {"mmdet/", kPackage, At::kFront},
    {"mmengine/", kPackage, At::kFront},
    {"monai/", kPackage, At::kFront},
    {"open_clip/", kPackage, At::kFront},
    {"pandas/", kPackage, At::kFront},
    {"peft/", kPackage, At::kFront},
    {"PIL/", kPackage, At::kFront},
    {"pytorch_lightning/", kPackage, At::kFront},
    {"scipy/", kPackage, At::kFront},
    {"segmentation_models_pytorch/", kPackage, At::kFront},
    {"sentence_transformers/", kPackage, At::kFront},
    {"sklearn/", kPackage, At::kFront},
    {"speechbrain/", kPackage, At::kFront},
    {"timm/", kPackage, At::kFront},
    {"torch_geometric/", kPackage, At::kFront},
    {"torch_scatter/", kPackage, At::kFront},
    {"torch_sparse/", kPackage, At::kFront},
    {"torchao/", kPackage, At::kFront},
    {"torchaudio/", kPackage, At::kFront},
    {"torchmetrics/", kPackage, At::kFront},
    {"torchvision/", kPackage, At::kFront},
    {"tqdm/", kPackage, At::kFront},
    {"transformers/", kPackage, At::kFront},
    {"trl/", kPackage, At::kFront},
    {"ultralytics/", kPackage, At::kFront},
    {"xformers/", kPackage, At::kFront},
};

}  // namespace

std::span<const NamePattern<CodeOwner>> code_owner_table() { return kCodeOwners; }

std::optional<PythonFunction> python_function(std::string_view span_name) {
  const std::size_t end = span_name.find("): ");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = span_name.rfind('(', end);
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  PythonFunction function;
  function.file = span_name.substr(0, begin);
  function.function = span_name.substr(end + 3);
  const std::string_view digits = span_name.substr(begin + 1, end - begin - 1);
  const auto [stopped, error] = std::from_chars(digits.data(), digits.data() + digits.size(), function.line);
  if (error != std::errc() || stopped != digits.data() + digits.size()) return std::nullopt;
  function.owner = first_match(code_owner_table(), function.file).value_or(kProgram);
  return function;
}

}  // namespace hone::trace::link
