# SPDX-License-Identifier: BSD-3-Clause
# Finds the native MPI and the Intersession library for it. The commands source this file.
#
#   choose_mpi <role> <choice>
#     role: cc, cxx or run. choice: openmpi, mpich, a path (the prefix of an MPI, its bin folder, or
#     a program in it), or empty for INTERSESSION_MPI, else the first MPI on PATH. Sets
#       mpi_family    the ABI: openmpi or mpich
#       mpi_program   the compiler wrapper or launcher
#       mpi_version   for example "Open MPI 4.1.4"
#       mpi_library   the Intersession library
#       mpi_shown     output of the compiler wrapper for -show
#     Prints an error and exits if there is no MPI or no library. The caller sets tool and
#     library_dir.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the caller reads the mpi_* variables and sets the others

# die <text>: print an error and exit.
die() { echo "$tool: $*" >&2; exit 1; }

# names_of <role> <family>: set names to the program names to look up; family may be empty.
names_of() {
  case $1.$2 in
    cc.) names=(mpicc mpicc.openmpi mpicc.mpich) ;;
    cc.*) names=("mpicc.$2" mpicc) ;;
    cxx.) names=(mpicxx mpicxx.openmpi mpicxx.mpich) ;;
    cxx.*) names=("mpicxx.$2" mpicxx) ;;
    run.) names=(mpirun mpiexec mpirun.openmpi mpiexec.hydra) ;;
    run.openmpi) names=(mpirun.openmpi mpirun mpiexec) ;;
    run.mpich) names=(mpiexec.hydra mpiexec.mpich mpirun.mpich mpiexec mpirun) ;;
  esac
}

# answer_of <program> <option>: print what a program answers. It may be any program with the name of
# a compiler wrapper: one that waits for ever is stopped, and null bytes are left out.
answer_of() {
  timeout "${FIND_MPI_SECONDS:-10}" "$@" 2>/dev/null </dev/null | tr -d '\0'
  return "${PIPESTATUS[0]}"
}

# query_launcher <program>: set mpi_family and mpi_version.
query_launcher() {
  local shown
  shown=$(answer_of "$1" --version) || return 1
  case $shown in
    *"Open MPI"* | *OpenRTE* | *PRRTE*) mpi_family=openmpi ;;
    *HYDRA* | *MPICH* | *"Intel(R) MPI"* | *MVAPICH*) mpi_family=mpich ;;
    *) return 1 ;;
  esac
  [[ $shown =~ [0-9]+\.[0-9]+(\.[0-9]+)*[a-z0-9]* ]] && mpi_version=${BASH_REMATCH[0]}
}

# query_compiler <program>: set mpi_family, mpi_version and mpi_shown.
query_compiler() {
  local macro='^#define +(OMPI_(MAJOR|MINOR|RELEASE)_VERSION|MPICH_VERSION|I_MPI_VERSION) +"?([^"]*)"?$'
  local words word lines line defined=
  mpi_shown=$(answer_of "$1" -show) || return 1
  mpi_shown=${mpi_shown//\"/}
  # Read mpi.h without another process; the preprocessor takes ten times longer.
  read -ra words <<<"$mpi_shown"
  for word in "${words[@]}"; do
    [[ $word == -I* && -r ${word#-I}/mpi.h ]] || continue
    mapfile -t -n 1000 lines <"${word#-I}/mpi.h"
    for line in "${lines[@]}"; do
      [[ $line == '#define '*_VERSION* && $line =~ $macro ]] || continue
      defined+="${BASH_REMATCH[1]}=${BASH_REMATCH[3]} "
      case ${BASH_REMATCH[1]} in OMPI_RELEASE* | MPICH* | I_MPI*) break ;; esac
    done
    break
  done
  if [ -z "$defined" ]; then
    defined=$(echo '#include <mpi.h>' | "$1" -E -dM -x c - 2>/dev/null | sed -nE "s/$macro/\1=\3/p") || return 1
  fi
  if [[ $defined =~ OMPI_MAJOR_VERSION=([0-9]+).*OMPI_MINOR_VERSION=([0-9]+) ]]; then
    mpi_family=openmpi
    mpi_version=${BASH_REMATCH[1]}.${BASH_REMATCH[2]}
    [[ ! $defined =~ OMPI_RELEASE_VERSION=([0-9]+) ]] || mpi_version+=.${BASH_REMATCH[1]}
  elif [[ $defined =~ MPI(CH)?_VERSION=([^[:space:]]*) ]]; then
    mpi_family=mpich
    mpi_version=${BASH_REMATCH[2]}
  else
    return 1
  fi
}

# query_program <role> <program>: set mpi_family and mpi_version, and mpi_shown for a compiler
# wrapper; fail if the family is unknown.
query_program() {
  mpi_family=
  case $1 in
    run) query_launcher "$2" || return 1 ;;
    *) query_compiler "$2" || return 1 ;;
  esac
  case $mpi_family in
    openmpi) mpi_version="Open MPI $mpi_version" ;;
    mpich) mpi_version="MPICH $mpi_version" ;;
  esac
}

