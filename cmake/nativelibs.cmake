# scda_native_libs(VARIABLE): the libraries that a static archive of Rust needs, as a list of "-lNAME".
function(scda_native_libs variable)
  get_filename_component(folder "${SCDA_CARGO}" DIRECTORY)
  find_program(SCDA_RUSTC rustc HINTS "${folder}" DOC "rustc, the Rust compiler of SCDA_CARGO")
  mark_as_advanced(SCDA_RUSTC)
  set(here "${PROJECT_BINARY_DIR}/CMakeFiles/scda_native_libs")
  file(WRITE "${here}/empty.rs" "")
  execute_process(COMMAND "${SCDA_RUSTC}" --crate-type staticlib -o "${here}/empty.a"
    --print "native-static-libs=${here}/list" "${here}/empty.rs"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" RESULT_VARIABLE status ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SCDA_RUSTC} does not compile an empty library: ${error}")
  endif()
  file(READ "${here}/list" libs)
  separate_arguments(libs UNIX_COMMAND "${libs}")
  list(REMOVE_ITEM libs -lgcc_s -lgcc_eh -lgcc -lc)
  list(REMOVE_DUPLICATES libs)
  set(${variable} ${libs} PARENT_SCOPE)
endfunction()
