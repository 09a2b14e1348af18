# SPDX-License-Identifier: BSD-3-Clause
# Finds the substrates: the native MPI libraries that Intersession is built for, one of each family
# (openmpi, mpich). scripts/find-mpi lists what is installed. Of each family, the first supported one
# is taken. Sets:
#
#   INTERSESSION_SUBSTRATES         the families found, in the order of search
#   <substrate>_MPICC, _MPICXX      its compiler wrappers, which print the paths of headers and libs
#   <substrate>_INCLUDE_DIRS, _LINK_FLAGS
#   intersession_substrate_<substrate>   target for programs that use the native MPI alone; the
#                                        Intersession library does not link with it

set(Intersession_MPI "" CACHE STRING
    "Native MPI libraries to build for: prefixes or C compiler wrappers; default: those on PATH")
set(INTERSESSION_OVER "openmpi;mpich" CACHE STRING
    "Families of native MPI libraries to build for, if they are installed")

# Take one line of scripts/find-mpi, split at tabs: set the variables of a substrate, or print the
# reason. NOTICE, because scripts/build hides lines of the level STATUS.
function(intersession_consider_mpi family version cc cxx supported reason)
  set(what "MPI: ${version} (${cc}):")
  if(NOT supported STREQUAL "yes")
    if(Intersession_MPI)
      message(FATAL_ERROR "${what} not supported: ${reason}")
    endif()
    message(NOTICE "${what} not supported: ${reason}")
  elseif(NOT family IN_LIST INTERSESSION_OVER)
    message(NOTICE "${what} not used, because ${family} is not in INTERSESSION_OVER")
  elseif(family IN_LIST INTERSESSION_SUBSTRATES)
    message(NOTICE "${what} not used, because ${${family}_MPICC} was found first "
                   "(-DIntersession_MPI=${cc} selects it)")
  else()
    message(NOTICE "${what} supported (${reason}); builds libintersession-${family}.so")
    set(INTERSESSION_SUBSTRATES ${INTERSESSION_SUBSTRATES} ${family} PARENT_SCOPE)
    set(${family}_MPICC ${cc} PARENT_SCOPE)
    set(${family}_MPICXX ${cxx} PARENT_SCOPE)
    string(REGEX MATCH "[0-9][0-9.]*" number "${version}")
    set(${family}_VERSION ${number} PARENT_SCOPE)
  endif()
endfunction()

# Set the paths of a substrate from its compiler wrappers, and add its target.
function(intersession_add_substrate name)
  intersession_query_wrapper(${${name}_MPICC} include_dirs c_flags)
  intersession_query_wrapper(${${name}_MPICXX} include_dirs cxx_flags)
  set(link_flags "$<IF:$<LINK_LANGUAGE:CXX>,${cxx_flags},${c_flags}>")
  add_library(intersession_substrate_${name} INTERFACE)
  target_include_directories(intersession_substrate_${name} SYSTEM INTERFACE ${include_dirs})
  target_link_libraries(intersession_substrate_${name} INTERFACE "${link_flags}")
  set(${name}_INCLUDE_DIRS ${include_dirs} PARENT_SCOPE)
  set(${name}_LINK_FLAGS "${link_flags}" PARENT_SCOPE)
endfunction()

# Split the compiler command that a wrapper prints for -show into include folders and linker flags.
function(intersession_query_wrapper wrapper include_dirs link_flags)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${wrapper} -show: exit code ${result}; see its message above")
  endif()
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

# Not cached: a configured build folder follows PATH and Intersession_MPI.
set(INTERSESSION_SUBSTRATES)
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/find-mpi ${Intersession_MPI}
                OUTPUT_VARIABLE lines ERROR_VARIABLE problem RESULT_VARIABLE result
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "Intersession_MPI: ${problem}")
endif()
string(REPLACE "\n" ";" lines "${lines}")
foreach(line IN LISTS lines)
  string(REPLACE "\t" ";" fields "${line}")
  intersession_consider_mpi(${fields})
endforeach()
if(NOT INTERSESSION_SUBSTRATES)
  list(JOIN INTERSESSION_OVER " or " families)
  message(FATAL_ERROR "Intersession needs a supported native MPI library (${families}), and found none. "
                      "Load its module, or name it: -DIntersession_MPI=<its prefix or mpicc>; or "
                      "install it, on Debian: apt-get install libopenmpi-dev openmpi-bin, or "
                      "libmpich-dev mpich")
endif()
foreach(substrate IN LISTS INTERSESSION_SUBSTRATES)
  intersession_add_substrate(${substrate})
endforeach()
# Macros that disable the C++ bindings in mpi.h.
set(openmpi_DEFINITIONS OMPI_SKIP_MPICXX)
set(mpich_DEFINITIONS MPICH_SKIP_MPICXX)
# Names of the pkg-config modules, by language.
set(openmpi_PKGCONFIG_c ompi-c)
set(openmpi_PKGCONFIG_cxx ompi-cxx)
set(mpich_PKGCONFIG_c mpich)
set(mpich_PKGCONFIG_cxx mpich)
