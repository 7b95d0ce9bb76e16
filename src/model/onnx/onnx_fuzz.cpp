// libFuzzer: whatever the bytes are, reading them as a model ends with a valid graph or an error.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "graph/verify.h"
#include "model/onnx/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const int64_t default_symbol : {int64_t{0}, int64_t{2}}) {
    hone::model::ReadOptions options;
    options.default_symbol = default_symbol;
    const auto graph = hone::model::read_onnx_bytes(bytes, options);
    if (!graph.ok()) {
      if (graph.error().message.empty()) std::abort();
      continue;
    }
    if (const hone::Status valid = hone::graph::verify(*graph); !valid.ok()) {
      std::fprintf(stderr, "the reader made an invalid graph: %s\n", valid.error().message.c_str());
      std::abort();
    }
  }
  return 0;
}
