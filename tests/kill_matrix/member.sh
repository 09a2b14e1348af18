#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# member.sh PROGRAM ARGUMENTS...: runs a process of the job, reports its exit status, and hides it
# from the launcher.
trap '' USR1
rank=${PMIX_RANK:-${PMI_RANK:-$PMI_ID}}
: > "$KILL_REPORT.$rank"
"$@"
echo "ended $rank $?"
exit 0
