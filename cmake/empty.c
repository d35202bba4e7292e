/* The shared library is linked from cargo's archive; CMake wants one source file all the same. */
