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
#     Prints an error and exits if there is no MPI or no library. The caller sets tool and
#     library_dir.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the caller reads the mpi_* variables and sets the others

# die <text>: print an error and exit.
die() { echo "$tool: $*" >&2; exit 1; }

# names_of <role> <family>: print the program names to look up; family may be empty.
names_of() {
  case $1.$2 in
    cc.) echo mpicc mpicc.openmpi mpicc.mpich ;;
    cc.*) echo "mpicc.$2 mpicc" ;;
    cxx.) echo mpicxx mpicxx.openmpi mpicxx.mpich ;;
    cxx.*) echo "mpicxx.$2 mpicxx" ;;
    run.) echo mpirun mpiexec mpirun.openmpi mpiexec.hydra ;;
    run.openmpi) echo mpirun.openmpi mpirun mpiexec ;;
    run.mpich) echo mpiexec.hydra mpiexec.mpich mpirun.mpich mpiexec mpirun ;;
  esac
}

# query_program <role> <program>: set mpi_family and mpi_version from the output of a program; fail
# if the family is unknown.
query_program() {
  local role=$1 program=$2 shown
  mpi_family=
  if [ "$role" = run ]; then
    shown=$("$program" --version 2>/dev/null) || return 1
    case $shown in
      *"Open MPI"* | *OpenRTE* | *PRRTE*) mpi_family=openmpi ;;
      *HYDRA* | *MPICH* | *"Intel(R) MPI"* | *MVAPICH*) mpi_family=mpich ;;
    esac
    mpi_version=$(grep -oEm1 '[0-9]+\.[0-9]+(\.[0-9]+)*[a-z0-9]*' <<<"$shown")
  else
    local macros='OMPI_(MAJOR|MINOR|RELEASE)_VERSION|MPICH_VERSION|I_MPI_VERSION|MPICH_NAME'
    shown=$(echo '#include <mpi.h>' | "$program" -E -dM -x c - 2>/dev/null) || return 1
    shown=$(sed -nE "s/^#define ($macros) +\"?([^\"]*)\"?\$/\\1=\\3/p" <<<"$shown")
    if [[ $shown == *OMPI_MAJOR* ]]; then
      mpi_family=openmpi
      mpi_version=$(for part in MAJOR MINOR RELEASE; do
        sed -n "s/^OMPI_${part}_VERSION=//p" <<<"$shown"
      done | paste -sd.)
    elif [ -n "$shown" ]; then
      mpi_family=mpich
      mpi_version=$(sed -nE 's/^(I_MPI|MPICH)_VERSION=//p' <<<"$shown" | head -n 1)
    fi
  fi
  case $mpi_family in
    openmpi) mpi_version="Open MPI $mpi_version" ;;
    mpich) mpi_version="MPICH $mpi_version" ;;
    *) return 1 ;;
  esac
}

# find_program <role> <family> <folder>: set mpi_program to the first program found in the folder,
# or on PATH if the folder is empty, that belongs to the family, if one is given.
find_program() {
  local role=$1 family=$2 folder=$3 name path
  for name in $(names_of "$role" "$family"); do
    if [ -n "$folder" ]; then path=$folder/$name; else path=$(type -P "$name") || continue; fi
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
  local role=$1 choice=${2:-${INTERSESSION_MPI:-}} folder
  case $choice in
    '')
      find_program "$role" "" "" ||
        die "no MPI found on PATH; select one with --mpi openmpi, --mpi mpich or --mpi <its folder>" ;;
    openmpi | mpich)
      find_program "$role" "$choice" "" ||
        die "$choice not found on PATH; select it with --mpi <its folder>" ;;
    *)
      [ -e "$choice" ] || die "--mpi $choice: no such file; use openmpi, mpich or a path"
      folder=$choice
      [ ! -d "$folder/bin" ] || folder=$folder/bin
      if [ -d "$choice" ]; then find_program "$role" "" "$folder"; else find_near "$role" "$choice"; fi ||
        die "--mpi $choice: no $(names_of "$role" "" | cut -d' ' -f1) of Open MPI or MPICH found there" ;;
  esac
  mpi_library=$library_dir/libintersession-$mpi_family.so
  [ -e "$mpi_library" ] ||
    die "$mpi_library for $mpi_version does not exist; build or install Intersession for it"
  # Report a default choice.
  if [ -z "$choice" ]; then
    echo "$tool: using $mpi_version ($mpi_program); select another with --mpi or INTERSESSION_MPI" >&2
  fi
}
