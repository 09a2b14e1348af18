# SPDX-License-Identifier: BSD-3-Clause
# The tests of a GoogleTest program, for ctest: one for each suite, or for each value of its parameter that has a name. A process for each test
# would spend most of its time beginning, above all under a sanitizer and where a test needs libfabric; which of them failed GoogleTest says.

# intersession_suites(<target> <kind> <label>): found when the program has been built. Each is called <kind>.<suite>, behind the name of
# the sanitizer where there is one.
function(intersession_suites target kind label)
  set(tests ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  set(script ${PROJECT_SOURCE_DIR}/cmake/list_suites.cmake)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${tests} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${target}> -D PREFIX=${INTERSESSION_TEST_PREFIX}${kind}
                                              -D LABEL=${label} -D OUTPUT=${tests} -P ${script})
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${tests})
endfunction()
