# What must be known of an MPI beyond what FindMPI tells. Used to build libscda, and installed for its users' projects.

# scda_find_mpi(COMPONENT...): find_package(MPI). If that makes the targets, all folders of the project see them: also those
# above this one, in which the libraries are linked that need them.
macro(scda_find_mpi)
  set(scda_new_targets "")
  foreach(component ${ARGN})
    if(NOT TARGET MPI::MPI_${component})
      list(APPEND scda_new_targets MPI::MPI_${component})
    endif()
  endforeach()
  find_package(MPI QUIET COMPONENTS ${ARGN})
  foreach(target IN LISTS scda_new_targets)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
    endif()
  endforeach()
  unset(scda_new_targets)
endmacro()

# scda_inspect_mpi(): for the MPI after MPI::MPI_C, sets in the caller's scope
#   scda_MPI_FAMILY  "Open MPI", "MPICH" or "unknown". Programs and libraries of one family may be linked together.
#   scda_MPICC       its compiler wrapper
#   scda_MPIEXEC     its mpiexec
function(scda_inspect_mpi)
  # The header alone tells reliably: on Debian mpicc and mpiexec are links that the administrator can turn.
  # Intel MPI, MVAPICH and Cray MPICH have the ABI of MPICH.
  set(family unknown)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/scda_mpi")
  foreach(candidate "Open MPI:OPEN_MPI" "MPICH:MPICH_NAME" "MPICH:MPICH_VERSION")
    string(REGEX MATCH "(.*):(.*)" candidate "${candidate}")
    set(name "${CMAKE_MATCH_1}")
    file(WRITE "${folder}/family.c" "#include <mpi.h>\n#ifndef ${CMAKE_MATCH_2}\n#error\n#endif\n")
    try_compile(is_family "${folder}" "${folder}/family.c" LINK_LIBRARIES MPI::MPI_C)
    if(is_family)
      set(family "${name}")
      break()
    endif()
  endforeach()

  set(mpicc "${MPI_C_COMPILER}")
  if(NOT mpicc)
    set(mpicc "${CMAKE_C_COMPILER}")  # FindMPI needed no wrapper: the compiler is one
  endif()
  if(NOT IS_ABSOLUTE "${mpicc}")
    find_program(mpicc_path "${mpicc}" NO_CACHE)
    if(mpicc_path)
      set(mpicc "${mpicc_path}")
    endif()
  endif()
  # Debian: in one folder mpicc.openmpi and mpicc.mpich, and mpicc, a link to either; mpiexec likewise.
  string(TOLOWER "${family}" suffix)
  string(REPLACE " " "" suffix "${suffix}")
  get_filename_component(folder "${mpicc}" DIRECTORY)
  if(EXISTS "${folder}/mpicc.${suffix}")
    set(mpicc "${folder}/mpicc.${suffix}")
  endif()
  set(mpiexec "${MPIEXEC_EXECUTABLE}")
  foreach(candidate mpiexec mpiexec.${suffix})
    if(EXISTS "${folder}/${candidate}")
      set(mpiexec "${folder}/${candidate}")
    endif()
  endforeach()

  set(scda_MPI_FAMILY "${family}" PARENT_SCOPE)
  set(scda_MPICC "${mpicc}" PARENT_SCOPE)
  set(scda_MPIEXEC "${mpiexec}" PARENT_SCOPE)
endfunction()
