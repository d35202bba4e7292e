# scda.pc, and the script scda-config for those who have no pkg-config (with SCDA_SUFFIX its name has it, too), for users without CMake. Folders are given
# from the place of the file itself, so the tree can be moved.
# scda.h includes mpi.h and its users call MPI, so they get the flags of the very MPI that the library was built with
# (harmless to users of mpicc; there are none if the library's compiler was itself MPI's, as Cray's cc: its users then need
# the same). No Requires: on MPI's own .pc file, which may be missing, or be that of another MPI.
file(RELATIVE_PATH prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
get_filename_component(full_includedir "${scda_includedir}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH includedir_from_prefix "${CMAKE_INSTALL_PREFIX}" "${full_includedir}")
file(RELATIVE_PATH libdir_from_prefix "${CMAKE_INSTALL_PREFIX}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set(mpi_cflags "")
set(mpi_libs "")
if(SCDA_MPI)
  foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
    string(APPEND mpi_cflags " -I${folder}")
  endforeach()
  # By name: CMake's pkg_check_modules(... IMPORTED_TARGET) puts what is given by path before this library.
  scda_by_name(mpi_libs ${MPI_C_LINK_FLAGS} ${MPI_C_LIBRARIES})
  list(JOIN mpi_libs " " mpi_libs)
endif()
list(JOIN native_libs " " private_libs) # for pkg-config --static
configure_file(cmake/scda.pc.in ${scda_name}.pc @ONLY)
file(RELATIVE_PATH prefix_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_PREFIX}")
set(config_cc cc)
if(SCDA_MPI)
  set(config_cc "${scda_MPICC}")
endif()
configure_file(cmake/scda-config.in ${scda_name}-config @ONLY)
