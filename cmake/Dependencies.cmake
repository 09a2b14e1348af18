# SPDX-License-Identifier: BSD-3-Clause
# Finds the packages that Intersession is built with.

# intersession_require(<found> <package>): stop the configuration if the variable <found> is false.
function(intersession_require found package)
  if(NOT ${found})
    message(FATAL_ERROR "Intersession needs ${package}, which is not installed. "
                        "On Debian: apt-get install ${package}")
  endif()
endfunction()

find_package(Python3 3.9 COMPONENTS Interpreter)
intersession_require(Python3_FOUND python3)
find_package(Threads REQUIRED)
find_package(PkgConfig)
intersession_require(PKG_CONFIG_FOUND pkg-config)

find_path(EXPECTED_INCLUDE_DIR tl/expected.hpp)
intersession_require(EXPECTED_INCLUDE_DIR libexpected-dev)
find_path(BOOST_INTRUSIVE_INCLUDE_DIR boost/intrusive/list.hpp)
intersession_require(BOOST_INTRUSIVE_INCLUDE_DIR libboost-dev)

# Only the headers of libfabric, PMIx and hwloc are used: the libraries are loaded on first use.
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
intersession_require(HWLOC_FOUND libhwloc-dev)
pkg_check_modules(LIBFABRIC IMPORTED_TARGET libfabric)
intersession_require(LIBFABRIC_FOUND libfabric-dev)

# Debian installs pmix.pc in a folder that pkg-config does not search.
file(GLOB pmix_pc_dirs /usr/lib/*/pmix*/lib/pkgconfig /usr/lib/*/pmix*/pkgconfig)
list(JOIN pmix_pc_dirs ":" pmix_pc_path)
set(ENV{PKG_CONFIG_PATH} "$ENV{PKG_CONFIG_PATH}:${pmix_pc_path}")
pkg_check_modules(PMIX IMPORTED_TARGET pmix)
intersession_require(PMIX_FOUND libpmix-dev)
# Debian 11's pmix.pc names a folder without the headers.
file(GLOB pmix_folders /usr/lib/*/pmix*/include)
find_path(PMIX_HEADERS pmix_common.h HINTS ${PMIX_INCLUDE_DIRS} PATHS ${pmix_folders})
intersession_require(PMIX_HEADERS libpmix-dev)
list(APPEND PMIX_INCLUDE_DIRS ${PMIX_HEADERS})

# The example heat needs libpng; the tests need all examples and GoogleTest.
find_package(PNG)
if(INTERSESSION_TESTS)
  find_package(GTest CONFIG)  # FindGTest has GTest::gmock since CMake 3.23
  if(NOT PNG_FOUND OR NOT GTest_FOUND)
    message(NOTICE "Tests: no target tests, because libpng or GoogleTest is not installed "
                   "(on Debian: scripts/install-dependencies)")
    set(INTERSESSION_TESTS OFF)
  endif()
endif()
