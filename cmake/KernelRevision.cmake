# cmake -DSOURCE=DIR -DFOLDERS="A B…" -DPLACE=runtime/X -DNAMESPACE=Y -DOUT=FILE.cpp -P KernelRevision.cmake: writes the source that
# says which revision of a provider's kernels this is: a hash of everything that their speed can depend on, so that timings of
# other kernels are never taken for theirs.
string(REPLACE " " ";" folders "${FOLDERS}")
foreach(folder ${folders})
  file(GLOB_RECURSE found ${SOURCE}/src/${folder}/*.h ${SOURCE}/src/${folder}/*.cpp)
  list(APPEND sources ${found})
endforeach()
list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|test_support\\.h$|/testing/")
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 revision "${all}")
string(SUBSTRING ${revision} 0 12 revision)
file(WRITE ${OUT} "#include \"${PLACE}/kernel_revision.h\"

namespace hone::runtime::${NAMESPACE} {

std::string_view kernel_revision() { return \"${revision}\"; }

}  // namespace hone::runtime::${NAMESPACE}
")
