# What is installed beside libscda_sc and the command: library, headers, CMake package, pkg-config and scda-config, documentation.
if(NOT SCDA_INSTALL)
  return()
endif()

# Before 1.0 a minor version may change the interface, and then promises only itself.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/${scda_name}")
configure_package_config_file(cmake/scdaConfig.cmake.in ${scda_name}Config.cmake INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${scda_name}ConfigVersion.cmake COMPATIBILITY ${compatibility})
include(cmake/pkgconfig.cmake)

install(TARGETS ${libraries} EXPORT scdaTargets)
# Fortran's module is source: a .mod file would fit one compiler only. scdaFortran.cmake compiles it with its users' projects.
install(FILES "${PROJECT_BINARY_DIR}/include/scda.h" include/scda_bind.h include/scda.hpp "${PROJECT_BINARY_DIR}/include/scda.F90" include/scda.inc include/scda_c.inc
  ${scda_forest_headers} # for programs with p4est, which the library does not need
  DESTINATION "${scda_includedir}")
install(EXPORT scdaTargets NAMESPACE scda:: DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/${scda_name}Config.cmake" "${PROJECT_BINARY_DIR}/${scda_name}ConfigVersion.cmake"
  cmake/scdaMPI.cmake cmake/scdaFortran.cmake DESTINATION "${package_dir}")
install(FILES "${PROJECT_BINARY_DIR}/${scda_name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(PROGRAMS "${PROJECT_BINARY_DIR}/${scda_name}-config" DESTINATION "${CMAKE_INSTALL_BINDIR}")
include(cmake/docs.cmake)
