# SPDX-License-Identifier: BSD-3-Clause
# Installs the libraries, the overlay mpi.h, the compiler wrappers, intersession-run, a CMake
# package and pkg-config files. The build tree has the same layout (bin, include, lib) and can be
# used without an installation. packaging/ adds manual pages and other files.
#
# Components, which are also the Debian packages: runtime (libraries), dev (headers, compiler
# wrappers), tools (commands), debug (debug files; only installed by name).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(intersession_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/intersession)
# Data symbols that only the native library defines: shim/families/families.cpp.
set(openmpi_MARK ompi_mpi_comm_null)
set(mpich_MARK MPI_UNWEIGHTED)
set(intersession_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Intersession)

# intersession_mpi_<substrate>: the overlay mpi.h, and the Intersession library before the native
# MPI library. --no-as-needed keeps both libraries in the program's NEEDED list; --as-needed drops a
# library whose symbols an earlier one defines. The overlay's include folder is not SYSTEM, so the
# compiler searches it before the folder of the native MPI. cmake/package has the installed
# counterpart, Intersession::MPI.
foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  set_target_properties(intersession_${substrate} PROPERTIES EXPORT_NAME ${substrate})
  set(INTERSESSION_OVERLAY_${substrate} ${PROJECT_BINARY_DIR}/include/intersession/${substrate})
  add_library(intersession_mpi_${substrate} INTERFACE)
  add_dependencies(intersession_mpi_${substrate} intersession_${substrate})
  target_include_directories(intersession_mpi_${substrate}
                             INTERFACE ${INTERSESSION_OVERLAY_${substrate}})
  target_include_directories(intersession_mpi_${substrate}
                             SYSTEM INTERFACE ${${substrate}_INCLUDE_DIRS})
  target_link_libraries(intersession_mpi_${substrate} INTERFACE
                        -Wl,--push-state,--no-as-needed intersession_${substrate}
                        "${${substrate}_LINK_FLAGS}" -Wl,--pop-state)
endforeach()

# intersession_script(<template> <name> <component>): make two copies of a script for bin/, one with the paths
# of the build tree and one with the paths of an installation. The paths are relative to the script,
# so the tree can be moved.
function(intersession_script template name component)
  set(INTERSESSION_INCLUDE_FROM_BIN ../include/intersession)
  set(INTERSESSION_LIB_FROM_BIN ../lib)
  set(input ${PROJECT_SOURCE_DIR}/scripts/wrappers/${template}.in)
  configure_file(${input} ${PROJECT_BINARY_DIR}/bin/${name} @ONLY)
  file(RELATIVE_PATH INTERSESSION_INCLUDE_FROM_BIN
       ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR}/intersession)
  file(RELATIVE_PATH INTERSESSION_LIB_FROM_BIN
       ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  configure_file(${input} ${PROJECT_BINARY_DIR}/install/${name} @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/install/${name} DESTINATION ${CMAKE_INSTALL_BINDIR}
          COMPONENT ${component})
endfunction()

set(INTERSESSION_ROLE cc)
set(INTERSESSION_WRAPPED mpicc)
set(INTERSESSION_WRAPPED_VARIABLE MPICC)
intersession_script(intersession-compiler intersession-cc dev)
set(INTERSESSION_ROLE cxx)
set(INTERSESSION_WRAPPED mpicxx)
set(INTERSESSION_WRAPPED_VARIABLE MPICXX)
intersession_script(intersession-compiler intersession-cxx dev)
intersession_script(intersession-run intersession-run tools)
# Files that the scripts source.
foreach(part which-mpi launch-openmpi launch-mpich)
  configure_file(${PROJECT_SOURCE_DIR}/scripts/wrappers/${part}.bash
                 ${PROJECT_BINARY_DIR}/lib/intersession/${part}.bash COPYONLY)
  install(FILES ${PROJECT_SOURCE_DIR}/scripts/wrappers/${part}.bash
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/intersession COMPONENT runtime)
endforeach()

# Tuning files of collectives (docs/user/tuning.md); the library finds them next to itself.
file(GLOB tuning_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/shim/coll/coll-tuning/*)
foreach(tuning_file IN LISTS tuning_files)
  get_filename_component(name ${tuning_file} NAME)
  configure_file(${tuning_file} ${PROJECT_BINARY_DIR}/lib/intersession/coll-tuning/${name} COPYONLY)
  install(FILES ${tuning_file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/intersession/coll-tuning
          COMPONENT runtime)
endforeach()

# lib…-link.a keeps both libraries in programs that compilers link with --as-needed.
add_custom_target(intersession_link)
foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  set(library intersession_${substrate}_link)
  add_dependencies(intersession_link ${library})
  add_library(${library} STATIC ${PROJECT_SOURCE_DIR}/cmake/package/link.c)
  target_compile_definitions(${library} PRIVATE INTERSESSION_MARK="${${substrate}_MARK}")
  set_target_properties(${library} PROPERTIES
                        OUTPUT_NAME intersession-${substrate}-link EXPORT_NAME ${substrate}_link
                        POSITION_INDEPENDENT_CODE ON
                        ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endforeach()

# intersession/phases.h, for tools that receive trace phases; the folder also has the overlays.
configure_file(${PROJECT_SOURCE_DIR}/shim/intercept/phases.h
               ${PROJECT_BINARY_DIR}/include/intersession/phases.h COPYONLY)
install(FILES ${PROJECT_SOURCE_DIR}/shim/intercept/phases.h
        DESTINATION ${intersession_include_dir} COMPONENT dev)

foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  install(TARGETS intersession_${substrate} EXPORT IntersessionTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  install(TARGETS intersession_${substrate}_link EXPORT IntersessionTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(DIRECTORY ${INTERSESSION_OVERLAY_${substrate}} DESTINATION ${intersession_include_dir}
          COMPONENT dev)
endforeach()
install(EXPORT IntersessionTargets NAMESPACE Intersession::
        DESTINATION ${intersession_package_dir} COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/IntersessionConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/install/IntersessionConfig.cmake
                              INSTALL_DESTINATION ${intersession_package_dir}
                              PATH_VARS intersession_include_dir CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/IntersessionConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/IntersessionConfig.cmake
              ${PROJECT_BINARY_DIR}/install/IntersessionConfigVersion.cmake
        DESTINATION ${intersession_package_dir} COMPONENT dev)

file(RELATIVE_PATH INTERSESSION_PREFIX_FROM_PC
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" INTERSESSION_PREFIX_FROM_PC "${INTERSESSION_PREFIX_FROM_PC}")
# intersession-<substrate>-<language>.pc requires <substrate>_PKGCONFIG_<language> of the native
# MPI.
foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  foreach(language c cxx)
    set(INTERSESSION_SUBSTRATE ${substrate})
    set(INTERSESSION_REQUIRED ${${substrate}_PKGCONFIG_${language}})
    set(name intersession-${substrate}-${language}.pc)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/package/intersession.pc.in
                   ${PROJECT_BINARY_DIR}/install/${name} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/install/${name}
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
  endforeach()
endforeach()
