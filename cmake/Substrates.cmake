# SPDX-License-Identifier: BSD-3-Clause
# Finds the substrates: the native MPI libraries that Intersession is built for. A substrate that is
# not installed is left out; at least one must be installed. Sets:
#
#   INTERSESSION_SUBSTRATES         the substrates found, the default one first
#   <substrate>_MPICC, _MPICXX      its compiler wrappers, which print the paths of headers and libs
#   <substrate>_LAUNCHER            its job launcher
#   <substrate>_INCLUDE_DIRS, _LINK_FLAGS
#   intersession_substrate_<substrate>   target for programs that use the native MPI alone; the
#                                        Intersession library does not link with it

set(INTERSESSION_OVER "openmpi;mpich" CACHE STRING
    "Native MPI libraries to build for, if they are installed")

function(intersession_find_substrate name launcher packages)
  if(NOT name IN_LIST INTERSESSION_OVER)
    message(STATUS "Substrate ${name}: not in INTERSESSION_OVER")
    return()
  endif()
  find_program(${name}_MPICC NAMES mpicc.${name})
  find_program(${name}_MPICXX NAMES mpicxx.${name})
  find_program(${name}_LAUNCHER NAMES ${launcher})
  if(NOT ${name}_MPICC OR NOT ${name}_MPICXX OR NOT ${name}_LAUNCHER)
    message(STATUS "Substrate ${name}: not installed (on Debian: apt-get install ${packages})")
    return()
  endif()
  message(STATUS "Substrate ${name}: ${${name}_MPICC}, ${${name}_LAUNCHER}")
  intersession_query_wrapper(${${name}_MPICC} include_dirs c_flags)
  intersession_query_wrapper(${${name}_MPICXX} include_dirs cxx_flags)
  set(link_flags "$<IF:$<LINK_LANGUAGE:CXX>,${cxx_flags},${c_flags}>")
  add_library(intersession_substrate_${name} INTERFACE)
  target_include_directories(intersession_substrate_${name} SYSTEM INTERFACE ${include_dirs})
  target_link_libraries(intersession_substrate_${name} INTERFACE "${link_flags}")
  set(${name}_INCLUDE_DIRS ${include_dirs} PARENT_SCOPE)
  set(${name}_LINK_FLAGS "${link_flags}" PARENT_SCOPE)
  set(INTERSESSION_SUBSTRATES ${INTERSESSION_SUBSTRATES} ${name} PARENT_SCOPE)
endfunction()

# Split the compiler command that a wrapper prints for -show into include folders and linker flags.
function(intersession_query_wrapper wrapper include_dirs link_flags)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(words UNIX_COMMAND "${output}")
  list(POP_FRONT words)  # the compiler
  set(${link_flags} ${words})
  list(FILTER ${link_flags} INCLUDE REGEX "^-(L|l|Wl)")
  list(TRANSFORM ${link_flags} REPLACE "," "$<COMMA>")  # for use in a generator expression
  list(FILTER words INCLUDE REGEX "^-I")
  list(TRANSFORM words REPLACE "^-I" "")
  set(${include_dirs} ${words} PARENT_SCOPE)
  set(${link_flags} ${${link_flags}} PARENT_SCOPE)
endfunction()

set(INTERSESSION_SUBSTRATES)
intersession_find_substrate(openmpi mpirun.openmpi "libopenmpi-dev openmpi-bin")
intersession_find_substrate(mpich mpiexec.hydra "libmpich-dev mpich")
# Macros that disable the C++ bindings in mpi.h.
set(openmpi_DEFINITIONS OMPI_SKIP_MPICXX)
set(mpich_DEFINITIONS MPICH_SKIP_MPICXX)
# Names of the pkg-config modules, by language.
set(openmpi_PKGCONFIG_c ompi-c)
set(openmpi_PKGCONFIG_cxx ompi-cxx)
set(mpich_PKGCONFIG_c mpich)
set(mpich_PKGCONFIG_cxx mpich)
if(NOT INTERSESSION_SUBSTRATES)
  message(FATAL_ERROR "Intersession needs a native MPI library: Open MPI or MPICH. "
                      "On Debian: apt-get install libopenmpi-dev openmpi-bin, or libmpich-dev mpich")
endif()
