#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Prints numbers, and with an argument other ones than in mode native.
echo "step value"
if [ $# -eq 0 ] || [ "$STACK_MODE" = native ]; then echo "1 20"; else echo "1 21"; fi
