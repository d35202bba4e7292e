#!/bin/sh
# fulldisk.sh tmpfs|ext4 DIR COMMAND...: run the command with DIR on a file system of this kind with 8 MiB; 77 (skipped) if that
# cannot be.
kind=$1
dir=$2
shift 2
mkdir -p "$dir"
umount "$dir" 2>/dev/null # left by a run that was killed
case $kind in
tmpfs) mount -t tmpfs -o size=8m scda-fulldisk "$dir" 2>/dev/null ;;
ext4)
  rm -f "$dir.image"
  truncate -s 12M "$dir.image" && mkfs.ext4 -q -m 0 -b 4096 -O ^has_journal "$dir.image" 2>/dev/null &&
    mount -o loop "$dir.image" "$dir" 2>/dev/null && rmdir "$dir/lost+found"
  ;;
esac
if [ $? -ne 0 ]; then
  echo "skipped: may not mount a file system"
  rm -f "$dir.image"
  exit 77
fi
"$@"
result=$?
umount "$dir"
rm -f "$dir.image"
exit $result
