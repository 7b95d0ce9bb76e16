// For tests: where hone's sources and its build lie. The paths are compiled into one file, so that the
// objects of all tests are the same in every checkout.
#pragma once

#include <filesystem>

namespace hone {

std::filesystem::path source_folder();
std::filesystem::path build_folder();

}  // namespace hone
