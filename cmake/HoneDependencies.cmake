# Packages that hone stands on. Each says in one line what it gives; an optional one that is missing is said once.
find_package(Threads REQUIRED)
if(HONE_FUZZ)  # the fuzzed readers run no threads; clang's OpenMP headers are a package of their own
  find_package(OpenMP COMPONENTS CXX)
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(dnnl CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(BLOSC REQUIRED IMPORTED_TARGET blosc)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
find_package(TIFF REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
pkg_check_modules(LIBDW QUIET IMPORTED_TARGET libdw)  # elfutils: stacks of native code of observed programs
if(NOT LIBDW_FOUND)
  message(STATUS "no libdw (libdw-dev): hone profile names no lines of native code")
endif()
find_path(HONE_PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)  # ONNX and Perfetto protobuf; headers only
find_path(HONE_TOML_INCLUDE toml++/toml.h REQUIRED)  # recipes; headers only
find_path(HONE_XXHASH_INCLUDE xxhash.h REQUIRED)  # checksums of plan files; its header alone
