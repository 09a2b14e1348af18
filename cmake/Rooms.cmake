# SPDX-License-Identifier: BSD-3-Clause
# A room is a folder below shim/ and one static library; it links, and so may include, only rooms below it.

add_library(intersession_flags INTERFACE)
target_compile_options(intersession_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
target_include_directories(intersession_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(intersession_flags SYSTEM INTERFACE ${EXPECTED_INCLUDE_DIR} ${BOOST_INTRUSIVE_INCLUDE_DIR})
target_link_libraries(intersession_flags INTERFACE Threads::Threads)
if(INTERSESSION_BATCH GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc takes a file that is compiled with others for a header, whose anonymous namespaces would be a mistake.
  target_compile_options(intersession_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(INTERSESSION_SANITIZE)
  target_compile_options(intersession_flags INTERFACE -fsanitize=${INTERSESSION_SANITIZE} -fno-omit-frame-pointer
                                                      -fno-sanitize-recover=all)
  target_link_options(intersession_flags INTERFACE -fsanitize=${INTERSESSION_SANITIZE})
endif()

# Tests leave out the checks of each pointer, a third of the time they take to compile: that one points somewhere, and is aligned. Rooms
# have them all.
add_library(intersession_test_flags INTERFACE)
if(INTERSESSION_SANITIZE MATCHES "undefined")
  target_compile_options(intersession_test_flags INTERFACE -fno-sanitize=null,alignment,object-size)
endif()

# intersession_in_batches(<target> [ALONE <files>...]): the presets compile so many files of a target as one: much of the time of
# a cold build is the same headers. `ALONE` are files with names of their own that others have, too.
function(intersession_in_batches target)
  cmake_parse_arguments(arg "" "" "ALONE" ${ARGN})
  if(INTERSESSION_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${INTERSESSION_BATCH})
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# intersession_room(<name> [BELOW <rooms>...] [SYSTEM_INCLUDES <folders>...] [ALONE <files>...]): all .cpp files of shim/<name>,
# but for a program's main.cpp.
function(intersession_room name)
  cmake_parse_arguments(arg "" "" "BELOW;SYSTEM_INCLUDES;ALONE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(intersession_${name} STATIC ${sources})
  target_link_libraries(intersession_${name} PUBLIC intersession_flags)
  foreach(below IN LISTS arg_BELOW)
    target_link_libraries(intersession_${name} PUBLIC intersession_${below})
  endforeach()
  target_include_directories(intersession_${name} SYSTEM PRIVATE ${arg_SYSTEM_INCLUDES})
  intersession_in_batches(intersession_${name} ALONE ${arg_ALONE})
endfunction()

# The presets' tests run in one ctest; their names tell them apart.
string(REPLACE "," "-" INTERSESSION_TEST_PREFIX "${INTERSESSION_SANITIZE}")
string(REGEX REPLACE "(.)$" "\\1." INTERSESSION_TEST_PREFIX "${INTERSESSION_TEST_PREFIX}")

# intersession_unit_tests(<room> [LINK <targets>...] [FOLDERS <folders>...] [ALONE <files>...] [ONE_THREAD <names>...]): the *_test.cpp of
# this folder, or of those named, as one GoogleTest program, each suite a ctest. Where all tests of <name>_test.cpp have one thread,
# there is nothing for the thread sanitizer to see, whose preset leaves them out.
function(intersession_unit_tests room)
  cmake_parse_arguments(arg "" "" "LINK;FOLDERS;ALONE;ONE_THREAD" ${ARGN})
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*_test.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(INTERSESSION_SANITIZE STREQUAL thread AND arg_ONE_THREAD)
    list(JOIN arg_ONE_THREAD "|" names)
    list(FILTER sources EXCLUDE REGEX "/(${names})_test\\.cpp$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${room}_test ${sources})
  intersession_in_batches(${room}_test ALONE ${arg_ALONE})
  target_link_libraries(${room}_test PRIVATE intersession_${room} ${arg_LINK} intersession_test_flags GTest::gmock GTest::gtest_main
                                             ${CMAKE_DL_LIBS})
  intersession_suites(${room}_test unit.${room} unit)
endfunction()
