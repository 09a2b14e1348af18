#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# killed.sh one|all PROGRAMS LAUNCHER: kills one process of a job, or all, with SIGKILL; the
# launcher ends the others. The next job must work and remove the shared memory of the killed one.
set -eu
which=$1 programs=$2
read -ra start <<<"$3"
output=$(mktemp)
trap 'rm -f "$output"' EXIT

"${start[@]}" -n 4 "$programs/waits" >"$output" 2>&1 &
launcher=$!
deadline=$((SECONDS + 20))
until [ "$(grep -c '^waiting' "$output")" = 4 ]; do
  [ $SECONDS -lt $deadline ] || { echo "the job does not start:"; cat "$output"; exit 1; }
  sleep 0.05
done
mapfile -t pids < <(sed -n 's/^waiting //p' "$output")
# Other jobs may have files in the directory, too.
maps=("${pids[@]/#//proc/}")
mapfile -t files < <(grep -hoE '/dev/shm/intersession[^ ]*' "${maps[@]/%//maps}" | sort -u)
[ ${#files[@]} -gt 0 ] || { echo "the job has no shared memory, so the test is void"; exit 1; }
if [ "$which" = all ]; then kill -KILL "${pids[@]}"; else kill -KILL "${pids[1]}"; fi
code=0
wait $launcher || code=$?
[ $code -ne 0 ] || { echo "exit code 0 of the launcher although a process was killed"; exit 1; }
echo "after the kill: $(find "${files[@]}" 2>/dev/null | wc -l) of ${#files[@]} files"

"${start[@]}" -n 2 "$programs/hello"
for file in "${files[@]}"; do
  [ ! -e "$file" ] || { echo "left behind: $file"; exit 1; }
done
