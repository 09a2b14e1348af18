# SPDX-License-Identifier: BSD-3-Clause
# Sets INTERSESSION_VERSION_TEXT, version and commit at configure time, for scripts, and adds the
# target intersession_version: a library with version and commit at build time. A new commit
# recompiles one source, and relinks the programs and libraries that contain it.
include(git_commit)
intersession_version_text(${PROJECT_SOURCE_DIR} ${PROJECT_VERSION} INTERSESSION_VERSION_TEXT
                          INTERSESSION_COMMIT)

set(intersession_version_source ${PROJECT_BINARY_DIR}/generated/version.cpp)
add_custom_target(intersession_write_version BYPRODUCTS ${intersession_version_source} VERBATIM
                  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR}
                          -D VERSION=${PROJECT_VERSION} -D OUTPUT=${intersession_version_source}
                          -P ${PROJECT_SOURCE_DIR}/cmake/write_version.cmake)
add_library(intersession_version STATIC ${intersession_version_source})
add_dependencies(intersession_version intersession_write_version)
target_link_libraries(intersession_version PUBLIC intersession_flags)
