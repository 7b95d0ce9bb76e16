// Spans of Python functions, as PyTorch's profiler writes them with with_stack=True: "mypkg/net.py(6): forward". It leaves
// the search path out of the files' names, so that a package is known by the folder that it is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trace/name_patterns.h"

namespace hone::trace::link {

enum class CodeOwner : uint8_t {
  kProgram,    // nobody's package, as far as is known: what its author can change
  kPackage,    // an installed one that models are made of
  kFramework,  // what operators are called through, whoever calls: the framework, Python's own library
};

struct PythonFunction {
  std::string_view file;
  int line = 0;  // where the function begins
  std::string_view function;
  CodeOwner owner = CodeOwner::kProgram;
};

// Nothing: a name of another form (a module, a function that is built in).
std::optional<PythonFunction> python_function(std::string_view span_name);

// The table, for tests: of files' paths.
std::span<const NamePattern<CodeOwner>> code_owner_table();

}  // namespace hone::trace::link
