# SPDX-License-Identifier: BSD-3-Clause
# Adds the suites of a GoogleTest program as tests of ctest. A process for each single test would
# spend most of its time on start-up, above all under a sanitizer or with libfabric; the output of
# GoogleTest names the tests that fail.

# intersession_include_tests(<file> <name>): let ctest read the tests in <file>, which the build
# writes. Until then, ctest runs a test <name>_NOT_BUILT, which fails.
function(intersession_include_tests file name)
  if(NOT EXISTS ${file})
    file(WRITE ${file} "add_test(${name}_NOT_BUILT ${name}_NOT_BUILT)\n")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# intersession_suites(<target> <kind> <label>): add one test for each suite, or for each named value
# of its parameter, after the program is built. The name is <kind>.<suite>, with the name of the
# sanitizer, if any, as prefix.
function(intersession_suites target kind label)
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  set(script ${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${tests} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}>
                                              -D "EMULATOR=${CMAKE_CROSSCOMPILING_EMULATOR}"
                                              -D PREFIX=${INTERSESSION_TEST_PREFIX}${kind}
                                              -D LABEL=${label} -D OUTPUT=${tests} -P ${script})
  intersession_include_tests(${tests} ${INTERSESSION_TEST_PREFIX}${kind})
endfunction()
