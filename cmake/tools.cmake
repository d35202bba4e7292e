# The command scda, its manual pages and completions. It is linked with no MPI, and is the same for all variants.

if(NOT SCDA_TOOLS)
  return()
endif()

set(tools "${PROJECT_BINARY_DIR}/tools")
set(compiled scda_cargo)
if(NOT SCDA_MPI)
  set(compiled scda_cargo_tools)
endif()
list(GET ${compiled}_FILES -1 executable)
add_custom_command(OUTPUT "${tools}/scda"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${tools}"
  COMMAND "${CMAKE_STRIP}" -o "${tools}/scda" "${executable}"
  COMMAND "${tools}/scda" generate "${tools}/pages"
  DEPENDS ${compiled} "${executable}"
  COMMENT "scda: manual pages and completions"
  VERBATIM)
add_custom_target(scda_tools ALL DEPENDS "${tools}/scda")

if(SCDA_INSTALL)
  install(PROGRAMS "${tools}/scda" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${tools}/pages/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" FILES_MATCHING PATTERN "*.1")
  install(FILES "${tools}/pages/scda.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME scda)
  install(FILES "${tools}/pages/_scda" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${tools}/pages/scda.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
