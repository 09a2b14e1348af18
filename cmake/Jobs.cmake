# SPDX-License-Identifier: BSD-3-Clause
# Builds the MPI programs of tests and examples, and adds the job tables that run them as tests
# (TOML, tests/harness/jobs.py).

# GCC 12 takes the addresses MPI_STATUSES_IGNORE and MPI_UNWEIGHTED for arrays that are too short.
set(INTERSESSION_NO_ARRAY_WARNINGS
    $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-stringop-overflow;-Wno-stringop-overread>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow;-Wno-stringop-overread>)

# intersession_mpi_programs(<library> <sources>...): build one program per source file and
# substrate, named after the file. <library> is the column of the job tables:
#   linked     the overlay mpi.h, and the Intersession library before the MPI library, as
#              intersession-cc does
#   preloaded  the overlay mpi.h and only the MPI library, like a binary built for a newer MPI
#   none       the native MPI without Intersession
# Targets are named <program>-<library>-<substrate>; programs are in <substrate>/<library>/.
function(intersession_mpi_programs library)
  foreach(source IN LISTS ARGN)
    get_filename_component(program ${source} NAME_WE)
    intersession_mpi_program(${program} ${library} SOURCES ${source})
  endforeach()
endfunction()

# intersession_mpi_program(<program> <library> SOURCES <sources>... [LINK <targets>...]): build one
# program from several files, for each substrate.
function(intersession_mpi_program program library)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
    set(target ${program}-${library}-${substrate})
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY
                                               ${CMAKE_CURRENT_BINARY_DIR}/${substrate}/${library})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-cast-function-type
                                             ${INTERSESSION_NO_ARRAY_WARNINGS})
    target_link_libraries(${target} PRIVATE ${arg_LINK} Threads::Threads ${CMAKE_DL_LIBS})
    intersession_use_mpi(${target} ${library} ${substrate})
  endforeach()
endfunction()

# intersession_use_mpi(<target> <library> <substrate>): set the compiler and linker options of a
# <library> (see intersession_mpi_programs).
function(intersession_use_mpi target library substrate)
  if(library STREQUAL "linked")
    target_link_libraries(${target} PRIVATE intersession_mpi_${substrate})
  elseif(library STREQUAL "preloaded")
    target_include_directories(${target} BEFORE PRIVATE ${INTERSESSION_OVERLAY_${substrate}})
    intersession_link_as_preloaded(${target} ${substrate})
  elseif(library STREQUAL "none")
    target_link_libraries(${target} PRIVATE intersession_substrate_${substrate})
  else()
    message(FATAL_ERROR "${target}: unknown library (${library}); use linked, preloaded or none")
  endif()
endfunction()

# intersession_link_as_preloaded(<target> <substrate>): link with the native MPI alone, and leave
# the functions and objects of Sessions to the dynamic linker.
function(intersession_link_as_preloaded target substrate)
  target_link_libraries(${target} PRIVATE intersession_substrate_${substrate})
  # gold leaves unresolved symbols to the dynamic linker; ld binds them to address 0.
  target_compile_options(${target} PRIVATE -fPIC -fno-plt)
  target_link_options(${target} PRIVATE -fuse-ld=gold -Wl,--unresolved-symbols=ignore-in-object-files)
  add_dependencies(${target} intersession_${substrate})
endfunction()

# intersession_jobs(<prefix> <table>): add each job of the table as the test <prefix>.<job>. The
# programs are in the current binary folder. The build writes the tests, and again when the table or
# tests/harness changes. The target jobs-of-<prefix>-<table> builds what the jobs of the table need.
function(intersession_jobs prefix table)
  get_filename_component(stem ${table} NAME_WE)
  set(table ${CMAKE_CURRENT_SOURCE_DIR}/${table})
  set(commands ${CMAKE_CURRENT_BINARY_DIR}/${stem}-of-${prefix}.cmake)
  set(substrates ${INTERSESSION_SUBSTRATES})
  list(TRANSFORM substrates REPLACE "(.+)" "\\1@\${\\1_VERSION}")
  string(CONFIGURE "${substrates}" substrates)
  file(GLOB reader CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/harness/*.py)
  add_custom_command(OUTPUT ${commands} DEPENDS ${table} ${reader} VERBATIM
                     COMMENT "Listing the jobs of ${prefix}/${stem}"
                     COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/run-job --table ${table}
                             --build ${PROJECT_BINARY_DIR} --programs ${CMAKE_CURRENT_BINARY_DIR}
                             --substrates "${substrates}" --ctest ${prefix}. --output ${commands})
  add_custom_target(jobs-of-${prefix}-${stem} DEPENDS ${commands})
  intersession_programs_of(jobs-of-${prefix}-${stem} ${table})
  intersession_include_tests(${commands} ${prefix}.${stem})
endfunction()

# intersession_programs_of(<target> <table>): let the target depend on the programs of the table
# that targets so far build.
function(intersession_programs_of target table)
  file(STRINGS ${table} lines REGEX "^program = ")
  list(TRANSFORM lines REPLACE "^program = \"([^\"]*)\".*" "\\1")
  list(REMOVE_DUPLICATES lines)
  foreach(program IN LISTS lines)
    foreach(library linked preloaded none)
      foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
        foreach(candidate ${program}-${library}-${substrate} ${program}-${substrate})
          if(TARGET ${candidate})
            add_dependencies(${target} ${candidate})
          endif()
        endforeach()
      endforeach()
    endforeach()
  endforeach()
endfunction()
