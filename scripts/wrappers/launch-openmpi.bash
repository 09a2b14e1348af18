# SPDX-License-Identifier: BSD-3-Clause
# Starts a job with Open MPI's mpirun. intersession-run sources this file. The caller sets preload
# and settings and defines join().
# shellcheck shell=bash
# shellcheck disable=SC2154  # the caller sets the variables

# has_word <option> <word>...: true if the words contain an option.
has_word() {
  local wanted=$1 word
  shift
  for word in "$@"; do
    [ "${word/#--/-}" != "$wanted" ] || return 0
  done
  return 1
}
# Open MPI accepts variables either by -x, once per application, or as one list for all
# applications, but not both in one job. Use the list if the user does, or if a file lists the
# applications.
environment_list=${OMPI_MCA_mca_base_env_list:-}
uses_list=
if [ -n "$environment_list" ] || has_word mca_base_env_list "$@" ||
  { has_word -app "$@" && ! has_word -x "$@"; }; then
  uses_list=yes
fi
our_list=$(IFS=';'; echo "LD_PRELOAD=$preload${settings[*]:+;${settings[*]}}")
our_options=()
for name in "${settings[@]}"; do our_options+=(-x "$name"); done

words=()
application=()  # the words of the current application
has_preload=    # "yes" if they set LD_PRELOAD
# Append the words of the current application, with its variables, to words.
finish_application() {
  if [ -z "$uses_list" ]; then
    words+=("${our_options[@]}")
    [ -n "$has_preload" ] || words+=(-x "LD_PRELOAD=$preload")
  fi
  words+=("${application[@]}")
  application=()
  has_preload=
}

list_is_given=
while [ $# -gt 0 ]; do
  case "${1/#--/-} ${2:-}" in
    ": "*) finish_application; words+=(:) ;;
    "-x LD_PRELOAD") application+=(-x "LD_PRELOAD=$preload"); has_preload=yes; shift ;;
    "-x LD_PRELOAD="*) application+=(-x "LD_PRELOAD=$(join "${2#*=}")"); has_preload=yes; shift ;;
    "-mca mca_base_env_list" | "-gmca mca_base_env_list")
      application+=("$1" "$2" "${3:+$3;}$our_list"); list_is_given=yes; shift $(($# > 2 ? 2 : 1)) ;;
    *) application+=("$1") ;;
  esac
  shift
done
finish_application

if [ -n "$uses_list" ] && [ -z "$list_is_given" ]; then
  export OMPI_MCA_mca_base_env_list="${environment_list:+$environment_list;}$our_list"
fi
exec "$mpi_program" "${words[@]}"
