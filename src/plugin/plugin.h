// Plugins: shared libraries that bring operators of their own by the C interface of include/hone/plugin.h. Loading them and
// judging what they say of themselves lives here, and what turns nodes into the structs of that interface (node_view.h);
// what runs their kernels is the providers'.
#pragma once

#include <span>
#include <string>

#include "core/result.h"
#include "graph/custom_operator.h"

struct hone_plugin;  // include/hone/plugin.h

namespace hone::plugin {

// The operators of the libraries at `files`, each loaded for as long as the process lives; one that is refused is
// unloaded. An error names the file, the operator and what is wrong: no library, no hone_plugin_entry, another version
// of the interface, what makes no sense in it, an operator that hone has, two plugins of one name, two operators of one name
// and version. A library that crashes while it is loaded cannot be caught.
Result<graph::CustomOperators> load_plugins(std::span<const std::string> files);

// What `given` says, judged as that of a library: for tests, and for programs that hold their operators themselves. It and
// all that it leads to must stay as long as the operators do. `file` and `content` name it in messages and in keys of caches.
Result<graph::CustomOperators> describe_plugin(const ::hone_plugin& given, const std::string& file,
                                               std::string_view content);

}  // namespace hone::plugin
