# The command scda, its manual pages and completions. It is linked with no MPI, and is the same for all variants.

option(SCDA_TOOLS "Build and install the command scda; OFF by default in a project that adds this one" ${PROJECT_IS_TOP_LEVEL})
if(NOT SCDA_TOOLS)
  return()
endif()

set(tools "${PROJECT_BINARY_DIR}/tools")
set(cargo_env_tools "CC=${CMAKE_C_COMPILER}") # as that of the serial library, with which the command shares a folder
scda_cargo_dir(tools_dir ${cargo_env_tools})
# Run every time, as for the library.
add_custom_target(scda_cargo_tools
  COMMAND "${CMAKE_COMMAND}" -E env ${cargo_env_tools} ${cargo} "${tools_dir}"
          build -p scda-command --bin scda --features "${zlib_feature}" ${SCDA_CARGO_FLAGS}
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  BYPRODUCTS "${tools_dir}/release/scda"
  COMMENT "cargo: the command scda"
  USES_TERMINAL VERBATIM)
add_custom_command(OUTPUT "${tools}/scda"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${tools}"
  COMMAND "${CMAKE_STRIP}" -o "${tools}/scda" "${tools_dir}/release/scda"
  COMMAND "${tools}/scda" generate "${tools}/pages"
  DEPENDS scda_cargo_tools "${tools_dir}/release/scda"
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
