# SPDX-License-Identifier: BSD-3-Clause
# Run by intersession_suites: asks PROGRAM for its tests, and writes a file for ctest, OUTPUT, with what is to be run in one process. A suite
# is a line that begins at the margin, its tests follow; what their parameters are is a remark.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY TIMEOUT 60)
string(REGEX REPLACE " +#[^\n]*" "" lines "${lines}")
string(REGEX MATCHALL "[^\n]+" lines "${lines}")
set(filters "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
  elseif(line MATCHES "^  [^/]+/([A-Za-z_].*)$")
    list(APPEND filters "${suite}.*/${CMAKE_MATCH_1}")
  elseif(line MATCHES "^  ")
    list(APPEND filters "${suite}.*")
  endif()
endforeach()
list(REMOVE_DUPLICATES filters)
if(NOT filters)
  message(FATAL_ERROR "${PROGRAM} names no tests: ${lines}")
endif()

# Of libfabric's rxm, each connection otherwise has 128 buffers of 16 KiB to receive into, which is most of the time of a test over it.
set(properties TIMEOUT 600 LABELS ${LABEL} ENVIRONMENT FI_OFI_RXM_MSG_RX_SIZE=16)
set(text "")
foreach(filter IN LISTS filters)
  string(REPLACE ".*" "" name "${PREFIX}.${filter}")
  string(APPEND text "add_test(${name} [==[${PROGRAM}]==] --gtest_filter=${filter})\nset_tests_properties(${name} PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
