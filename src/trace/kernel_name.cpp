// Names of kernels, short enough to read (kernel_short_name of kernel_family.h). What a kernel is stands in
// the family table; here a name only loses what a reader does not need.
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trace/kernel_family.h"

namespace hone::trace {
namespace {

struct Shorter {
  std::string_view full, brief;
};

// Identifiers of PyTorch's templates that say how, not what: they are left out or shortened.
constexpr Shorter kTypes[] = {
    {"float", "f32"},  {"BFloat16", "bf16"}, {"__nv_bfloat16", "bf16"}, {"bfloat16_t", "bf16"},
    {"Half", "f16"},   {"__half", "f16"},    {"half_t", "f16"},         {"double", "f64"},
    {"long", "i64"},   {"int", "i32"},       {"bool", "bool"},          {"char", "u8"},
    {"uint8_t", "u8"},
};

// What a kernel applies to each element stands in these.
constexpr std::string_view kCarriers[] = {
    "vectorized_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "elementwise_kernel",
    "elementwise_kernel_with_index",
    "reduce_kernel",
    "multi_tensor_apply_kernel",
    "index_elementwise_kernel",
    "unrolled_elementwise_kernel_for_multi_outputs",
    "vectorized_templated_elementwise_kernel",
};

constexpr std::string_view kNoise[] = {
    "void",
    "at",
    "native",
    "anonymous",
    "namespace",
    "std",
    "array",
    "char",
    "TensorIteratorBase",
    "TensorIterator",
    "operator",
    "const",
    "lambda",
    "unsigned",
    "TrivialOffsetCalculator",
    "gpu_kernel_impl_nocast",
    "gpu_kernel_impl",
    "BinaryFunctor",
    "AUnaryFunctor",
    "BUnaryFunctor",
    "binary_internal",
    "memory",
    "LoadWithCast",
    "StoreWithCast",
    "LoadWithoutCast",
    "StoreWithoutCast",
    "c10",
    "Scalar",
    "ReduceOp",
    "func_wrapper_t",
    "cuda",
    "detail",
    "TensorListMetadata",
    "FusedOptimizerTensorListMetadata",
    "opmath_t",
    "ADAM_MODE",
    "Tensor",
    "ArrayRef",
    "OpaqueType",
    "gpu_index_kernel",
    "plus",
    "multiplies",
    "torch",
    "headeronly",
    "internal",
    "OffsetCalculator",
    "static_cast",
};

constexpr std::string_view kSuffixes[] = {
    "_kernel_cuda", "_cuda_kernel", "_kernel_impl", "CUDAKernelImpl", "KernelImpl", "_kernel", "Kernel",
    "_functor",     "MathFunctor",  "Functor",      "_impl",          "_cuda_out",  "Ops",
};

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view type_of(std::string_view word) {
  for (const Shorter& type : kTypes)
    if (type.full == word) return type.brief;
  return {};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = std::string_view::npos;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool part =
        i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
    if (part && begin == std::string_view::npos) begin = i;
    if (!part && begin != std::string_view::npos) {
      words.push_back(text.substr(begin, i - begin));
      begin = std::string_view::npos;
    }
  }
  return words;
}

bool is_number(std::string_view word) { return std::isdigit(static_cast<unsigned char>(word[0])) != 0; }

// "CUDAFunctor_add" → "add", "direct_copy_kernel_cuda" → "copy", "MulFunctor" → "mul"
std::string plain(std::string_view word) {
  for (std::string_view prefix : {"CUDAFunctorOnSelf_", "CUDAFunctor_", "launch_", "direct_", "bfloat16_"})
    if (word.starts_with(prefix)) word.remove_prefix(prefix.size());
  for (bool again = true; again;) {
    again = false;
    for (std::string_view suffix : kSuffixes)
      if (word.size() > suffix.size() && word.ends_with(suffix)) {
        word.remove_suffix(suffix.size());
        again = true;
      }
  }
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const auto c = static_cast<unsigned char>(word[i]);
    const bool upper = std::isupper(c) != 0;
    if (upper && i > 0 && std::islower(static_cast<unsigned char>(word[i - 1])) != 0) text += ' ';
    text += static_cast<char>(std::tolower(c));
  }
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// The name before its template's arguments, without namespaces: "at::native::reduce_kernel<…>(…)" →
// "reduce_kernel".
std::string_view head_of(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::size_t from = 0;
  for (;;) {
    const std::size_t end = name.find_first_of("<(", from);
    if (end != std::string_view::npos && name.substr(end).starts_with(kAnonymous)) {
      from = end + kAnonymous.size();
      continue;
    }
    std::string_view head = name.substr(0, end);
    const std::size_t scope = head.rfind("::");
    return scope == std::string_view::npos ? head : head.substr(scope + 2);
  }
}

// What PyTorch's general kernels apply: the first word of their arguments that is not about how.
std::string applied(std::string_view name, std::string_view head) {
  std::string what;
  std::string_view type;
  for (std::string_view word : words_of(name)) {
    if (word == head || is_number(word) || contains(kNoise, word)) continue;
    if (const std::string_view brief = type_of(word); !brief.empty()) {
      // The first is the kernel's; a number of type int may stand anywhere, and a selection begins with bool.
      const bool certain = word != "int" && !(word == "bool" && what == "where");
      if (type.empty() && (certain || !what.empty())) type = word == "bool" && what == "where" ? "" : brief;
      continue;
    }
    if (word.size() < 3 || word == "ul" || word == "2ul") continue;
    if (what.empty()) what = plain(word);
  }
  if (what.empty()) return {};
  if (name.find("LoadWithCast") != std::string_view::npos && what == "copy") what = "cast";
  if (name.find("Functor<unsigned char>") != std::string_view::npos) type = "u8";
  const bool to_bf16 = name.find("bfloat16_copy") != std::string_view::npos;
  if (to_bf16) return "cast to bf16";
  const std::string_view lead = head == "reduce_kernel"               ? "reduce "
                                : head == "multi_tensor_apply_kernel" ? "foreach "
                                                                      : "";
  return fmt::format("{}{}{}{}", lead, what, type.empty() ? "" : " ", type);
}

// "cutlass::Kernel2<cutlass_80_tensorop_bf16_…>(…)" → what is in the brackets
std::string_view cutlass_name(std::string_view name) {
  const std::size_t at = name.find("<cutlass_");
  if (at == std::string_view::npos) return {};
  return name.substr(at + 1, name.find_first_of(">,", at) - at - 1);
}

// cuBLAS and cuDNN: "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_…_tilesize128x64x32_…" → "xmma dgrad
// bf16 128x64x32"
std::string xmma_name(std::string_view name) {
  const std::size_t at = name.find("_xmma_");
  if (at == std::string_view::npos) return {};
  std::string_view rest = name.substr(at + 6);
  const std::string_view what = rest.substr(0, rest.find('_'));
  constexpr std::string_view kTile = "_tilesize";
  std::string_view tile;
  if (const std::size_t t = rest.find(kTile); t != std::string_view::npos) {
    tile = rest.substr(t + kTile.size());
    tile = tile.substr(0, tile.find('_'));
  }
  std::string_view type;
  for (std::string_view known : {"tf32", "bf16", "f16", "f64", "e4m3", "e5m2", "i8", "f32"})
    if (type.empty() && rest.find(known) != std::string_view::npos) type = known;
  return fmt::format("{} xmma {}{}{}{}{}", name.substr(0, at), what, type.empty() ? "" : " ", type,
                     tile.empty() ? "" : " ", tile);
}

// "cunn_SoftMaxForward" → "SoftMaxForward", "softmax_warp_forward_kernel" → "softmax_warp_forward"
std::string_view without_kernel(std::string_view head) {
  if (head.starts_with("cunn_")) head.remove_prefix(5);
  for (std::string_view suffix : {"_kernel", "Kernel", "KernelTemplate"})
    if (head.size() > suffix.size() + 4 && head.ends_with(suffix)) head.remove_suffix(suffix.size());
  return head;
}

// "_execute_segment_k_off_kernel__5x_cudnn" and the like at the end of cuDNN's and cuBLAS's names
std::string_view without_tail(std::string_view name) {
  for (std::string_view tail : {"_execute", "_kernel__5x", "_kernel0", "_warpgroupsize", "_stage"})
    if (const std::size_t at = name.find(tail); at != std::string_view::npos && at > 20)
      name = name.substr(0, at);
  return name;
}

}  // namespace

std::string kernel_short_name(std::string_view name, std::size_t longest) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::string text;
  if (const std::string_view inner = cutlass_name(name); !inner.empty()) {
    text = inner;
  } else if (name.starts_with("Mem") || name.starts_with("triton_")) {
    text = name;
  } else if (text = xmma_name(name); !text.empty()) {
    // as it is
  } else if (name.find("ImplicitGemmConvolution") != std::string_view::npos) {
    text = "cutlass implicit-GEMM convolution";
  } else {
    const std::string_view head = head_of(name);
    if (contains(kCarriers, head)) text = applied(name, head);
    if (text.empty()) text = without_kernel(without_tail(head.empty() ? name : head));
  }
  constexpr std::string_view kCut = "…";
  if (text.size() > longest && longest > kCut.size()) {
    text.resize(longest - kCut.size());
    text += kCut;
  }
  return text;
}

}  // namespace hone::trace
