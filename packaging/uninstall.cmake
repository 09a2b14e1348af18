# SPDX-License-Identifier: BSD-3-Clause
# Removes the files of the last installation from a build folder, and the folders that become empty.
# Usage: [DESTDIR=<root>] cmake -D BUILD=<build folder> -P uninstall.cmake
# An installation that was moved is removed by hand, as one folder.
file(GLOB manifests ${BUILD}/install_manifest*.txt)
if(NOT manifests)
  message(FATAL_ERROR "${BUILD} has no install_manifest.txt; nothing was installed from it")
endif()
file(READ ${BUILD}/install/prefix prefix)

set(folders)
foreach(manifest IN LISTS manifests)
  # Not file(STRINGS), which ends a line at each byte that is not ASCII.
  file(READ ${manifest} files)
  string(REPLACE ";" "\\;" files "${files}")
  string(REGEX REPLACE "\n+$" "" files "${files}")
  string(REPLACE "\n" ";" files "${files}")
  foreach(file IN LISTS files)
    string(FIND "${file}" "${prefix}/" begins)
    if(NOT begins EQUAL 0)
      message(FATAL_ERROR "${manifest} names ${file}, which is not in ${prefix}; remove the "
                          "installation by hand")
    endif()
    if(EXISTS "$ENV{DESTDIR}${file}" OR IS_SYMLINK "$ENV{DESTDIR}${file}")
      message(STATUS "Removing: $ENV{DESTDIR}${file}")
      file(REMOVE "$ENV{DESTDIR}${file}")
    endif()
    # The folders from the file up to the prefix.
    get_filename_component(folder "${file}" DIRECTORY)
    string(FIND "${folder}/" "${prefix}/" begins)
    while(begins EQUAL 0)
      list(APPEND folders "${folder}")
      get_filename_component(folder "${folder}" DIRECTORY)
      string(FIND "${folder}/" "${prefix}/" begins)
    endwhile()
  endforeach()
endforeach()

# Inner folders first. Of the system's prefixes only folders of Intersession are removed.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
  file(GLOB content "$ENV{DESTDIR}${folder}/*" "$ENV{DESTDIR}${folder}/.[!.]*")
  if(NOT content AND (NOT prefix MATCHES "^/usr(/local)?$" OR folder MATCHES "[Ii]ntersession"))
    file(REMOVE_RECURSE "$ENV{DESTDIR}${folder}")
  endif()
endforeach()
file(REMOVE ${manifests})
