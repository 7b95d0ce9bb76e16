// Reads what a program on oneDNN printed with ONEDNN_VERBOSE=1 (PyTorch on CPUs, OpenVINO, ONNX Runtime's own provider): each
// primitive that ran becomes a span of one thread, with its shapes, FLOPs and bytes. Other lines are the program's own.
#pragma once

#include "trace/import/byte_source.h"
#include "trace/import/imported_file.h"

namespace hone::trace::onednn {

// Errors do not name the file.
Result<ImportedFile> read_onednn(ByteSource& source);

}  // namespace hone::trace::onednn
