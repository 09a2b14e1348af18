# SPDX-License-Identifier: BSD-3-Clause
# A room is a folder below shim/ and one static library; it links, and so may include, only rooms below it.

add_library(intersession_flags INTERFACE)
target_compile_options(intersession_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
target_include_directories(intersession_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(intersession_flags SYSTEM INTERFACE ${EXPECTED_INCLUDE_DIR} ${BOOST_INTRUSIVE_INCLUDE_DIR})
target_link_libraries(intersession_flags INTERFACE Threads::Threads)
if(INTERSESSION_SANITIZE)
  target_compile_options(intersession_flags INTERFACE -fsanitize=${INTERSESSION_SANITIZE} -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=all)
  target_link_options(intersession_flags INTERFACE -fsanitize=${INTERSESSION_SANITIZE})
endif()

# intersession_room(<name> [BELOW <rooms>...] [HEADERS <targets or folders>...]): all .cpp files of shim/<name>,
# but for a program's main.cpp.
function(intersession_room name)
  cmake_parse_arguments(arg "" "" "BELOW;SYSTEM_INCLUDES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(intersession_${name} STATIC ${sources})
  target_link_libraries(intersession_${name} PUBLIC intersession_flags)
  foreach(below IN LISTS arg_BELOW)
    target_link_libraries(intersession_${name} PUBLIC intersession_${below})
  endforeach()
  target_include_directories(intersession_${name} SYSTEM PRIVATE ${arg_SYSTEM_INCLUDES})
endfunction()

# The presets' tests run in one ctest; their names tell them apart.
string(REPLACE "," "-" INTERSESSION_TEST_PREFIX "${INTERSESSION_SANITIZE}")
string(REGEX REPLACE "(.)$" "\\1." INTERSESSION_TEST_PREFIX "${INTERSESSION_TEST_PREFIX}")

# intersession_unit_tests(<room> [LINK <targets>...] [FOLDERS <folders>...]): the *_test.cpp of this folder, or of those named, as
# one GoogleTest program, each test a ctest.
function(intersession_unit_tests room)
  cmake_parse_arguments(arg "" "" "LINK;FOLDERS" ${ARGN})
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*_test.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(NOT sources)
    return()
  endif()
  add_executable(${room}_test ${sources})
  target_link_libraries(${room}_test PRIVATE intersession_${room} ${arg_LINK} GTest::gmock GTest::gtest_main
                                             ${CMAKE_DL_LIBS})
  include(GoogleTest)
  gtest_discover_tests(${room}_test TEST_PREFIX ${INTERSESSION_TEST_PREFIX}unit.${room}. PROPERTIES TIMEOUT 60 LABELS unit
                       DISCOVERY_TIMEOUT 60)
endfunction()
