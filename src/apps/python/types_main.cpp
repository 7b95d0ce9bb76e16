// Prints the Python package's module of types; run once while the package is built.
#include <fmt/format.h>

#include "report/python_types.h"

int main() { fmt::print("{}", hone::report::python_types()); }