# find_program <role> <family> <folder>: set mpi_program to the first program found in the folder,
# or on PATH if the folder is empty, that belongs to the family, if one is given.
find_program() {
  local role=$1 family=$2 folder=$3 name path names
  names_of "$role" "$family"
  for name in "${names[@]}"; do
    if [ -n "$folder" ]; then
      path=$folder/$name
    else
      hash "$name" 2>/dev/null || continue  # unlike $(type -P), this starts no process
      path=${BASH_CMDS[$name]}
    fi
    [ -x "$path" ] || continue
    query_program "$role" "$path" || continue
    [ -z "$family" ] || [ "$family" = "$mpi_family" ] || continue
    mpi_program=$path
    return 0
  done
  return 1
}

# has_role <role> <program>: false if the program's name shows that it serves another role.
has_role() {
  case $1.${2##*/} in
    cc.*xx* | cc.*++* | cc.*CC | cc.mpif* | cxx.mpicc* | cxx.mpif*) return 1 ;;
  esac
}

# find_near <role> <program>: set mpi_program to the program, if it serves the role, else to one of
# the same family in its folder.
find_near() {
  local role=$1 program=$2 other
  if has_role "$role" "$program" && query_program "$role" "$program"; then
    mpi_program=$program
    return 0
  fi
  for other in cc run; do
    query_program "$other" "$program" || continue
    find_program "$role" "$mpi_family" "$(dirname "$program")"
    return
  done
  return 1
}

choose_mpi() {
  local role=$1 choice=${2:-${INTERSESSION_MPI:-}} folder names
  case $choice in
    '')
      find_program "$role" "" "" ||
        die "no MPI found on PATH; select one with --mpi openmpi, --mpi mpich or --mpi <its folder>" ;;
    openmpi | mpich)
      find_program "$role" "$choice" "" ||
        die "$choice not found on PATH; select it with --mpi <its folder>" ;;
    *)
      [ -e "$choice" ] ||
        die "$choice: no such file; select an MPI with --mpi or INTERSESSION_MPI: openmpi, mpich or a path"
      names_of "$role" ""
      folder=$choice
      [ ! -d "$folder/bin" ] || folder=$folder/bin
      if [ -d "$choice" ]; then find_program "$role" "" "$folder"; else find_near "$role" "$choice"; fi ||
        die "$choice: no ${names[0]} of Open MPI or MPICH found there; select another with --mpi or INTERSESSION_MPI" ;;
  esac
  mpi_library=$library_dir/libintersession-$mpi_family.so
  [ -e "$mpi_library" ] ||
    die "$mpi_library for $mpi_version does not exist; build or install Intersession for it"
  mpi_is_default=
  [ -n "$choice" ] || mpi_is_default=yes
}

# report_default: print the MPI to standard error if neither option nor variable selects it.
report_default() {
  [ -z "$mpi_is_default" ] ||
    echo "$tool: using $mpi_version ($mpi_program); select another with --mpi or INTERSESSION_MPI" >&2
}
