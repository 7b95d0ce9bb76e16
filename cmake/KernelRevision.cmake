# cmake -DSOURCE=DIR -DOUT=FILE.cpp -P KernelRevision.cmake: writes the source that says which revision of the CPU's
# kernels this is: a hash of everything that their speed can depend on, so that timings of other kernels are never taken
# for theirs.
foreach(folder kernels/cpu kernels/pointwise runtime/cpu runtime/lower)
  file(GLOB_RECURSE found ${SOURCE}/src/${folder}/*.h ${SOURCE}/src/${folder}/*.cpp)
  list(APPEND sources ${found})
endforeach()
list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|test_support\\.h$")
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 revision "${all}")
string(SUBSTRING ${revision} 0 12 revision)
file(WRITE ${OUT} "#include \"runtime/cpu/kernel_revision.h\"

namespace hone::runtime::cpu {

std::string_view kernel_revision() { return \"${revision}\"; }

}  // namespace hone::runtime::cpu
")
