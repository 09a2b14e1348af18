# SPDX-License-Identifier: BSD-3-Clause
# Starts a job with hydra's mpiexec. intersession-run sources this file.
#
# Variables for all applications are global options (-genv) before all others; -env of an
# application overrides them. The caller sets preload and settings and defines join().
# shellcheck shell=bash
# shellcheck disable=SC2154  # the caller sets the variables

words=()
for name in "${settings[@]}"; do words+=(-genv "$name" "${!name}"); done
words+=(-genv LD_PRELOAD "$preload")
while [ $# -gt 0 ]; do
  case "${1/#--/-} ${2:-}" in
    "-env LD_PRELOAD" | "-genv LD_PRELOAD")
      words+=("$1" "$2" "$(join "${3:-}")"); shift $(($# > 2 ? 2 : 1)) ;;
    *) words+=("$1") ;;
  esac
  shift
done
exec "$mpi_program" "${words[@]}"
