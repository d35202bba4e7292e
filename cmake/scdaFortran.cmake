# The component Fortran of find_package(scda): the targets scda::scda_fortran (shared) and scda::scda_fortran_static, with
# which the modules of scda.F90 and scda_meshes.F90 are compiled in the project that uses it, by its compiler
# and with its flags. They are there whenever the project has enabled Fortran; the latter if it has enabled C, too.

# scda_add_fortran(RESULT [SOURCE]): sets RESULT in the caller's scope to the reason why there are no such targets, or to "". SOURCE is
# the file of the module; by default the one installed beside scda.h.
function(scda_add_fortran result)
  set(${result} "" PARENT_SCOPE)
  if(TARGET scda::scda_fortran)
    return()
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "Fortran" IN_LIST languages)
    set(${result} "the project must enable the language Fortran before it calls find_package(scda)" PARENT_SCOPE)
    return()
  endif()

  set(mpi "")
  set(definitions "")
  if(scda_WITH_MPI)
    # Debian: mpif90 is a link to that of any MPI. Take the one beside the compiler wrapper for C.
    if(NOT TARGET MPI::MPI_Fortran AND NOT MPI_Fortran_COMPILER AND NOT CMAKE_Fortran_COMPILER MATCHES "(mpi[^/]*|/ftn)$")
      get_filename_component(folder "${scda_MPICC}" DIRECTORY)
      get_filename_component(wrapper "${scda_MPICC}" NAME)
      foreach(name mpifort mpif90)
        string(REGEX REPLACE "^mpicc" "${name}" candidate "${wrapper}")
        if(NOT candidate STREQUAL wrapper AND EXISTS "${folder}/${candidate}")
          set(MPI_Fortran_COMPILER "${folder}/${candidate}" CACHE FILEPATH "MPI compiler for Fortran")
          break()
        endif()
      endforeach()
    endif()
    scda_find_mpi(C Fortran)
    if(NOT TARGET MPI::MPI_Fortran)
      set(${result} "no MPI for Fortran was found; choose one by -DMPI_Fortran_COMPILER=/path/to/mpif90" PARENT_SCOPE)
      return()
    endif()

    # Only Open MPI's module has this constant.
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/scda_mpi")
    file(WRITE "${folder}/mpi.f90" "subroutine s()\n  use mpi\n  integer :: n, e\n  call MPI_Comm_size(MPI_COMM_WORLD, n, e)\nend\n")
    file(WRITE "${folder}/openmpi.f90" "subroutine s()\n  use mpi\n  integer :: n = OMPI_MAJOR_VERSION\n  print *, n\nend\n")
    try_compile(scda_has_mpi_module "${folder}" "${folder}/mpi.f90" LINK_LIBRARIES MPI::MPI_Fortran)
    try_compile(scda_is_openmpi_module "${folder}" "${folder}/openmpi.f90" LINK_LIBRARIES MPI::MPI_Fortran)
    if(scda_has_mpi_module AND (scda_is_openmpi_module AND scda_MPI_FAMILY STREQUAL "MPICH"
                       OR NOT scda_is_openmpi_module AND scda_MPI_FAMILY STREQUAL "Open MPI"))
      set(${result} "${MPI_Fortran_COMPILER} is not of ${scda_MPI_FAMILY}, the MPI of this project's C; choose its own \
by -DMPI_Fortran_COMPILER=/path/to/mpif90" PARENT_SCOPE)
      return()
    endif()

    set(mpi MPI::MPI_Fortran)
    if(NOT MPI_Fortran_HAVE_F08_MODULE)
      list(APPEND definitions SCDA_NO_MPI_F08) # the module mpi_f08 is missing, or was compiled by another compiler
    endif()
  endif()

  set(source ${ARGN})
  if(NOT source)
    get_target_property(folders scda::scda INTERFACE_INCLUDE_DIRECTORIES)
    find_file(source scda.F90 PATHS ${folders} NO_DEFAULT_PATH NO_CACHE)
  endif()
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/scda_fortran")
  get_filename_component(folder "${source}" DIRECTORY)
  add_library(scda_fortran_module STATIC EXCLUDE_FROM_ALL "${source}" "${folder}/scda_meshes.F90")
  # CMake does not see what Fortran includes.
  set_source_files_properties("${source}" "${folder}/scda_meshes.F90" PROPERTIES OBJECT_DEPENDS "${folder}/scda.inc;${folder}/scda_c.inc")
  set_target_properties(scda_fortran_module PROPERTIES
    Fortran_FORMAT FREE
    Fortran_PREPROCESS ON
    Fortran_MODULE_DIRECTORY "${modules}"
    POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(scda_fortran_module PRIVATE ${definitions})
  # Overrides the project's own options: with -fno-automatic, gfortran loses the lengths of returned strings.
  target_compile_options(scda_fortran_module PRIVATE "$<$<COMPILE_LANG_AND_ID:Fortran,GNU>:-std=f2018;-fautomatic>")
  target_include_directories(scda_fortran_module PUBLIC "$<BUILD_INTERFACE:${modules}>" PRIVATE "${folder}")
  target_link_libraries(scda_fortran_module PUBLIC ${mpi})
  foreach(kind "" _static)
    if(TARGET scda::scda${kind})
      add_library(scda_fortran${kind} INTERFACE)
      add_library(scda::scda_fortran${kind} ALIAS scda_fortran${kind})
      target_link_libraries(scda_fortran${kind} INTERFACE scda_fortran_module scda::scda${kind}) # in the linker's order
    endif()
  endforeach()
endfunction()
