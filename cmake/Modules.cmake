# SPDX-License-Identifier: BSD-3-Clause
# Builds the modules and their unit tests. A module is a folder of shim/ and one static library; it
# links and includes only lower modules.

add_library(intersession_flags INTERFACE)
target_compile_options(intersession_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                                                    -Wno-missing-field-initializers)
target_include_directories(intersession_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_include_directories(intersession_flags SYSTEM INTERFACE
                           ${EXPECTED_INCLUDE_DIR} ${BOOST_INTRUSIVE_INCLUDE_DIR})
target_link_libraries(intersession_flags INTERFACE Threads::Threads)
if(INTERSESSION_BATCH GREATER 1 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc treats the files of a unity build as headers and warns of their anonymous namespaces.
  target_compile_options(intersession_flags INTERFACE
                         $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  # GCC 10 takes classes with initialized members for non-trivial, also if they can be copied as bytes.
  target_compile_options(intersession_flags INTERFACE
                         "$<$<COMPILE_LANGUAGE:CXX>:-fcoroutines;-Wno-class-memaccess>")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Places of variables in optimized code, which gdb shows, take a quarter of the compile time.
  target_compile_options(intersession_flags INTERFACE -fno-var-tracking-assignments)
endif()
if(INTERSESSION_SANITIZE)
  target_compile_options(intersession_flags INTERFACE
                         -fsanitize=${INTERSESSION_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(intersession_flags INTERFACE -fsanitize=${INTERSESSION_SANITIZE})
endif()

# Test sources omit the sanitizer's pointer checks (null, alignment, object size), which take a
# third of their compile time. Modules have all checks.
add_library(intersession_test_flags INTERFACE)
if(INTERSESSION_SANITIZE MATCHES "undefined")
  target_compile_options(intersession_test_flags INTERFACE -fno-sanitize=null,alignment,object-size)
endif()

# intersession_in_batches(<target> [ALONE <files>...]): compile INTERSESSION_BATCH files of a target
# in one compiler run (unity build), because headers take much of the time of a cold build. ALONE:
# files that define names which other files of the target also define.
function(intersession_in_batches target)
  cmake_parse_arguments(arg "" "" "ALONE" ${ARGN})
  if(INTERSESSION_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${INTERSESSION_BATCH})
    set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# intersession_inline_growth(<target> <percent>): let GCC inline until a batch of files has grown by
# this much. At its default of 40 the functions that stay calls depend on the files that share the
# batch, and a rename can slow short messages down (docs/decisions/0062-inlining-in-batches.md).
function(intersession_inline_growth target percent)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT INTERSESSION_SANITIZE)
    target_compile_options(${target} PRIVATE
                           $<$<COMPILE_LANGUAGE:CXX>:--param=inline-unit-growth=${percent}>)
  endif()
endfunction()

# intersession_target_of_folder(<name> <folders>...): add a target that builds all targets of these
# folders and of the folders in them.
function(intersession_target_of_folder name)
  add_custom_target(${name})
  set(folders ${ARGN})
  list(TRANSFORM folders PREPEND ${PROJECT_SOURCE_DIR}/)
  while(folders)
    list(POP_FRONT folders folder)
    get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${inner})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_property(type TARGET ${target} PROPERTY TYPE)
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        add_dependencies(${name} ${target})
      endif()
    endforeach()
  endwhile()
endfunction()

# intersession_module(<name> [DEPENDS <modules>...] [SYSTEM_INCLUDES <folders>...] [ALONE
# <files>...]): build a static library from all .cpp files of shim/<name> except main.cpp.
function(intersession_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;SYSTEM_INCLUDES;ALONE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(intersession_${name} STATIC ${sources})
  target_link_libraries(intersession_${name} PUBLIC intersession_flags)
  foreach(dependency IN LISTS arg_DEPENDS)
    target_link_libraries(intersession_${name} PUBLIC intersession_${dependency})
  endforeach()
  target_include_directories(intersession_${name} SYSTEM PRIVATE ${arg_SYSTEM_INCLUDES})
  intersession_in_batches(intersession_${name} ALONE ${arg_ALONE})
  if(name MATCHES "^(base|types|node|transport|p2p|coll)$") # on the path of messages
    intersession_inline_growth(intersession_${name} 200)
  endif()
endfunction()

# One ctest run covers all presets; a prefix distinguishes the names of their tests.
string(REPLACE "," "-" INTERSESSION_TEST_PREFIX "${INTERSESSION_SANITIZE}")
string(REGEX REPLACE "(.)$" "\\1." INTERSESSION_TEST_PREFIX "${INTERSESSION_TEST_PREFIX}")

# intersession_unit_tests(<module> [LINK <targets>...] [FOLDERS <folders>...] [ALONE <files>...]
#                         [ONE_THREAD <names>...]):
# build the *_test.cpp of this folder, or of FOLDERS, as one GoogleTest program; each suite is a
# ctest. ONE_THREAD: the tests of <name>_test.cpp use one thread, so the tsan preset omits them.
function(intersession_unit_tests module)
  cmake_parse_arguments(arg "" "" "LINK;FOLDERS;ALONE;ONE_THREAD" ${ARGN})
  if(NOT arg_FOLDERS)
    set(arg_FOLDERS .)
  endif()
  list(TRANSFORM arg_FOLDERS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*_test.cpp"
       OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  if(INTERSESSION_SANITIZE STREQUAL thread AND arg_ONE_THREAD)
    list(JOIN arg_ONE_THREAD "|" names)
    list(FILTER sources EXCLUDE REGEX "/(${names})_test\\.cpp$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_executable(${module}_test ${sources})
  intersession_in_batches(${module}_test ALONE ${arg_ALONE})
  target_link_libraries(${module}_test PRIVATE intersession_${module} ${arg_LINK}
                                               intersession_test_flags GTest::gmock
                                               GTest::gtest_main ${CMAKE_DL_LIBS})
  intersession_suites(${module}_test unit.${module} unit)
endfunction()
