#include "core/testing/source_folder.h"

namespace hone {

std::filesystem::path source_folder() { return HONE_SOURCE_DIR; }
std::filesystem::path build_folder() { return HONE_BINARY_DIR; }

}  // namespace hone
