#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# killed.sh one|all <programs> <launcher's command>: kills one process of a job, or all, with SIGKILL. The launcher ends the rest. What is
# left of the job's shared memory must be gone after the next job at the latest, and that one must work.
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
[ ${#files[@]} -gt 0 ] || { echo "no shared memory to leave behind; this test shows nothing"; exit 1; }
if [ "$which" = all ]; then kill -KILL "${pids[@]}"; else kill -KILL "${pids[1]}"; fi
code=0
wait $launcher || code=$?
[ $code -ne 0 ] || { echo "the launcher did not see the killed process"; exit 1; }
echo "after the kill: $(find "${files[@]}" 2>/dev/null | wc -l) of ${#files[@]} files"

"${start[@]}" -n 2 "$programs/hello"
for file in "${files[@]}"; do
  [ ! -e "$file" ] || { echo "left behind: $file"; exit 1; }
done
