# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the commands: which MPI is meant, and which library of ours goes with it.
#
#   choose_mpi <role> <word>   role: cc, cxx or run; word: openmpi, mpich, a path (an MPI's prefix, its bin, or a program in it),
#                              or nothing: INTERSESSION_MPI, else what PATH finds first. Sets
#     mpi_family    openmpi or mpich: the ABI
#     mpi_program   its compiler wrapper or launcher
#     mpi_version   e.g. "Open MPI 4.1.4"
#     mpi_library   our library for it
#   They end the program with a message where there is none. tool, include_root and library_dir are the caller's.

die() { echo "$tool: $*" >&2; exit 1; }

# Names to look for, those of one family only where one is asked for.
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

# Sets mpi_family and mpi_version from what a program says of itself; fails where it is of no family.
ask_program() {
  local role=$1 program=$2 says
  mpi_family=
  if [ "$role" = run ]; then
    says=$("$program" --version 2>/dev/null) || return 1
    case $says in
      *"Open MPI"* | *OpenRTE* | *PRRTE*) mpi_family=openmpi ;;
      *HYDRA* | *MPICH* | *"Intel(R) MPI"* | *MVAPICH*) mpi_family=mpich ;;
    esac
    mpi_version=$(grep -oEm1 '[0-9]+\.[0-9]+(\.[0-9]+)*[a-z0-9]*' <<<"$says")
  else
    says=$(echo '#include <mpi.h>' | "$program" -E -dM -x c - 2>/dev/null) || return 1
    says=$(sed -nE 's/^#define (OMPI_(MAJOR|MINOR|RELEASE)_VERSION|MPICH_VERSION|I_MPI_VERSION|MPICH_NAME) +"?([^"]*)"?$/\1=\3/p' <<<"$says")
    if [[ $says == *OMPI_MAJOR* ]]; then
      mpi_family=openmpi
      mpi_version=$(for part in MAJOR MINOR RELEASE; do sed -n "s/^OMPI_${part}_VERSION=//p" <<<"$says"; done | paste -sd.)
    elif [ -n "$says" ]; then
      mpi_family=mpich
      mpi_version=$(sed -nE 's/^(I_MPI|MPICH)_VERSION=//p' <<<"$says" | head -n 1)
    fi
  fi
  case $mpi_family in
    openmpi) mpi_version="Open MPI $mpi_version" ;;
    mpich) mpi_version="MPICH $mpi_version" ;;
    *) return 1 ;;
  esac
}

# The first program of a name that is of the family, if one is asked for.
find_program() {
  local role=$1 family=$2 folder=$3 name path
  for name in $(names_of "$role" "$family"); do
    if [ -n "$folder" ]; then path=$folder/$name; else path=$(type -P "$name") || continue; fi
    [ -x "$path" ] || continue
    ask_program "$role" "$path" || continue
    [ -z "$family" ] || [ "$family" = "$mpi_family" ] || continue
    mpi_program=$path
    return 0
  done
  return 1
}

choose_mpi() {
  local role=$1 word=${2:-${INTERSESSION_MPI:-}} folder
  case $word in
    '') find_program "$role" "" "" || die "no MPI is found on PATH; name one with --mpi openmpi, --mpi mpich or --mpi <its folder>" ;;
    openmpi | mpich) find_program "$role" "$word" "" || die "there is no $word on PATH; --mpi <its folder> says where it is" ;;
    *)
      [ -e "$word" ] || die "--mpi $word: it is openmpi, mpich or a path, and there is no such file"
      folder=$word
      [ -d "$word" ] || folder=$(dirname "$word")
      [ ! -d "$folder/bin" ] || folder=$folder/bin
      find_program "$role" "" "$folder" || die "--mpi $word: no $(names_of "$role" "" | cut -d' ' -f1) of Open MPI's or MPICH's family there" ;;
  esac
  mpi_library=$library_dir/libintersession-$mpi_family.so
  [ -e "$mpi_library" ] || die "there is no $mpi_library for $mpi_version; is Intersession built or installed for it?"
  # Whoever has not chosen is told what was chosen.
  [ -n "$word" ] || echo "$tool: over $mpi_version ($mpi_program); --mpi or INTERSESSION_MPI chooses another" >&2
}
