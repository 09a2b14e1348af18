# SPDX-License-Identifier: BSD-3-Clause
# Finds the packages that Intersession is built with.

# intersession_require(<found> <what> <package>): stop the configuration if the variable <found> is
# false; <package> of Debian contains <what>.
function(intersession_require found what package)
  if(NOT ${found})
    message(FATAL_ERROR "Intersession needs ${what}, which was not found. "
                        "On Debian: apt-get install ${package}")
  endif()
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 10)
  message(FATAL_ERROR "Intersession needs GCC 10 or newer, for C++20; ${CMAKE_CXX_COMPILER} is GCC "
                      "${CMAKE_CXX_COMPILER_VERSION}. Set CMAKE_C_COMPILER and CMAKE_CXX_COMPILER")
endif()
find_package(Python3 3.9 COMPONENTS Interpreter)
intersession_require(Python3_FOUND "Python 3.9 or newer" python3)
find_package(Threads REQUIRED)
find_package(PkgConfig)
intersession_require(PKG_CONFIG_FOUND pkg-config pkg-config)

find_path(EXPECTED_INCLUDE_DIR tl/expected.hpp)
intersession_require(EXPECTED_INCLUDE_DIR "tl::expected (tl/expected.hpp)" libexpected-dev)
find_path(BOOST_INTRUSIVE_INCLUDE_DIR boost/intrusive/list.hpp)
intersession_require(BOOST_INTRUSIVE_INCLUDE_DIR "Boost (boost/intrusive/list.hpp)" libboost-dev)

# Only the headers of libfabric, PMIx and hwloc are used: the libraries are loaded on first use.
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
intersession_require(HWLOC_FOUND "hwloc (hwloc.pc for pkg-config)" libhwloc-dev)
pkg_check_modules(LIBFABRIC IMPORTED_TARGET libfabric)
intersession_require(LIBFABRIC_FOUND "libfabric (libfabric.pc for pkg-config)" libfabric-dev)

# Debian installs pmix.pc in a folder that pkg-config does not search.
file(GLOB pmix_pc_dirs /usr/lib/*/pmix*/lib/pkgconfig /usr/lib/*/pmix*/pkgconfig)
list(JOIN pmix_pc_dirs ":" pmix_pc_path)
set(ENV{PKG_CONFIG_PATH} "$ENV{PKG_CONFIG_PATH}:${pmix_pc_path}")
pkg_check_modules(PMIX IMPORTED_TARGET pmix)
intersession_require(PMIX_FOUND "PMIx (pmix.pc for pkg-config)" libpmix-dev)
# Debian 11's pmix.pc names a folder without the headers.
file(GLOB pmix_folders /usr/lib/*/pmix*/include)
find_path(PMIX_HEADERS pmix_common.h HINTS ${PMIX_INCLUDE_DIRS} PATHS ${pmix_folders})
intersession_require(PMIX_HEADERS "PMIx (pmix_common.h)" libpmix-dev)
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
