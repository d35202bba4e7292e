# mpi-sys makes its bindings to mpi.h by bindgen, which loads libclang while cargo runs. Stop here with the name of the
# package rather than there with a page of Rust. The search is as wide as bindgen's own (crate clang-sys).
if(NOT DEFINED ENV{LIBCLANG_PATH})
  execute_process(COMMAND llvm-config --prefix OUTPUT_VARIABLE llvm_prefix ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE ":" ";" folders "$ENV{LD_LIBRARY_PATH}:$ENV{LIBRARY_PATH}")
  list(APPEND folders "${llvm_prefix}/lib" "${llvm_prefix}/lib64"
       /usr/local/llvm*/lib* /usr/local/lib* /usr/local/lib*/* /usr/local/lib*/*/* /usr/lib* /usr/lib*/* /usr/lib*/*/*)
  list(TRANSFORM folders APPEND "/libclang[.-]*so*")
  file(GLOB libclang ${folders})
  list(FILTER libclang EXCLUDE REGEX "-cpp")
  if(NOT libclang AND NOT DEFINED ENV{LLVM_CONFIG_PATH})
    message(FATAL_ERROR "libclang was not found; the MPI build needs it to read mpi.h. Install it (Debian, Ubuntu: "
                        "libclang-dev; Fedora: clang-devel), or set the environment variable LIBCLANG_PATH to the folder "
                        "of libclang.so, or build the serial library by -DSCDA_MPI=OFF.")
  endif()
else()
  list(APPEND cargo_env "LIBCLANG_PATH=$ENV{LIBCLANG_PATH}")  # as it was when configured
endif()
