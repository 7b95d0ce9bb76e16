# How hone's targets are made: one library a folder of src/, one test program a library.
# A source file needs no list entry: files are found by name (x.cpp in the library, x_test.cpp in its tests).

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# -O3 buys longer builds and nothing else where no kernels live; who needs it asks for it (hone_optimise).
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

add_library(hone_flags INTERFACE)
target_include_directories(hone_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(hone_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(hone_flags INTERFACE -Wno-restrict)  # false alarms on std::string (GCC bug 105651)
endif()
if(HONE_WERROR)
  target_compile_options(hone_flags INTERFACE -Werror)
endif()
if(HONE_SANITIZE)
  # -g1: lines for stack traces; full -g nearly doubles the compile time.
  target_compile_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE} -fno-sanitize-recover=all -g1)
  target_link_options(hone_flags INTERFACE -fsanitize=${HONE_SANITIZE})
  # Of each pointer that is followed they ask what the address sanitizer sees when it matters, at a fifth of the time to compile;
  # clang's are on where fuzzers read bytes of others.
  if(HONE_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(hone_flags INTERFACE -fno-sanitize=null,object-size,vptr,alignment)
  endif()
endif()

# hone_batches(OUT sources…): the sources to compile instead of these: files that include batches of neighbours.
# More than half of a file's compile time is the standard library's headers (docs/decisions/0015-unity-builds.md). A
# batch shares one scope: helpers in anonymous namespaces have names of their own (tools/check-names). What Highway
# compiles once for each instruction set stands alone. Paths in batches are relative, unlike those of CMake's own
# UNITY_BUILD, so that checkouts share what ccache keeps.
function(hone_batches out)
  set(${out} ${ARGN} PARENT_SCOPE)
  if(NOT HONE_UNITY)
    return()
  endif()
  set(folder ${CMAKE_BINARY_DIR}/batches)
  set(batch "")
  math(EXPR half "${HONE_UNITY} / 2")  # a folder of so many files gets a batch of its own
  foreach(source ${ARGN} "")
    set(alone "")
    if(source)
      file(STRINGS ${source} alone REGEX "hwy/foreach_target\\.h" LIMIT_COUNT 1)
    endif()
    if(alone)
      list(APPEND compiled ${source})
      continue()
    endif()
    list(LENGTH batch count)
    get_filename_component(at "${source}" DIRECTORY)
    if(batch AND (NOT source OR count EQUAL HONE_UNITY OR (count GREATER_EQUAL half AND NOT at STREQUAL batch_at)))
      list(GET batch 0 first)
      file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${first})
      string(REGEX REPLACE "\\.cpp$" "" name ${name})
      string(REPLACE "/" "_" name ${name})
      list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"" OUTPUT_VARIABLE lines)
      file(RELATIVE_PATH up ${folder} ${CMAKE_SOURCE_DIR})
      list(TRANSFORM lines REPLACE "${CMAKE_SOURCE_DIR}/" "${up}")
      list(JOIN lines "\n" text)
      file(CONFIGURE OUTPUT ${folder}/${name}.cpp CONTENT "${text}\n" @ONLY)
      list(APPEND compiled ${folder}/${name}.cpp)
      set(batch "")
    endif()
    list(APPEND batch ${source})
    set(batch_at "${at}")
  endforeach()
  # In a batch the warning, which is for headers, is given for types of a source that hold its own helpers.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${compiled} PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)
  endif()
  set(${out} ${compiled} PARENT_SCOPE)
endfunction()

# hone_library(NAME USES folders…): static library hone_NAME from src/NAME/**.cpp, if the folder has any.
function(hone_library name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench|_abi_check)\\.cpp$|/testing/|/observe/inject/")  # inject is a library of its own
  if(sources)
    hone_batches(sources ${sources})
    add_library(hone_${name} STATIC ${sources})
    target_link_libraries(hone_${name} PUBLIC hone_flags)
    set(kind PUBLIC)
  else()
    add_library(hone_${name} INTERFACE)
    target_link_libraries(hone_${name} INTERFACE hone_flags)
    set(kind INTERFACE)
  endif()
  foreach(used ${ARG_USES})
    target_link_libraries(hone_${name} ${kind} hone_${used})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HONE_LIBRARIES ${name})
endfunction()

