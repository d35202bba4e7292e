# The pages as they are installed. What a page links to is installed, too, or lies elsewhere there; other links, which lead into the
# sources, become plain text.
set(scda_doc_folders docs/images examples/c examples/fortran python/examples)
file(GLOB scda_doc_pages RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS docs/*.md)
list(REMOVE_ITEM scda_doc_pages docs/SUMMARY.md) # the order of the site
list(APPEND scda_doc_pages README.md CHANGELOG.md)
set(scda_doc_files ${scda_doc_pages} LICENSE-MIT LICENSE-APACHE docs)

# scda_page(PAGE): makes doc/PAGE in the build folder.
function(scda_page page)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
  file(READ "${page}" text)
  # These have a meaning in CMake's lists.
  string(ASCII 1 open)
  string(ASCII 2 close)
  string(ASCII 3 semicolon)
  string(REPLACE "[" "${open}" text "${text}")
  string(REPLACE "]" "${close}" text "${text}")
  string(REPLACE ";" "${semicolon}" text "${text}")

  get_filename_component(folder "${page}" DIRECTORY)
  string(REGEX MATCHALL "${close}\\([^()# \n]+" links "${text}")
  list(REMOVE_DUPLICATES links)
  foreach(link IN LISTS links)
    string(REPLACE "${close}(" "" link "${link}")
    get_filename_component(target "${link}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}/${folder}")
    if(NOT EXISTS "${target}") # another page of the web, or no link at all
      continue()
    endif()
    file(RELATIVE_PATH target "${PROJECT_SOURCE_DIR}" "${target}")
    string(REGEX REPLACE "([][+.*()^$?\\|])" "\\\\\\1" pattern "${link}")
    set(installed "")
    foreach(found IN LISTS scda_doc_folders)
      if("${target}/" MATCHES "^${found}/")
        set(installed "${link}")
      endif()
    endforeach()
    if(target IN_LIST scda_doc_files)
      set(installed "${link}")
    elseif(target STREQUAL "packaging/LICENSES-CRATES.txt")
      file(RELATIVE_PATH installed "/${folder}" /LICENSES-CRATES.txt)
    elseif(target MATCHES "^include/")
      get_filename_component(name "${target}" NAME)
      get_filename_component(there "${scda_includedir}/${name}" ABSOLUTE BASE_DIR "${CMAKE_INSTALL_PREFIX}")
      file(RELATIVE_PATH installed "${CMAKE_INSTALL_FULL_DOCDIR}/${folder}" "${there}")
    endif()
    if(installed)
      string(REPLACE "${close}(${link}" "${close}(${installed}" text "${text}")
    else()
      string(REGEX REPLACE "${open}([^${open}${close}]*)${close}\\(${pattern}(#[^()]*)?\\)" "\\1" text "${text}")
    endif()
  endforeach()

  string(REPLACE "${open}" "[" text "${text}")
  string(REPLACE "${close}" "]" text "${text}")
  string(REPLACE "${semicolon}" ";" text "${text}")
  file(WRITE "${PROJECT_BINARY_DIR}/doc/${page}" "${text}")
  install(FILES "${PROJECT_BINARY_DIR}/doc/${page}" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
endfunction()
foreach(page IN LISTS scda_doc_pages)
  scda_page("${page}")
endforeach()
install(FILES LICENSE-MIT LICENSE-APACHE packaging/LICENSES-CRATES.txt python/sbom.cdx.json DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(folder IN LISTS scda_doc_folders)
  install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}" PATTERN __pycache__ EXCLUDE)
endforeach()

# The manual pages of the C functions, made from the headers.
list(GET scda_cargo_FILES 1 manual)
file(GLOB manual_headers CONFIGURE_DEPENDS include/scda*.h)
add_custom_command(OUTPUT "${PROJECT_BINARY_DIR}/man3"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${PROJECT_BINARY_DIR}/man3"
  COMMAND "${manual}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/man3"
  DEPENDS scda_cargo "${manual}" ${manual_headers}
  COMMENT "Manual pages"
  VERBATIM)
add_custom_target(scda_manual ALL DEPENDS "${PROJECT_BINARY_DIR}/man3")
install(DIRECTORY "${PROJECT_BINARY_DIR}/man3" DESTINATION "${CMAKE_INSTALL_MANDIR}")
