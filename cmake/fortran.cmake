# The Fortran module and the C++ header: installed as source. A .mod file would fit one compiler only, so the package
# (scdaFortran.cmake) compiles the module with the project that uses it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/scda.F90)
file(READ include/scda.F90 module)
if(NOT SCDA_MPI)
  string(REPLACE "! define SCDA_SERIAL\n" "#define SCDA_SERIAL\n" serial_module "${module}")
  if(serial_module STREQUAL module)
    message(FATAL_ERROR "include/scda.F90 has no line ! define SCDA_SERIAL to make the serial module from.")
  endif()
  set(module "${serial_module}")
endif()
file(CONFIGURE OUTPUT include/scda.F90 CONTENT "${module}" @ONLY)

install(FILES "${PROJECT_BINARY_DIR}/include/scda.F90" include/scda.hpp DESTINATION "${scda_includedir}")
install(FILES cmake/scdaFortran.cmake DESTINATION "${package_dir}")
