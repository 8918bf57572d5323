# `cmake --install`: library, headers, hypar.pc, command, man pages.

# Who links the static library also links what it is built on.
list(JOIN HYPAR_PC_PACKAGES " " packages)
if(BUILD_SHARED_LIBS)
  set(HYPAR_PC_REQUIRES "Requires.private: ${packages}")
  set(HYPAR_PC_LIBS_PRIVATE "Libs.private: -lm -pthread${HYPAR_PC_DNNL}")
else()
  set(HYPAR_PC_REQUIRES "Requires: ${packages}")
  set(HYPAR_PC_LIBS " -lm -pthread${HYPAR_PC_DNNL}")
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
install(TARGETS hypar hypar-cli)
install(DIRECTORY include/hypar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/hypar.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
install(FILES LICENSE ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(section 1 5)
  file(GLOB pages CONFIGURE_DEPENDS docs/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
