# libscda_sc.so: the functions sc_scda_* of libsc, for programs that are linked with libsc (docs/libsc.md).
#
# Linked from the same archive as libscda.so, and needing it as little as libsc: where either lies does not matter.
# The symbols have no version node, as libsc's have none: so they also take the place of those of a libsc that a
# distribution has given versions.

# The ABI number of this library, kept here and nowhere else. The ABI is that of libsc 2.8.7.
set(SCDA_SC_SOVERSION 0)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS crates/libsc/scda_sc.symbols)
file(STRINGS crates/libsc/scda_sc.symbols sc_symbols REGEX "^[a-z]")
list(TRANSFORM sc_symbols PREPEND "LINKER:--require-defined=" OUTPUT_VARIABLE sc_roots)
list(JOIN sc_symbols "; " sc_globals)
set(sc_version_script "${PROJECT_BINARY_DIR}/scda_sc.map")
file(CONFIGURE OUTPUT "${sc_version_script}" CONTENT "{ global: @sc_globals@; local: *; };\n" @ONLY)

add_library(scda_sc SHARED cmake/empty.c)
add_library(scda::scda_sc ALIAS scda_sc)
add_dependencies(scda_sc scda_cargo)
set_target_properties(scda_sc PROPERTIES
  OUTPUT_NAME scda_sc${SCDA_SUFFIX}
  VERSION ${PROJECT_VERSION}
  SOVERSION ${SCDA_SC_SOVERSION}
  LINK_DEPENDS "${archive};${sc_version_script}"
  INSTALL_RPATH "${run_path}")
target_link_options(scda_sc PRIVATE ${sc_roots} "LINKER:--version-script=${sc_version_script}" LINKER:--no-undefined
  LINKER:--gc-sections LINKER:--as-needed $<$<CONFIG:Release,MinSizeRel>:LINKER:--strip-debug>)
target_link_libraries(scda_sc PRIVATE "${archive}" ${native_libs})
if(SCDA_INSTALL)
  install(TARGETS scda_sc EXPORT scdaTargets)
endif()
