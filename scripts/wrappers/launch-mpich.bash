# SPDX-License-Identifier: BSD-3-Clause
# Sourced by intersession-run, whose join(), preload and settings it uses: hydra's mpiexec. A variable for all applications is a
# global option, which stands in front of everything; one application's own (-env) wins over it.

words=()
for name in "${settings[@]}"; do words+=(-genv "$name" "${!name}"); done
words+=(-genv LD_PRELOAD "$preload")
while [ $# -gt 0 ]; do
  case "${1/#--/-} ${2:-}" in
    "-env LD_PRELOAD" | "-genv LD_PRELOAD") words+=("$1" "$2" "$(join "${3:-}")"); shift $(($# > 2 ? 2 : 1)) ;;
    *) words+=("$1") ;;
  esac
  shift
done
exec "$mpi_program" "${words[@]}"
