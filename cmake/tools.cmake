# The command scda, its manual pages and completions. It knows nothing of MPI, and is the same for all variants. What `scda doctor`
# becomes in an MPI job is a program for each MPI.

option(SCDA_TOOLS "Build and install the command scda" ON)
set(SCDA_TOOLS_DIR "${PROJECT_BINARY_DIR}/cargo/tools" CACHE PATH "The folder in which cargo builds scda; several builds can share one")
if(NOT SCDA_TOOLS)
  return()
endif()

set(tools "${PROJECT_BINARY_DIR}/tools")
set(features "$<$<BOOL:${SCDA_BUNDLED_ZLIB}>:bundled-zlib,>cli")
# Run every time, as for the library.
add_custom_target(scda_tools ALL
  COMMAND "${CMAKE_COMMAND}" -E env "CC=${CMAKE_C_COMPILER}" CARGO_PROFILE_RELEASE_STRIP=symbols CARGO_PROFILE_RELEASE_DEBUG=0
          "${SCDA_CARGO}" build --release --locked --bin scda --no-default-features --features "${features}"
          --target-dir "${SCDA_TOOLS_DIR}" ${SCDA_CARGO_FLAGS}
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${tools}"
  COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${SCDA_TOOLS_DIR}/release/scda" "${tools}/scda"
  COMMAND "${tools}/scda" generate "${tools}/pages"
  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
  BYPRODUCTS "${tools}/scda"
  COMMENT "cargo: the command scda"
  USES_TERMINAL VERBATIM)

install(PROGRAMS "${tools}/scda" DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${tools}/pages/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" FILES_MATCHING PATTERN "*.1")
install(FILES "${tools}/pages/scda.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME scda)
install(FILES "${tools}/pages/_scda" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
install(FILES "${tools}/pages/scda.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

if(SCDA_MPI AND scda_MPI_FAMILY MATCHES "^(Open MPI|MPICH)$") # those that scda knows to be started by
  string(TOLOWER "${scda_MPI_FAMILY}" doctor)
  string(REPLACE " " "" doctor "scda-doctor-${doctor}")
  # MPI may be outside of the system's folders. Nothing is known of it if the compiler is that of MPI.
  set(rpath "")
  if(MPI_C_LIBRARIES)
    list(GET MPI_C_LIBRARIES 0 mpi_library)
    get_filename_component(mpi_folder "${mpi_library}" DIRECTORY)
    set(rpath "-Clink-arg=-Wl,-rpath,${mpi_folder}")
  endif()
  # In the folder of the library, whose parts it shares; so after it.
  add_custom_target(scda_doctor ALL
    COMMAND "${CMAKE_COMMAND}" -E env ${cargo_env}
            "${SCDA_CARGO}" rustc --release --locked --bin scda-doctor-mpi --no-default-features --features "mpi,${features}"
            --target-dir "${cargo_dir}" ${SCDA_CARGO_FLAGS} -- ${rpath}
    COMMAND "${CMAKE_STRIP}" -o "${tools}/${doctor}" "${cargo_dir}/release/scda-doctor-mpi"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    BYPRODUCTS "${tools}/${doctor}"
    COMMENT "cargo: ${doctor}"
    USES_TERMINAL VERBATIM)
  add_dependencies(scda_doctor scda_cargo scda_tools)
  install(PROGRAMS "${tools}/${doctor}" DESTINATION libexec/scda) # where scda looks for it
endif()
