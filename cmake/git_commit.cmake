# SPDX-License-Identifier: BSD-3-Clause
# intersession_version_text(<source> <version> <text> <commit>): set <text> to the version with the
# commit of the repository in the folder <source>, for example "0.2.0 (commit 0123456789ab)", and
# <commit> to the commit. Without such a repository, as in an unpacked archive, also below a folder
# of another repository, <text> is the version and <commit> is empty.
function(intersession_version_text source version text commit)
  set(found "")
  set(shown ${version})
  get_filename_component(source ${source} REALPATH)
  find_program(INTERSESSION_GIT git)
  if(INTERSESSION_GIT)
    execute_process(COMMAND ${INTERSESSION_GIT} -C ${source} rev-parse --show-toplevel --short=12 HEAD
                    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                    RESULT_VARIABLE result)
    string(REPLACE "\n" ";" lines "${lines}")
    list(LENGTH lines count)
    if(result EQUAL 0 AND count EQUAL 2)
      list(GET lines 0 top)
      if(top STREQUAL source)
        list(GET lines 1 found)
        set(shown "${version} (commit ${found})")
      endif()
    endif()
  endif()
  set(${text} "${shown}" PARENT_SCOPE)
  set(${commit} "${found}" PARENT_SCOPE)
endfunction()
