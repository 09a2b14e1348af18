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
ls /dev/shm/intersession* >/dev/null || { echo "no shared memory to leave behind; this test shows nothing"; exit 1; }
mapfile -t pids < <(sed -n 's/^waiting //p' "$output")
if [ "$which" = all ]; then kill -KILL "${pids[@]}"; else kill -KILL "${pids[1]}"; fi
code=0
wait $launcher || code=$?
[ $code -ne 0 ] || { echo "the launcher did not see the killed process"; exit 1; }
echo "after the kill: $(find /dev/shm -name 'intersession*' | wc -l) files"

"${start[@]}" -n 2 "$programs/hello"
left=$(find /dev/shm -name 'intersession*')
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
