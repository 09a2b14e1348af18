# SPDX-License-Identifier: BSD-3-Clause
# Completes the commands of Intersession in bash.
# shellcheck shell=bash

# _intersession_compgen <arguments of compgen>: set the candidates for the present word.
_intersession_compgen() { mapfile -t COMPREPLY < <(compgen "$@" -- "$word"); }

# The word and the one before it; --mpi=x is three words for bash.
_intersession_mpi() {
  if [ "$word" = = ]; then word=; elif [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi
  [ "$before" = --mpi ] || return 1
  mapfile -t COMPREPLY < <(compgen -W "openmpi mpich" -- "$word"; compgen -f -- "$word")
}

_intersession_cc() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} part
  _intersession_mpi && return
  case $word in
    --showme:*) part=yes ;;
    *) part= ;;
  esac
  if [ -n "$part" ] || [ "$word" = : ] || [ "$before" = : ]; then
    word=${word#--showme:}
    word=${word#:}
    _intersession_compgen -W "command compile link incdirs libdirs libs version"
  elif [[ $word == -* ]]; then
    _intersession_compgen -W "--mpi --help --version -show --showme -c -o -g -O2 -Wall -I -L -l"
  else
    _intersession_compgen -f
  fi
}

_intersession_run() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  _intersession_mpi && return
  if [ "$before" = --tool ]; then
    _intersession_compgen -W timeline
  elif [[ $word == -* ]]; then
    _intersession_compgen -W "--mpi --tool --native --help --version -n"
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
  fi
}

_intersession_info() {
  local word=${COMP_WORDS[COMP_CWORD]}
  _intersession_compgen -W "--help --version"
}

_intersession_timeline() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  _intersession_mpi && return
  if [ "$COMP_CWORD" -eq 1 ]; then
    _intersession_compgen -W "run merge --help --version"
  elif [ "$before" = -o ]; then
    _intersession_compgen -d
  elif [[ $word == -* ]]; then
    _intersession_compgen -W "-o --tracks --help --mpi --tool --native -n"
  else
    _intersession_compgen -f
  fi
}

complete -o filenames -F _intersession_cc intersession-cc intersession-cxx
complete -o filenames -F _intersession_run intersession-run
complete -F _intersession_info intersession-info
complete -o filenames -F _intersession_timeline intersession-timeline
