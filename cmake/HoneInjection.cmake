# hone_injection(): libhone_inject.so, which observed programs load (src/observe/inject): nothing of hone in it, nothing
# that it needs but the C library, and no name to be seen but those of its interfaces. Sanitizers are left out: they
# would have to be in the program. hone_inject_parts is the same code, for unit tests.
set(HONE_INJECTION_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor $<$<BOOL:${HONE_WERROR}>:-Werror>)

function(hone_injection)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/observe/inject/*.cpp)
  set(checks ${sources})
  list(FILTER checks INCLUDE REGEX "_abi_check\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "(_test|_abi_check)\\.cpp$|/testing/")
  hone_batches(sources ${sources})
  add_library(hone_inject_parts STATIC ${sources})
  target_include_directories(hone_inject_parts PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(hone_inject_parts PRIVATE ${HONE_INJECTION_WARNINGS} -fvisibility=hidden
                         -fvisibility-inlines-hidden -fno-omit-frame-pointer)
  target_link_libraries(hone_inject_parts PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/inject.cpp CONTENT "// All of it is in hone_inject_parts.\n")
  add_library(hone_inject SHARED ${CMAKE_BINARY_DIR}/generated/inject.cpp)
  target_link_libraries(hone_inject PRIVATE -Wl,--whole-archive hone_inject_parts -Wl,--no-whole-archive)
  target_link_options(hone_inject PRIVATE -static-libstdc++ -static-libgcc
                      -Wl,--exclude-libs,libstdc++.a:libgcc.a:libgcc_eh.a -Wl,-z,nodelete -Wl,-z,defs)
  # What we declare of CUPTI and NVTX, compared with the vendor's headers where there are any.
  find_path(HONE_CUPTI_INCLUDE cupti.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include
            /usr/local/cuda/extras/CUPTI/include)
  if(HONE_CUPTI_INCLUDE AND EXISTS ${HONE_CUPTI_INCLUDE}/cuda.h)
    add_library(hone_inject_abi_check OBJECT ${checks})
    target_include_directories(hone_inject_abi_check PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_include_directories(hone_inject_abi_check SYSTEM PRIVATE ${HONE_CUPTI_INCLUDE})
    add_dependencies(hone_inject hone_inject_abi_check)
  endif()
endfunction()

# hone_fake_cuda(): a CUDA that computes nothing, for tests of the recorder where there is no GPU: libraries named as
# NVIDIA's, and a program that uses them (src/observe/inject/testing).
function(hone_fake_cuda)
  set(at ${CMAKE_SOURCE_DIR}/src/observe/inject/testing)
  set(into ${CMAKE_BINARY_DIR}/fake_cuda)
  add_library(fake_cuda SHARED ${at}/fake_cuda.cpp)
  set_target_properties(fake_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1)
  add_library(fake_cupti SHARED ${at}/fake_cupti.cpp ${at}/fake_cupti_pc_sampling.cpp
              ${at}/fake_cupti_profiler.cpp ${at}/fake_cupti_sampling.cpp)
  set_target_properties(fake_cupti PROPERTIES OUTPUT_NAME cupti SUFFIX .so.13)
  target_link_libraries(fake_cupti PRIVATE fake_cuda)
  add_executable(fake_cuda_program ${at}/program.cpp)
  target_link_libraries(fake_cuda_program PRIVATE fake_cuda)
  foreach(target fake_cuda fake_cupti fake_cuda_program)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_compile_options(${target} PRIVATE ${HONE_INJECTION_WARNINGS})
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${into} RUNTIME_OUTPUT_DIRECTORY ${into})
  endforeach()
endfunction()

# What observes at all: the program finds the library beside itself, tests have the fake CUDA.
function(hone_use_injection)
  if(TARGET hone)
    add_dependencies(hone hone_inject)
  endif()
  if(TARGET test_observe)
    target_link_libraries(test_observe PRIVATE hone_inject_parts)
  endif()
  if(TARGET test_observe_suite)
    hone_fake_cuda()
    add_dependencies(test_observe_suite fake_cuda fake_cupti fake_cuda_program hone_inject)
  endif()
endfunction()
