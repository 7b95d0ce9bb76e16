# hone_cuda_checks(): what we declare of CUDA's libraries (src/cuda/*_abi.h), compared with NVIDIA's headers where there are
# any: in a toolkit, or in Python's packages. Nothing needs them: building hone takes no toolkit.
function(hone_cuda_checks)
  find_path(HONE_CUDA_INCLUDE cuda.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
  if(NOT HONE_CUDA_INCLUDE)
    message(STATUS "hone: no cuda.h: what hone declares of CUDA is not compared with it")
    return()
  endif()
  file(GLOB checks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/*_abi_check.cpp)
  add_library(hone_cuda_abi_check OBJECT ${checks})
  target_include_directories(hone_cuda_abi_check PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_include_directories(hone_cuda_abi_check SYSTEM PRIVATE ${HONE_CUDA_INCLUDE})
  add_dependencies(hone_cuda hone_cuda_abi_check)
endfunction()

# hone_fake_driver(tests…): a driver for tests where there is no GPU (src/cuda/testing/fake_driver.cpp). It is not called
# libcuda.so.1: NVRTC takes a library of that name that is loaded for NVIDIA's, and calls what the fake one has not.
function(hone_fake_driver)
  add_library(fake_driver SHARED ${CMAKE_SOURCE_DIR}/src/cuda/testing/fake_driver.cpp
              ${CMAKE_SOURCE_DIR}/src/cuda/testing/fake_driver_calls.cpp)
  target_include_directories(fake_driver PRIVATE ${CMAKE_SOURCE_DIR}/src)
  set_target_properties(fake_driver PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_driver)
  add_library(fake_blas_lt SHARED ${CMAKE_SOURCE_DIR}/src/cuda/testing/fake_blas_lt.cpp)
  target_include_directories(fake_blas_lt PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(fake_blas_lt PRIVATE fake_driver)
  set_target_properties(fake_blas_lt PROPERTIES OUTPUT_NAME cublasLt SUFFIX .so.13
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_driver/lib64)
  file(GLOB fake_cudnn_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/testing/fake_cudnn*.cpp)
  add_library(fake_cudnn SHARED ${fake_cudnn_sources})
  target_include_directories(fake_cudnn PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(fake_cudnn PRIVATE fake_driver)
  # No SONAME, as for NVRTC below: tests load NVIDIA's beside it.
  set_target_properties(fake_cudnn PROPERTIES OUTPUT_NAME cudnn SUFFIX .so.9 NO_SONAME TRUE
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_driver/lib64)
  add_library(fake_own_cupti SHARED ${CMAKE_SOURCE_DIR}/src/cuda/testing/fake_cupti.cpp)
  target_include_directories(fake_own_cupti PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(fake_own_cupti PRIVATE fake_driver)
  set_target_properties(fake_own_cupti PROPERTIES OUTPUT_NAME cupti SUFFIX .so.13 NO_SONAME TRUE
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_driver/extras/CUPTI/lib64)
  add_library(fake_nvrtc SHARED ${CMAKE_SOURCE_DIR}/src/cuda/testing/fake_nvrtc.cpp)
  target_include_directories(fake_nvrtc PRIVATE ${CMAKE_SOURCE_DIR}/src)
  # No SONAME: who asks for a loaded NVRTC is not to be given this one.
  set_target_properties(fake_nvrtc PROPERTIES OUTPUT_NAME nvrtc SUFFIX .so.13 NO_SONAME TRUE
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_driver/lib64)
  foreach(test ${ARGN})
    if(TARGET ${test})
      add_dependencies(${test} fake_driver fake_blas_lt fake_cudnn fake_nvrtc fake_own_cupti)
    endif()
  endforeach()
endfunction()
