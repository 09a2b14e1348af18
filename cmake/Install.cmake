# SPDX-License-Identifier: BSD-3-Clause
# What users get: the library, the overlay's mpi.h, the compiler wrappers and intersession-run, a CMake package and a
# pkg-config file. The build tree has the same layout (bin, include, lib), so that all of it works there without installing.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(intersession_include_dir ${CMAKE_INSTALL_INCLUDEDIR}/intersession)
set(intersession_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Intersession)

# intersession_mpi_<substrate>: the overlay's mpi.h and our library in front of the MPI's own. Both libraries stay needed by the
# program even under a linker that drops a library whose symbols an earlier one has already given. (cmake/package has the
# installed twin, Intersession::MPI; the include folder is no SYSTEM one, so that it comes before the MPI's.)
foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  set_target_properties(intersession_${substrate} PROPERTIES EXPORT_NAME ${substrate})
  set(INTERSESSION_OVERLAY_${substrate} ${PROJECT_BINARY_DIR}/include/intersession/${substrate})
  add_library(intersession_mpi_${substrate} INTERFACE)
  add_dependencies(intersession_mpi_${substrate} intersession_${substrate})
  target_include_directories(intersession_mpi_${substrate} INTERFACE ${INTERSESSION_OVERLAY_${substrate}})
  target_include_directories(intersession_mpi_${substrate} SYSTEM INTERFACE ${${substrate}_INCLUDE_DIRS})
  target_link_libraries(intersession_mpi_${substrate} INTERFACE -Wl,--push-state,--no-as-needed intersession_${substrate}
                                                                "${${substrate}_LINK_FLAGS}" -Wl,--pop-state)
endforeach()

# intersession_script(<template> <name>): makes a script for bin/, once with the paths of the build tree, once with those of
# an installation; both are relative to the script, so that the tree may be moved.
function(intersession_script template name)
  set(INTERSESSION_INCLUDE_FROM_BIN ../include/intersession)
  set(INTERSESSION_LIB_FROM_BIN ../lib)
  configure_file(${PROJECT_SOURCE_DIR}/scripts/wrappers/${template}.in ${PROJECT_BINARY_DIR}/bin/${name} @ONLY
                 USE_SOURCE_PERMISSIONS)
  file(RELATIVE_PATH INTERSESSION_INCLUDE_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR}/intersession)
  file(RELATIVE_PATH INTERSESSION_LIB_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  configure_file(${PROJECT_SOURCE_DIR}/scripts/wrappers/${template}.in ${PROJECT_BINARY_DIR}/install/${name} @ONLY
                 USE_SOURCE_PERMISSIONS)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/install/${name} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

set(INTERSESSION_ROLE cc)
set(INTERSESSION_WRAPPED mpicc)
set(INTERSESSION_WRAPPED_VARIABLE MPICC)
intersession_script(intersession-compiler intersession-cc)
set(INTERSESSION_ROLE cxx)
set(INTERSESSION_WRAPPED mpicxx)
set(INTERSESSION_WRAPPED_VARIABLE MPICXX)
intersession_script(intersession-compiler intersession-cxx)
intersession_script(intersession-run intersession-run)
# What the scripts have in common.
foreach(part which-mpi launch-openmpi launch-mpich)
  configure_file(${PROJECT_SOURCE_DIR}/scripts/wrappers/${part}.bash ${PROJECT_BINARY_DIR}/lib/intersession/${part}.bash COPYONLY)
  install(FILES ${PROJECT_SOURCE_DIR}/scripts/wrappers/${part}.bash DESTINATION ${CMAKE_INSTALL_LIBDIR}/intersession)
endforeach()

# For tools that listen to phases: intersession/phases.h, below the folder that has the overlays, too.
configure_file(${PROJECT_SOURCE_DIR}/shim/intercept/phases.h ${PROJECT_BINARY_DIR}/include/intersession/phases.h COPYONLY)
install(FILES ${PROJECT_SOURCE_DIR}/shim/intercept/phases.h DESTINATION ${intersession_include_dir})

foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  install(TARGETS intersession_${substrate} EXPORT IntersessionTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${INTERSESSION_OVERLAY_${substrate}} DESTINATION ${intersession_include_dir})
endforeach()
install(EXPORT IntersessionTargets NAMESPACE Intersession:: DESTINATION ${intersession_package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/package/IntersessionConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/install/IntersessionConfig.cmake
                              INSTALL_DESTINATION ${intersession_package_dir} PATH_VARS intersession_include_dir)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/IntersessionConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/install/IntersessionConfig.cmake
              ${PROJECT_BINARY_DIR}/install/IntersessionConfigVersion.cmake DESTINATION ${intersession_package_dir})

file(RELATIVE_PATH INTERSESSION_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
# intersession-<substrate>-<language>.pc, which is built on the MPI's own <..._PKGCONFIG_<language>>.
foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  foreach(language c cxx)
    set(INTERSESSION_SUBSTRATE ${substrate})
    set(INTERSESSION_REQUIRED ${${substrate}_PKGCONFIG_${language}})
    set(name intersession-${substrate}-${language}.pc)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/package/intersession.pc.in ${PROJECT_BINARY_DIR}/install/${name} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/install/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endforeach()
endforeach()
