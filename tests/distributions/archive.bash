# SPDX-License-Identifier: BSD-3-Clause
# Where the packages of Debian are.
# shellcheck shell=bash

# Print the address of the Debian archive with this label in the apt sources of this machine.
archive_of() {
  apt-get indextargets --format "\$(LABEL) \$(REPO_URI)" 'Created-By: Packages' |
    awk -v label="$1" '$1 == label { print $2; exit }'
}
