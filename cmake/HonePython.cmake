# hone_python(): the Python package `hone` (python/hone), where nanobind and Python's headers are there; `make wheel`
# asks for it (-DHONE_PYTHON=ON, by scikit-build-core: pyproject.toml). The package holds what `make install` lays out,
# too, so that its `hone` command is the whole program.
function(hone_python)
  if(Python_EXECUTABLE AND NOT EXISTS ${Python_EXECUTABLE})
    message(STATUS "hone: ${Python_EXECUTABLE} is gone: no Python package until the next make wheel")
    return()
  endif()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                  OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
  find_package(nanobind CONFIG REQUIRED)
  set(at ${CMAKE_SOURCE_DIR}/src/apps)
  # The paired test is compiled here: out of its library's batch it would bring oneDNN and OpenMP into every notebook.
  nanobind_add_module(hone_native STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS NB_DOMAIN hone ${at}/python/module.cpp ${at}/explanation.cpp
                      ${at}/trace_source.cpp ${CMAKE_SOURCE_DIR}/src/lab/gate/paired.cpp)
  set_target_properties(hone_native PROPERTIES OUTPUT_NAME _native EXCLUDE_FROM_ALL ON
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python_package)
  target_link_libraries(hone_native PRIVATE hone_report)
  target_link_options(hone_native PRIVATE -Wl,--as-needed)

  add_executable(hone_python_types EXCLUDE_FROM_ALL ${at}/python/types_main.cpp)
  target_link_libraries(hone_python_types PRIVATE hone_report)
  set(types ${CMAKE_BINARY_DIR}/python_package/fields.py)
  add_custom_command(OUTPUT ${types} COMMAND hone_python_types > ${types} DEPENDS hone_python_types)
  add_custom_target(hone_package DEPENDS hone hone_inject hone_native ${types})

  if(NOT DEFINED SKBUILD_PLATLIB_DIR)
    return()
  endif()
  install(TARGETS hone_native LIBRARY DESTINATION ${SKBUILD_PLATLIB_DIR}/hone COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES ${types} DESTINATION ${SKBUILD_PLATLIB_DIR}/hone COMPONENT python EXCLUDE_FROM_ALL)
endfunction()
