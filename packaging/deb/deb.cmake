# SPDX-License-Identifier: BSD-3-Clause
# Debian packages of the components, made by cpack -G DEB (scripts/package): intersession,
# intersession-dev, intersession-tools, intersession-dbgsym.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME intersession)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "The Intersession authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_COMPONENTS_ALL runtime dev tools debug)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# The project has an issue tracker and no mail address.
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The Intersession authors")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(intersession_same_version "intersession (= ${PROJECT_VERSION}-1)")
set(intersession_about
"Intersession adds the Sessions model of MPI-4 to Open MPI and to libraries
with the ABI of MPICH. It is preloaded into a program, or linked in front of
its MPI library; the MPI library and its world model remain as they are.
")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME intersession)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS
    "libopenmpi3 | libopenmpi40 | libmpich12, libpmix2 | libpmix2t64, libssl3 | libssl3t64 | libssl1.1")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS
    "libfabric1, libhwloc15, intersession-tools, intersession-dev")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${intersession_about}
This package has the libraries.
")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME intersession-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "${intersession_same_version}, libopenmpi-dev | libmpich-dev | mpi-default-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "${intersession_about}
This package has headers, compiler wrappers, and files for CMake and
pkg-config.
")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME intersession-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${intersession_same_version}, python3:any")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "openmpi-bin | mpich")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "${intersession_about}
This package has intersession-run, which preloads the library into a job,
intersession-info, which prints what the library finds, and
intersession-timeline, which records and draws the start-up of a job.
")

set(CPACK_DEBIAN_DEBUG_PACKAGE_NAME intersession-dbgsym)
set(CPACK_DEBIAN_DEBUG_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DEBUG_PACKAGE_DEPENDS "${intersession_same_version}")
set(CPACK_DEBIAN_DEBUG_PACKAGE_RECOMMENDS "intersession-tools (= ${PROJECT_VERSION}-1)")
set(CPACK_COMPONENT_DEBUG_DESCRIPTION "${intersession_about}
This package has the debug files.
")

# Files of the packages only: cpack installs each component by name.
set(deb ${PROJECT_BINARY_DIR}/install/deb)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
string(REGEX REPLACE "\n" "\n " license "${license}")
string(REGEX REPLACE "\n *\n" "\n .\n" license "${license}")
string(REGEX REPLACE "\n *\n" "\n .\n" license "${license}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright.in ${deb}/copyright @ONLY)
execute_process(COMMAND date --utc --date=${release} --rfc-email OUTPUT_VARIABLE INTERSESSION_DEB_DATE
                OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(${CMAKE_CURRENT_LIST_DIR}/changelog.in ${deb}/changelog.Debian @ONLY)
foreach(component runtime dev tools debug)
  string(TOUPPER ${component} upper)
  set(name ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${deb}/copyright DESTINATION ${doc} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(CODE "execute_process(INPUT_FILE ${deb}/changelog.Debian COMMAND gzip -9n
    OUTPUT_FILE ${deb}/changelog.Debian.gz)" COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${deb}/changelog.Debian.gz DESTINATION ${doc} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/${name}.lintian-overrides
          DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides RENAME ${name}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()
include(CPack)
