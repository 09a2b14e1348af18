# SPDX-License-Identifier: BSD-3-Clause
# MPI programs of tests and examples, and the matrices of jobs (TOML, tests/harness/jobs.py) that run them.

# intersession_mpi_programs(<library> <sources>...): one program per source file and substrate, named after the file, in a folder
# of its own for each way that Intersession gets in, with the words of the matrix:
#   linked     the overlay's mpi.h, our library in front of the MPI's, as intersession-cc does it
#   preloaded  the overlay's mpi.h, only the MPI's library: what a binary that was built for a newer MPI is like
#   none       the MPI below and nothing of ours
# Targets are called <program>-<library>-<substrate>.
function(intersession_mpi_programs library)
  foreach(source IN LISTS ARGN)
    get_filename_component(program ${source} NAME_WE)
    intersession_mpi_program(${program} ${library} SOURCES ${source})
  endforeach()
endfunction()

# intersession_mpi_program(<program> <library> SOURCES <sources>... [LINK <targets>...]): the same for one program of several files.
function(intersession_mpi_program program library)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
    set(target ${program}-${library}-${substrate})
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program}
                                               RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${substrate}/${library})
    # MPI_STATUSES_IGNORE and MPI_UNWEIGHTED are addresses that GCC 12 takes for arrays too short
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-cast-function-type -Wno-stringop-overflow -Wno-stringop-overread)
    target_link_libraries(${target} PRIVATE ${arg_LINK} Threads::Threads)
    intersession_use_mpi(${target} ${library} ${substrate})
  endforeach()
endfunction()

# intersession_use_mpi(<target> <library> <substrate>): what the words above mean for the compiler and the linker.
function(intersession_use_mpi target library substrate)
  if(library STREQUAL "linked")
    target_link_libraries(${target} PRIVATE intersession_mpi_${substrate})
  elseif(library STREQUAL "preloaded")
    target_include_directories(${target} BEFORE PRIVATE ${INTERSESSION_OVERLAY_${substrate}})
    intersession_link_as_preloaded(${target} ${substrate})
  elseif(library STREQUAL "none")
    target_link_libraries(${target} PRIVATE intersession_substrate_${substrate})
  else()
    message(FATAL_ERROR "library is linked, preloaded or none, not ${library}")
  endif()
endfunction()

# intersession_link_as_preloaded(<target> <substrate>): the MPI below lacks the functions and objects of Sessions; they are looked up
# when the program starts.
function(intersession_link_as_preloaded target substrate)
  target_link_libraries(${target} PRIVATE intersession_substrate_${substrate})
  # gold leaves such symbols to the dynamic linker; ld binds them to address 0 in an executable.
  target_compile_options(${target} PRIVATE -fPIC -fno-plt)
  target_link_options(${target} PRIVATE -fuse-ld=gold -Wl,--unresolved-symbols=ignore-in-object-files)
  add_dependencies(${target} intersession_${substrate})
endfunction()

# intersession_jobs(<prefix> <table>): every job of the table as a test called <prefix>.<job>; the programs are those of the
# current folder. CMake runs again when the table or the reader of tables changes.
function(intersession_jobs prefix table)
  get_filename_component(stem ${table} NAME_WE)
  set(table ${CMAKE_CURRENT_SOURCE_DIR}/${table})
  set(commands ${CMAKE_CURRENT_BINARY_DIR}/${stem}-of-${prefix}.cmake)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/run-job --table ${table}
                          --build ${PROJECT_BINARY_DIR} --programs ${CMAKE_CURRENT_BINARY_DIR} --substrates "${INTERSESSION_SUBSTRATES}" --ctest "${prefix}."
                  OUTPUT_FILE ${commands} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB reader CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/harness/*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table} ${reader})
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${commands})
endfunction()
