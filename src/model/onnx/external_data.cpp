#include "model/onnx/external_data.h"

#include <algorithm>

#include "model/onnx/proto.h"

namespace hone::model::onnx {
namespace fs = std::filesystem;
namespace {

Error outside(std::string_view location) {
  return invalid(
      "external data " + in_quotes(location) +
      " is not inside the model's folder; put the file beside the model and name it by a relative path");
}

bool climbs(const fs::path& path) {
  return path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end();
}

bool inside(const fs::path& file, const fs::path& folder) {
  const auto [folder_end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return folder_end == folder.end() && rest != file.end();
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> ExternalData::open(std::string_view location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  if (location.empty() || location.find('\0') != std::string_view::npos) return outside(location);
  if (folder_.empty())
    return invalid("external data " + in_quotes(location) + " needs a model that is read from a file");
  const fs::path relative{std::string(location)};
  if (climbs(relative)) return outside(location);

  // Resolve links on both sides: a link out of the folder is as bad as "..".
  std::error_code failure;
  const fs::path folder = fs::canonical(folder_, failure);
  if (failure)
    return io_error("cannot resolve the model's folder " + folder_.string() + ": " + failure.message());
  const fs::path file = fs::canonical(folder / relative, failure);
  if (failure) return io_error("cannot open external data " + in_quotes(location) + ": " + failure.message());
  if (!inside(file, folder)) return outside(location);
  if (!fs::is_regular_file(file, failure))
    return invalid("external data " + in_quotes(location) + " is not a regular file");
  HONE_ASSIGN(auto mapped, MappedFile::open(file));
  files_.emplace(std::string(location), mapped);
  return mapped;
}

}  // namespace hone::model::onnx
