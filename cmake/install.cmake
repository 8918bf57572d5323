# `cmake --install`: library, headers, hypar.pc, package for CMake, command, man pages, documents,
# examples, what shells complete; and a manifest, by which all of it is removed again.

install(SCRIPT ${PROJECT_BINARY_DIR}/manifest.cmake) # what will be made

# Who links the static library also links what it is built on.
list(JOIN HYPAR_PC_PACKAGES " " packages)
set(system_libraries " -lm -pthread")
foreach(library ${CMAKE_DL_LIBS}) # older C libraries have dlopen() in one of its own
  string(APPEND system_libraries " -l${library}")
endforeach()
if(BUILD_SHARED_LIBS)
  set(HYPAR_PC_REQUIRES "Requires.private: ${packages}")
  set(HYPAR_PC_LIBS_PRIVATE "Libs.private:${system_libraries}")
else()
  set(HYPAR_PC_REQUIRES "Requires: ${packages}")
  set(HYPAR_PC_LIBS "${system_libraries}")
endif()
# The prefix follows from where hypar.pc lies, so an installed tree can be moved.
file(RELATIVE_PATH HYPAR_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
string(REGEX REPLACE "/$" "" HYPAR_PC_PREFIX "${HYPAR_PC_PREFIX}")
configure_file(hypar.pc.in hypar.pc @ONLY)

# The command finds a shared library beside it, wherever the tree is put.
if(BUILD_SHARED_LIBS)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(hypar-cli PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
endif()
install(TARGETS hypar EXPORT hyparTargets)
install(TARGETS hypar-cli)

# find_package(hypar), hypar::hypar.
set(HYPAR_FIND_PACKAGES)
foreach(package ${HYPAR_PC_PACKAGES}) # under the names that cmake/libraries.cmake links them by
  string(REGEX REPLACE "^lib" "" name ${package})
  string(MAKE_C_IDENTIFIER ${name} name)
  string(TOUPPER ${name} name)
  string(APPEND HYPAR_FIND_PACKAGES
    "  pkg_check_modules(${name} REQUIRED QUIET IMPORTED_TARGET ${package})\n")
endforeach()
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/hypar)
configure_package_config_file(cmake/hyparConfig.cmake.in ${PROJECT_BINARY_DIR}/hyparConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/hyparConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT hyparTargets NAMESPACE hypar:: DESTINATION ${package_folder})
install(FILES ${PROJECT_BINARY_DIR}/hyparConfig.cmake ${PROJECT_BINARY_DIR}/hyparConfigVersion.cmake
        DESTINATION ${package_folder})
install(DIRECTORY include/hypar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/hypar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(destinations ${CMAKE_INSTALL_BINDIR} ${package_folder} ${CMAKE_INSTALL_INCLUDEDIR}/hypar
    ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Documents and examples lie to each other as they do here, so that links hold.
file(GLOB_RECURSE documents CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     docs/*.md docs/img/* examples/*)
foreach(document LICENSE README.md ARCHITECTURE.md CONTRIBUTING.md bench/simgrid/README.md ${documents})
  get_filename_component(folder ${CMAKE_INSTALL_DOCDIR}/${document} DIRECTORY)
  install(FILES ${document} DESTINATION ${folder})
  list(APPEND destinations ${folder})
endforeach()
# Manual pages tell the version, and when it was built (or SOURCE_DATE_EPOCH).
string(TIMESTAMP today "%B %d, %Y" UTC)
foreach(section 1 5)
  file(GLOB pages CONFIGURE_DEPENDS docs/man/*.${section})
  set(dated)
  foreach(page ${pages})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
    file(READ ${page} text)
    string(REGEX REPLACE "^\\.Dd\n" ".Dd ${today}\n" text "${text}")
    string(REPLACE "\n.Os hypar\n" "\n.Os hypar ${PROJECT_VERSION}\n" text "${text}")
    get_filename_component(name ${page} NAME)
    file(WRITE ${PROJECT_BINARY_DIR}/man/${name} "${text}")
    list(APPEND dated ${PROJECT_BINARY_DIR}/man/${name})
  endforeach()
  install(FILES ${dated} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  list(APPEND destinations ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()

# What shells complete, as the command that was built tells it; named as each shell wants it.
set(completions bash-completion/completions/hypar zsh/site-functions/_hypar
    fish/vendor_completions.d/hypar.fish)
foreach(completion ${completions})
  string(REGEX REPLACE "^(bash|zsh|fish).*" "\\1" shell ${completion})
  set(file ${PROJECT_BINARY_DIR}/completion/${completion})
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${file} DEPENDS hypar-cli
                     COMMAND hypar-cli completion ${shell} -q -o ${file})
  list(APPEND completion_files ${file})
  get_filename_component(folder ${completion} DIRECTORY)
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
  list(APPEND destinations ${CMAKE_INSTALL_DATADIR}/${folder})
endforeach()
add_custom_target(completion ALL DEPENDS ${completion_files})

list(REMOVE_DUPLICATES destinations)
configure_file(cmake/manifest.cmake.in manifest.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/manifest.cmake) # what was put there
