#include "plugin/plugin.h"

#include <filesystem>
#include <memory>

#include "hone/plugin.h"
#include <dlfcn.h>
#include <fmt/core.h>

#include "core/file.h"

namespace hone::plugin {
namespace {

constexpr const char* kEntry = "hone_plugin_entry";

struct Unload {
  void operator()(void* library) const { ::dlclose(library); }
};
using Library = std::unique_ptr<void, Unload>;

// By its path alone: the linker would look for a name without a '/' in its own places.
Result<Library> open_library(const std::string& file) {
  std::error_code unknown;
  const std::filesystem::path path = std::filesystem::absolute(file, unknown);
  if (unknown || !std::filesystem::exists(path, unknown)) return not_found("there is no such file");
  if (std::filesystem::is_directory(path, unknown))
    return invalid("is a folder; name the shared library in it");
  if (!std::filesystem::is_regular_file(path, unknown)) return invalid("is no file but a device or a pipe");
  Library library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library != nullptr) return library;
  const char* const why = ::dlerror();
  return invalid(
      fmt::format("cannot be loaded as a shared library: {}", why != nullptr ? why : "nobody says why"));
}

Result<graph::CustomOperators> load_unnamed(const std::string& file) {
  HONE_ASSIGN(Library library, open_library(file));
  HONE_ASSIGN(const std::string content, read_file(file));
  auto* const entry = reinterpret_cast<const hone_plugin* (*)()>(::dlsym(library.get(), kEntry));
  if (entry == nullptr)
    return invalid(fmt::format("does not export {}(): it is no plugin of hone (docs/plugins.md)", kEntry));
  const hone_plugin* const given = entry();
  if (given == nullptr) return invalid(fmt::format("{}() returned NULL", kEntry));
  auto operators = describe_plugin(*given, file, content);
  if (operators.ok()) (void)library.release();  // what it is made of is used until the process ends
  return operators;
}

// Plugin's operators beside those of others.
Status check_beside(const graph::CustomOperators& others, const graph::CustomOperators& added) {
  for (const auto& one : added) {
    for (const auto& other : others) {
      const std::string name = one->plugin.substr(0, one->plugin.find(' '));
      if (other->file != one->file && other->plugin.substr(0, other->plugin.find(' ')) == name)
        return invalid(fmt::format("plugins {} and {} are both named '{}'; load one of them", other->file,
                                   one->file, name));
    }
  }
  return {};
}

Status check_unique(const graph::CustomOperators& operators) {
  for (std::size_t i = 0; i < operators.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const graph::CustomOperator &one = *operators[k], &other = *operators[i];
      if (one.name != other.name || one.since_version != other.since_version) continue;
      if (one.file == other.file)
        return invalid(fmt::format("plugin {}: lists operator {} since version {} twice", one.file, one.name,
                                   one.since_version));
      return invalid(fmt::format("plugins {} and {} both have operator {} since version {}; load one of them",
                                 one.file, other.file, one.name, one.since_version));
    }
  }
  return {};
}

}  // namespace

Result<graph::CustomOperators> load_plugins(std::span<const std::string> files) {
  graph::CustomOperators all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) return invalid("a plugin without a name: give the path of its shared library");
    for (std::size_t k = 0; k < i; ++k)
      if (files[k] == files[i]) return invalid(fmt::format("plugin {}: is given twice", files[i]));
    auto operators = load_unnamed(files[i]);
    if (!operators.ok()) {
      const bool named = operators.error().message.starts_with("plugin ");
      return named ? operators.error() : operators.error().within("plugin " + files[i]);
    }
    HONE_CHECK(check_beside(all, *operators));
    all.insert(all.end(), operators->begin(), operators->end());
  }
  HONE_CHECK(check_unique(all));
  return all;
}

}  // namespace hone::plugin
