#!/bin/sh
# Starts a compiler (CMAKE_CXX_COMPILER_LAUNCHER) and appends to $PPTRAIN_COMPILE_LOG: CPU seconds of the user and of the
# system, and the object or program that was made.
"$@"
status=$?
output=
while [ $# -gt 1 ]; do
  if [ "$1" = -o ]; then output=$2; fi
  shift
done
# The second line of `times` is that of the children, such as "0m1.32s 0m0.10s"; a pipe would show a subshell's.
times >"$PPTRAIN_COMPILE_LOG.$$"
{ read -r _ && read -r children; } <"$PPTRAIN_COMPILE_LOG.$$"
rm "$PPTRAIN_COMPILE_LOG.$$"
printf '%s %s\n' "$children" "$output" >>"$PPTRAIN_COMPILE_LOG"
exit $status
