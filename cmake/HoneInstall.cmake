# hone_install(): what `make install` puts where: the program, the library and the Python files that observed programs
# load, the header that plugins are built against, the manual page and the shells' completions. The last two are made by the program itself, from what its commands
# declare. The component `program` is what runs; the Python package holds that.
function(hone_install)
  include(GNUInstallDirs)
  install(TARGETS hone RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(TARGETS hone_inject LIBRARY DESTINATION lib/hone COMPONENT program)  # where hone looks, whatever the system calls its lib
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/hone_observe ${CMAKE_SOURCE_DIR}/python/hone_apply DESTINATION share/hone/python
          COMPONENT program FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  install(FILES ${CMAKE_SOURCE_DIR}/include/hone/plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hone)
  set(made ${CMAKE_BINARY_DIR}/install)
  install(CODE "
    function(made_by_hone file)
      execute_process(COMMAND \"$<TARGET_FILE:hone>\" \${ARGN} OUTPUT_FILE \"${made}/\${file}\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endfunction()
    file(MAKE_DIRECTORY \"${made}\")
    made_by_hone(hone.1 man)
    made_by_hone(hone completion bash)
    made_by_hone(_hone completion zsh)
    made_by_hone(hone.fish completion fish)")
  install(FILES ${made}/hone.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${made}/hone DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${made}/_hone DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${made}/hone.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()
