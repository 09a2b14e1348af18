# SPDX-License-Identifier: BSD-3-Clause
# Writes version.cpp if its text has changed; runs in each build.
# Usage: cmake -D SOURCE=<folder> -D VERSION=<version> -D OUTPUT=<file> -P write_version.cmake
include(${CMAKE_CURRENT_LIST_DIR}/git_commit.cmake)
intersession_version_text(${SOURCE} ${VERSION} INTERSESSION_VERSION_TEXT commit)
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.cpp.in ${OUTPUT} @ONLY)
