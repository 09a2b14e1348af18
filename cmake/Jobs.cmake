# SPDX-License-Identifier: BSD-3-Clause
# MPI programs of tests and examples, and the matrices of jobs (TOML, tests/harness/jobs.py) that run them.

# intersession_mpi_programs(<library> <sources>...): one program per source file, named after it. <library> says how
# Intersession gets in, with the words of the matrix:
#   linked     the overlay's mpi.h, our library in front of the MPI's, as intersession-cc does it
#   preloaded  the overlay's mpi.h, only the MPI's library: what a binary that was built for a newer MPI is like
#   none       the MPI below and nothing of ours
function(intersession_mpi_programs library)
  foreach(source IN LISTS ARGN)
    get_filename_component(program ${source} NAME_WE)
    if(library STREQUAL "linked")
      set(target ${program})
      set(folder ${CMAKE_CURRENT_BINARY_DIR})
    else()
      set(target ${program}-${library})
      set(folder ${CMAKE_CURRENT_BINARY_DIR}/${library})
    endif()
    add_executable(${target} ${source})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY ${folder})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-cast-function-type)
    if(library STREQUAL "linked")
      target_link_libraries(${target} PRIVATE Intersession::MPI Threads::Threads)
    elseif(library STREQUAL "preloaded")
      # The MPI below lacks the functions and objects of Sessions; they are looked up when the program starts.
      target_include_directories(${target} BEFORE PRIVATE ${INTERSESSION_OVERLAY_DIR})
      target_link_libraries(${target} PRIVATE intersession_substrate Threads::Threads)
      # gold leaves such symbols to the dynamic linker; ld binds them to address 0 in an executable.
      target_compile_options(${target} PRIVATE -fPIC -fno-plt)
      target_link_options(${target} PRIVATE -fuse-ld=gold -Wl,--unresolved-symbols=ignore-in-object-files)
      add_dependencies(${target} intersession_openmpi)
    elseif(library STREQUAL "none")
      target_link_libraries(${target} PRIVATE intersession_substrate Threads::Threads)
    else()
      message(FATAL_ERROR "intersession_mpi_programs: library is linked, preloaded or none, not ${library}")
    endif()
  endforeach()
endfunction()

# intersession_jobs(<prefix> <table>): every job of the table as a test called <prefix>.<job>; the programs are those of the
# current folder. CMake runs again when the table or the reader of tables changes.
function(intersession_jobs prefix table)
  get_filename_component(stem ${table} NAME_WE)
  set(table ${CMAKE_CURRENT_SOURCE_DIR}/${table})
  set(commands ${CMAKE_CURRENT_BINARY_DIR}/${stem}-of-${prefix}.cmake)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/run-job --table ${table}
                          --build ${PROJECT_BINARY_DIR} --programs ${CMAKE_CURRENT_BINARY_DIR} --ctest "${prefix}."
                  OUTPUT_FILE ${commands} COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB reader CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/harness/*.py)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table} ${reader})
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${commands})
endfunction()
