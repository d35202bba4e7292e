# scda.pc, and the script scda-config for those who have no pkg-config (with SCDA_SUFFIX its name has it, too), for users without CMake. Folders are given
# from the place of the file itself, so the tree can be moved.
# What the program needs of MPI comes from mpicc: the library serves any MPI, and flags of one here would get before those of another.
file(RELATIVE_PATH prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
get_filename_component(full_includedir "${scda_includedir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH includedir_from_prefix "${CMAKE_INSTALL_PREFIX}" "${full_includedir}")
file(RELATIVE_PATH libdir_from_prefix "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
list(JOIN native_libs " " private_libs) # for pkg-config --static
configure_file(cmake/scda.pc.in ${scda_name}.pc @ONLY)
file(RELATIVE_PATH prefix_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_PREFIX}")
set(config_cc cc)
if(SCDA_MPI)
  set(config_cc "${scda_MPICC}")
endif()
configure_file(cmake/scda-config.in ${scda_name}-config @ONLY)
