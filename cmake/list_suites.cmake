# SPDX-License-Identifier: BSD-3-Clause
# Lists the tests of PROGRAM, which EMULATOR runs if it is given, and writes OUTPUT, a file for ctest
# with one test for each suite. intersession_suites runs it. In the list, a suite begins in the first
# column, its tests are indented, and the values of parameters follow "#".
execute_process(COMMAND ${EMULATOR} ${PROGRAM} --gtest_list_tests
                OUTPUT_VARIABLE lines RESULT_VARIABLE result TIMEOUT 60)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests: exit code ${result}")
endif()
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
  message(FATAL_ERROR "${PROGRAM}: lists no tests: ${lines}")
endif()

# FI_OFI_RXM_MSG_RX_SIZE: by default libfabric's rxm allocates 128 receive buffers of 16 KiB for
# each connection, which takes most of the time of a test over it.
set(properties TIMEOUT 600 LABELS ${LABEL} ENVIRONMENT FI_OFI_RXM_MSG_RX_SIZE=16)
set(command "")
foreach(word IN LISTS EMULATOR PROGRAM)
  string(APPEND command " [==[${word}]==]")
endforeach()
set(text "")
foreach(filter IN LISTS filters)
  string(REPLACE ".*" "" name "${PREFIX}.${filter}")
  string(APPEND text "add_test(${name}${command} --gtest_filter=${filter})\n"
                     "set_tests_properties(${name} PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
