#!/bin/sh
# fulldisk.sh DIR COMMAND...: run the command with DIR on a file system of 8 MiB; 77 (skipped) if that cannot be.
dir=$1
shift
mkdir -p "$dir"
umount "$dir" 2>/dev/null # left by a run that was killed
if ! mount -t tmpfs -o size=8m scda-fulldisk "$dir" 2>/dev/null; then
  echo "skipped: may not mount a tmpfs"
  exit 77
fi
"$@"
result=$?
umount "$dir"
exit $result