# hone_link(NAME items…): link packages to a folder's library whether or not it has sources yet.
function(hone_link name)
  get_target_property(type hone_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(hone_${name} INTERFACE ${ARGN})
  else()
    target_link_libraries(hone_${name} PUBLIC ${ARGN})
  endif()
endfunction()

# hone_optimise(LEVEL targets…): the optimisation of a release build where it is not the usual one.
function(hone_optimise level)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  endforeach()
endfunction()

# The hash of the CPU's kernels that their timings are kept under (runtime/cpu/kernel_revision.h).
function(hone_kernel_revision)
  hone_revision_of(kernel_revision runtime/cpu cpu kernels/cpu kernels/pointwise runtime/cpu runtime/lower)
  hone_revision_of(cuda_kernel_revision runtime/cuda cuda_kernels kernels/cuda kernels/movement kernels/pointwise kernels/reduction
    kernels/resize runtime/cuda runtime/lower)
endfunction()

# kernel_revision() of PLACE, in a namespace of hone::runtime, from the sources in the folders that follow.
function(hone_revision_of name place namespace)
  foreach(folder ${ARGN})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.h ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
    list(APPEND sources ${found})
  endforeach()
  string(REPLACE ";" " " folders "${ARGN}")
  set(script ${CMAKE_SOURCE_DIR}/cmake/KernelRevision.cmake)
  set(revision ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  add_custom_command(OUTPUT ${revision} DEPENDS ${sources} ${script}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} "-DFOLDERS=${folders}" -DPLACE=${place} -DNAMESPACE=${namespace}
            -DOUT=${revision} -P ${script} VERBATIM)
  target_sources(hone_runtime PRIVATE ${revision})
endfunction()

# The program: a thin main and one file a subcommand.
function(hone_program)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/apps/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  # Writing JSON is slow to compile: eight commands take as long as three times as many files elsewhere, and whoever
  # edits one would wait for all. Batches of twenty are for builds that nobody edits against.
  if(HONE_UNITY GREATER_EQUAL 20)
    set(HONE_UNITY 8)
  elseif(HONE_UNITY GREATER 3)
    set(HONE_UNITY 3)
  endif()
  hone_batches(sources ${sources})
  add_executable(hone ${sources})
  target_link_libraries(hone PRIVATE hone_lab ${HONE_APP_PACKAGES})
  hone_optimise(-O1 hone)
endfunction()

# ctest runs each test in a process of its own, but these suites whole: their tests share what takes seconds to make
# (analyses of all recordings, roofs of the machine).
set(HONE_TOGETHER_test_analyze Recordings.*)
set(HONE_TOGETHER_test_lab Ceilings*)

# One GoogleTest program a folder of src/ that has *_test.cpp, and one a folder of tests/.
function(hone_add_tests)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  add_library(hone_test_folders STATIC ${CMAKE_SOURCE_DIR}/src/core/testing/source_folder.cpp)
  target_link_libraries(hone_test_folders PRIVATE hone_flags)
  target_compile_definitions(hone_test_folders PRIVATE
    HONE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HONE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  hone_fake_nvml()
  get_property(libraries GLOBAL PROPERTY HONE_LIBRARIES)
  foreach(name ${libraries})
    file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*_test.cpp)
    hone_test_program(test_${name} hone_${name} "${tests}")
    if(name STREQUAL "observe" AND TARGET test_observe)
      add_dependencies(test_observe fake_nvml)
    endif()
    if(TARGET test_${name})
      list(APPEND unit_tests test_${name})
    endif()
  endforeach()
  add_custom_target(unit_tests DEPENDS ${unit_tests})
  hone_test_support()
  file(GLOB folders CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*)
  foreach(folder ${folders})
    if(IS_DIRECTORY ${folder})
      get_filename_component(name ${folder} NAME)
      file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
      hone_test_program(test_${name}_suite hone_test_support "${tests}")
    endif()
  endforeach()
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    add_test(NAME tools COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/tools/check_tools_test.py)
    add_test(NAME hone_torch COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/observe/hone_torch_test.py)
    add_test(NAME observe_loaders COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/observe/loaders_test.py)
    add_test(NAME marks COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/observe/marks_test.py)
    add_test(NAME apply_edits COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apply/edits_test.py)
    add_test(NAME apply_switching COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apply/switching_test.py)
    add_test(NAME apply_trainers COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apply/trainers_test.py)
    add_test(NAME apply_loaders COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apply/loaders_test.py)
    add_test(NAME apply_package COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apply/package_test.py)
    add_test(NAME recorded_gradients COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/gradients/torch/recorded_test.py)
    add_test(NAME apply_changes COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/apply/changes_test.py)
  endif()
endfunction()

# What the programs of tests/ share: every tests/**/x.cpp that is no test itself.
function(hone_test_support)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/fake_nvml/")
  hone_batches(sources ${sources})
  add_library(hone_test_support STATIC ${sources})
  target_include_directories(hone_test_support PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(hone_test_support PUBLIC hone_lab hone_test_folders GTest::gtest)
endfunction()

# NVML without a GPU, for tests: a library named as the driver's, in a folder for LD_LIBRARY_PATH.
function(hone_fake_nvml)
  add_library(fake_nvml SHARED ${CMAKE_SOURCE_DIR}/tests/observe/fake_nvml/fake_nvml.cpp)
  target_link_libraries(fake_nvml PRIVATE hone_flags)
  set_target_properties(fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml SUFFIX .so.1
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_nvml)
endfunction()

# Beside them the tests that count allocations, which the optimiser may leave out.
set(HONE_TESTS_OF_NUMBERS "allocations_suite|kernels|data|runtime|lab|backends_suite|gradients_suite|training_suite|models_suite|plugins_suite")

function(hone_test_program target library sources)
  if(HONE_TEST_FILES)
    list(FILTER sources INCLUDE REGEX "${HONE_TEST_FILES}")
  endif()
  if(NOT sources)
    return()
  endif()
  # What tests instantiate of GoogleTest and the standard library costs more than what they say, and no user waits for a batch.
  if(HONE_UNITY GREATER 0 AND HONE_UNITY LESS 20)
    set(HONE_UNITY 20)
  endif()
  hone_batches(sources ${sources})
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${library} hone_test_folders GTest::gmock GTest::gtest_main)
  # What is tested is in the library. Tests of numbers compute references of their own.
  if(HONE_SANITIZE OR NOT target MATCHES "^test_(${HONE_TESTS_OF_NUMBERS})$")
    target_compile_options(${target} PRIVATE -O0)
  else()
    hone_optimise(-O1 ${target})
  endif()
  # Undefined behaviour is looked for in the library, and in tests' own code only bad addresses are, and no ends of temporaries:
  # both take two thirds more time to compile. Functions of headers that both have are the library's: it is linked as a whole, in front of the tests.
  if(HONE_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined -fno-sanitize-address-use-after-scope)
    target_link_options(${target} PRIVATE "LINKER:--whole-archive,$<TARGET_FILE:${library}>,--no-whole-archive")
  endif()
  if(target MATCHES "^test_cli_suite$")
    add_dependencies(${target} fake_nvml)
  endif()
  if(TARGET hone AND target MATCHES "_suite$")  # tests/ run the program; unit tests must build without it
    add_dependencies(${target} hone)
  endif()
  # Tests that need a GPU are there where one is (runtime/testing/providers.h), and have a label: ctest -L cuda.
  set(together ${HONE_TOGETHER_${target}})
  list(JOIN together ":" apart)
  gtest_discover_tests(${target} TEST_FILTER -Gpu/*:${apart} DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600)
  gtest_discover_tests(${target} TEST_FILTER Gpu/* TEST_LIST ${target}_gpu DISCOVERY_TIMEOUT 120
                       PROPERTIES TIMEOUT 600 LABELS cuda)
  foreach(suites ${together})
    add_test(NAME ${suites} COMMAND ${target} --gtest_filter=${suites})
    set_tests_properties(${suites} PROPERTIES TIMEOUT 600 FAIL_REGULAR_EXPRESSION "Running 0 tests")
  endforeach()
endfunction()

# One libFuzzer program a src/**/x_fuzz.cpp: fuzz_x. Its seeds and findings are kept in tests/fuzz/corpus/x.
function(hone_fuzz_targets)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "HONE_FUZZ needs clang: configure with 'cmake --preset fuzz'")
  endif()
  get_property(libraries GLOBAL PROPERTY HONE_LIBRARIES)
  foreach(library ${libraries})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${library}/*_fuzz.cpp)
    foreach(source ${sources})
      get_filename_component(name ${source} NAME)
      string(REPLACE "_fuzz.cpp" "" name ${name})
      add_executable(fuzz_${name} ${source})
      target_link_libraries(fuzz_${name} PRIVATE hone_${library})
      target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
      list(APPEND targets fuzz_${name})
    endforeach()
  endforeach()
  add_custom_target(fuzzers DEPENDS ${targets})
endfunction()

# One benchmark program bench_x a file bench/{kernels,runtime,lab}/x_bench.cpp; none without Google Benchmark.
function(hone_benchmarks)
  add_executable(bench_import ${CMAKE_SOURCE_DIR}/bench/import/import_bench.cpp)  # times itself
  target_link_libraries(bench_import PRIVATE hone_trace)
  add_executable(bench_loader ${CMAKE_SOURCE_DIR}/bench/data/loader_bench.cpp)  # as does this
  target_link_libraries(bench_loader PRIVATE hone_data)
  add_executable(bench_training ${CMAKE_SOURCE_DIR}/bench/training/step_bench.cpp)  # and this
  target_link_libraries(bench_training PRIVATE hone_lab)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    message(STATUS "hone: no Google Benchmark (libbenchmark-dev): the programs of bench/ are not built")
    return()
  endif()
  foreach(library kernels runtime lab)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/bench/${library}/*_bench.cpp)
    foreach(source ${sources})
      get_filename_component(name ${source} NAME_WE)
      string(REGEX REPLACE "_bench$" "" name ${name})
      add_executable(bench_${name} ${source})
      target_link_libraries(bench_${name} PRIVATE hone_${library} benchmark::benchmark)
    endforeach()
  endforeach()
endfunction()
