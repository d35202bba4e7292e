#!/usr/bin/env bash
# cluster.sh FOLDER quick|FILESYSTEM...|all: the tests of FOLDER/ffi-tests, built with the library in FOLDER/prefix and Open MPI, on a cluster
# on this machine. Its nodes are User Mode Linux: kernels of their own, with page caches of their own, on a bridge. One more, srv, serves.
# SCDA_CLUSTER_NODES, _TIMES, _TESTS in the environment: how many nodes (3), how often (3), and which of the tests below; two of them only
# run if they are named: checkpoints (SCDA_CLUSTER_CHECKPOINTS, 1000) and speed.
# cluster.sh FOLDER shell FILESYSTEM: a shell, where `on NODE COMMAND` and `ranks N COMMAND` run something, in $data on each node.
# Needs root, /dev/net/tun, and Debian's user-mode-linux nfs-kernel-server nfs-common openssh-server iproute2 kmod quota
# (ocfs2-tools, sshfs, glusterfs-server, moosefs-master moosefs-chunkserver moosefs-client, ceph-mon ceph-osd ceph-mds ceph-common).
# All runs in namespaces that end with this script, however it ends.
set -euo pipefail
nodes=${SCDA_CLUSTER_NODES:-3}
data=/tmp/data
declare -A mounts=(
  [nfs4.2]="nfs vers=4.2" [nfs4.1]="nfs vers=4.1" [nfs4.0]="nfs vers=4.0" [nfs3]="nfs vers=3" [nfs3-nolock]="nfs vers=3,nolock"
  [nfs4-soft]="nfs vers=4.2,soft,timeo=50,retrans=2" [nfs4-noac]="nfs vers=4.2,noac" [nfs4-sync]="nfs vers=4.2,sync"
  [nfs4-locallock]="nfs vers=4.0,local_lock=all" [nfs3-locallock]="nfs vers=3,local_lock=flock" [ocfs2]="ocfs2 rw" [sshfs]="sshfs"
  [glusterfs]="glusterfs" [moosefs]="moosefs" [cephfs]="cephfs"
)

if [ "${1-}" = init ]; then # the first process of a node
  set +eu
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin
  mount -t proc proc /proc
  eval "$(tr ' ' '\n' </proc/cmdline | grep '^scda_')"
  mount -t sysfs sysfs /sys
  mount -t devtmpfs dev /dev
  mkdir -p /dev/pts /dev/shm
  mount -t devpts devpts /dev/pts
  for folder in /dev/shm /run /tmp /var/tmp /var/lib/nfs /var/log; do mount -t tmpfs -o size=256m tmpfs $folder; done
  mkdir -p /run/{sshd,rpcbind,sendsigs.omit.d,export} /var/lib/nfs/{sm,sm.bak,v4recovery,rpc_pipefs} $data
  mount -t tmpfs etc /mnt # so that hosts, exports and mtab differ from those of this machine
  cp -a /etc/. /mnt/
  mount --move /mnt /etc
  mount -t hostfs none -o /usr/lib/uml/modules /lib/modules
  for folder in ${scda_folders//:/ }; do mount -t hostfs -o "$folder" none "$folder" 2>/dev/null || true; done
  hostname "$scda_node"
  { echo "127.0.0.1 localhost"; for n in 1 2 3 4 5 6 7 8; do echo "10.77.0.$n n$n"; done; echo "10.77.0.100 srv"; } >/etc/hosts
  ln -sf /proc/mounts /etc/mtab
  mkdir -p /run/home # without the files that shells read
  sed -i 's,^root:.*,root:x:0:0:root:/run/home:/bin/bash,' /etc/passwd
  ip link set lo up
  ip addr add "$scda_address/24" dev eth0
  ip link set eth0 up
  mkdir -p -m 700 /run/keys
  cp "$scda_keys"/{host,key,key.pub} /run/keys
  chmod 600 /run/keys/*
  printf '%s\n' "HostKey /run/keys/host" "AuthorizedKeysFile /run/keys/key.pub" "StrictModes no" "UsePAM no" "PermitRootLogin yes" \
    "MaxStartups 100" "UseDNS no" "Subsystem sftp internal-sftp" >/run/sshd_config
  /usr/sbin/sshd -f /run/sshd_config
  rpcbind -w
  rpc.statd
  for module in nfs nfsv3 nfsv4 fuse; do modprobe $module; done
  if [ "$scda_node" = srv ]; then
    modprobe -a nfsd quota_v2
    mount -o usrquota /dev/ubda /run/export 2>/dev/null || { mkfs.ext4 -q -F -O quota /dev/ubda && mount -o usrquota /dev/ubda /run/export; }
    mkdir -p /run/export/.recovery # the clients that may reclaim their locks after a crash
    mount --bind /run/export/.recovery /var/lib/nfs/v4recovery
    mount -t nfsd nfsd /proc/fs/nfsd
    echo 10 >/proc/fs/nfsd/nfsv4leasetime
    echo 10 >/proc/fs/nfsd/nfsv4gracetime
    echo "/run/export 10.77.0.0/24(rw,sync,no_root_squash,no_subtree_check,fsid=0,insecure)" >/etc/exports
    touch /var/lib/nfs/{etab,rmtab}
    exportfs -ra
    rpc.mountd
    rpc.nfsd 4
  fi
  touch /run/up
  while :; do wait -n 2>/dev/null || sleep 1; done
fi

if [ $# -lt 2 ]; then
  sed -n '2,9s/^# //p' "$0" >&2
  exit 2
fi
if [ "${SCDA_INSIDE-}" != cluster ]; then
  for needed in linux.uml rpc.nfsd setquota sshd ip modprobe mpiexec; do
    if ! PATH=$PATH:/usr/sbin:/sbin command -v $needed >/dev/null || [ "$(id -u)" != 0 ] || [ ! -w /dev/net/tun ]; then
      echo "skipped: cluster: needs root, /dev/net/tun and $needed"
      exit
    fi
  done
  mkdir -p /lib/modules
  SCDA_INSIDE=cluster exec unshare --net --mount --pid --fork --kill-child --mount-proc "$0" "$@"
fi
with=$(realpath -- "$1")
. "$(dirname -- "$0")/lib.sh"
shift
folder=$with/cluster
tests=$with/ffi-tests
rm -rf "$folder"
mkdir -p "$folder/logs"
log=$folder/logs/cluster.log
trap 'exit 1' TERM INT
ssh-keygen -q -t ed25519 -N '' -f "$folder/key"
ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
${CC:-cc} -shared -fPIC -O2 scripts/cluster_uml.c -o "$folder/uml.so"
truncate -s 2G "$folder/srv.img"
truncate -s 1G "$folder/shared.img"
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.254/24 dev br0
ip link set br0 up

login="ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=20 -i"
address() { case $1 in srv) echo 10.77.0.100 ;; *) echo "10.77.0.${1#n}" ;; esac; }
# One connection to each node, since a login takes a second.
mount -t tmpfs sockets /mnt
shared="-o ControlMaster=auto -o ControlPersist=yes -o ControlPath=/mnt/%h"
on() { $login "$folder/key" $shared "root@$(address "$1")" "${@:2}" </dev/null; }
all_nodes() { seq -f n%g "$nodes"; }

# boot NODE: starts it, unless it runs.
declare -A pids
boot() {
  [ -z "${pids[$1]-}" ] || return 0
  ip link show "t$1" >/dev/null 2>&1 || { ip tuntap add "t$1" mode tap && ip link set "t$1" master br0 up; }
  local disk=ubdbc=$folder/shared.img memory=640M
  [ "$1" != srv ] || { disk=ubda=$folder/srv.img && memory=1200M; } # for MooseFS
  LD_PRELOAD=$folder/uml.so TMPDIR=/dev/shm setsid linux.uml mem=$memory root=/dev/root rootfstype=hostfs rootflags=/ ro \
    "init=$root/scripts/cluster.sh" con=null con0=null,fd:1 "$disk" "eth0=tuntap,t$1,52:54:0a:4d:00:$(printf %02x "${1//[!0-9]/}0")" \
    "scda_node=$1" "scda_address=$(address "$1")" "scda_keys=$folder" "scda_folders=$root" "umid=$1" "uml_dir=$folder/uml" -- init \
    >"$folder/logs/$1.log" 2>&1 </dev/null &
  pids[$1]=$!
}
booted() {
  for _ in $(seq 120); do
    kill -0 "${pids[$1]}" || break
    ! on "$1" test -f /run/up 2>/dev/null || return 0
    sleep 0.5
  done
  tail -n 20 "$folder/logs/$1.log"
  echo "$1 does not come up"
  exit 1
}
# dies NODE: it loses its power.
dies() {
  on "$1" -O exit 2>/dev/null || true
  kill -9 -- "-${pids[$1]}" 2>/dev/null || true
  wait "${pids[$1]}" 2>/dev/null || true
  unset "pids[$1]"
}
mount_on() { # NODE FILESYSTEM
  local kind options source=srv:/
  read -r kind options <<<"${mounts[$2]}"
  [[ $options != *vers=3* ]] || source=srv:/run/export
  case $kind in
  nfs) on "$1" "mount -t nfs -o $options $source $data" ;;
  glusterfs)
    on srv "pidof -q glusterd || { mkdir -p /run/gluster /var/log/glusterfs; mount -t tmpfs tmpfs /var/lib/glusterd; glusterd
      for second in \$(seq 30); do ! gluster --mode=script volume create scda srv:/run/export/.bricks force || break; sleep 1; done
      gluster --mode=script volume start scda; }"
    on "$1" "mkdir -p /var/log/glusterfs; mount -t glusterfs srv:/scda $data"
    ;;
  moosefs)
    on srv "pidof -q mfsmaster || { mkdir -p /run/mfs /run/export/.master /run/export/.chunks
      cd /run/mfs; cp -n /var/lib/mfs/metadata.mfs.empty /run/export/.master/metadata.mfs
      echo '* / rw,alldirs,maproot=0' >exports; echo /run/export/.chunks >disks
      printf '%s\n' WORKING_USER=root DATA_PATH=/run/export/.master EXPORTS_FILENAME=/run/mfs/exports >master
      printf '%s\n' WORKING_USER=root DATA_PATH=/run/mfs MASTER_HOST=srv HDD_CONF_FILENAME=/run/mfs/disks >chunks
      mfsmaster -c master; mfschunkserver -c chunks; }"
    on "$1" "mfsmount -H srv $data"
    ;;
  cephfs) # data in memory, one copy
    on srv "pidof -q ceph-mon || { mkdir -p /etc/ceph /run/ceph/{mon,osd,mds}; cd /run/ceph; exec >/etc/ceph/ceph.conf
      printf '%s = %s\n' fsid 0f0e0d0c-0b0a-4908-8706-050403020100 mon_host 10.77.0.100 mon_initial_members a mon_data /run/ceph/mon \
        osd_data /run/ceph/osd mds_data /run/ceph/mds run_dir /run/ceph log_file '/run/ceph/\$name.log' osd_objectstore memstore \
        memstore_device_bytes 536870912 osd_crush_chooseleaf_type 0 osd_pool_default_size 1 osd_pool_default_min_size 1 \
        mon_allow_pool_size_one true mon_max_pg_per_osd 1000 mds_cache_memory_limit 67108864 auth_cluster_required none \
        auth_service_required none auth_client_required none
      exec >&2; sed -i '1i [global]' /etc/ceph/ceph.conf; osd=6f0e0d0c-0b0a-4908-8706-050403020101
      monmaptool --create --addv a '[v2:10.77.0.100:3300,v1:10.77.0.100:6789]' --fsid 0f0e0d0c-0b0a-4908-8706-050403020100 monmap
      ceph-mon --mkfs -i a --monmap monmap; ceph-mon -i a; ceph osd new \$osd
      ceph-osd -i 0 --mkfs --osd-uuid \$osd; ceph-osd -i 0; ceph-mds -i a
      ceph osd pool create metadata 8; ceph osd pool create data 8; ceph fs new scda metadata data; }"
    on "$1" "modprobe ceph; for second in \$(seq 60); do ! mount -i -t ceph 10.77.0.100:6789:/ $data || break; sleep 1; done"
    ;;
  sshfs) on "$1" "sshfs -o IdentityFile=/run/keys/key,StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,allow_other root@srv:/run/export $data" ;;
  ocfs2)
    on "$1" "modprobe configfs; mount -t configfs configfs /sys/kernel/config; for m in ocfs2 ocfs2_stack_o2cb ocfs2_dlmfs; do modprobe \$m; done
      mkdir -p /etc/ocfs2; exec >/etc/ocfs2/cluster.conf; printf 'cluster:\n\tnode_count = $nodes\n\tname = scda\n\n'
      for j in $(seq -s ' ' "$nodes"); do printf 'node:\n\tip_port = 7777\n\tip_address = 10.77.0.%s\n\tnumber = %s\n\tname = n%s\n\tcluster = scda\n\n' \$j \$j \$j; done
      exec >&2; echo o2cb >/sys/fs/ocfs2/cluster_stack; o2cb register-cluster scda
      blkid -t TYPE=ocfs2 /dev/ubdb >/dev/null || mkfs.ocfs2 -q -F -N 8 -b 4K -C 4K -J size=16M -T mail --cluster-stack=o2cb --cluster-name=scda /dev/ubdb </dev/null
      mount -t ocfs2 -o $options /dev/ubdb $data"
    ;;
  esac
}
# up FILESYSTEM: all nodes have it, empty.
up() {
  local node fresh=1
  for node in srv $(all_nodes); do boot "$node"; done
  for node in srv $(all_nodes); do booted "$node"; done
  for node in $(all_nodes); do
    on "$node" "while mountpoint -q $data; do umount -f -l $data; done"
    mount_on "$node" "$1" >>"$log" 2>&1
    [ -z "$fresh" ] || on "$node" "chmod 1777 $data; rm -rf $data/*"
    fresh=
  done
  # The grace period of the server is over when a lock is granted.
  for _ in $(seq 60); do ! on n1 "flock -w 2 $data/.lock true" 2>/dev/null || return 0; done
}
# ranks N COMMAND...: on the nodes of $on, or all, node by node.
ranks() {
  local n=$1 hosts each=(${on:-$(all_nodes)}) variables
  hosts=$(for node in "${each[@]}"; do printf '%s:%s,' "$node" $(((n + ${#each[@]} - 1) / ${#each[@]})); done)
  variables=$(env | grep -oE '^SCDA_(COHERENT|IO|[A-Z]+_BYTES|NODE_RANKS|CASES)' | sed 's/^/-x /' | tr '\n' ' ')
  shift
  # shellcheck disable=SC2029 # what is expanded here is of here
  timeout "${limit:-900}" $login "$folder/key" $shared "root@$(address "${each[0]}")" "cd $data; export TMPDIR=/tmp PATH=$PATH LD_LIBRARY_PATH=$with/prefix/lib OMPI_MCA_mpi_yield_when_idle=1
    $(env | grep -E '^(SCDA_(COHERENT|IO|[A-Z]+_BYTES|NODE_RANKS|CASES)|OMPI_[A-Za-z_]*)=' | sed "s/=\(.*\)/='\1'/;s/^/export /")
    exec timeout ${limit:-900} mpiexec --mca plm_rsh_agent '$login /run/keys/key' --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self,vader \
      --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_vader_single_copy_mechanism none \
      -x PATH -x LD_LIBRARY_PATH -x LD_PRELOAD=$folder/uml.so -x OMPI_MCA_mpi_yield_when_idle $variables --host ${hosts%,} --oversubscribe -n $n $(printf '%q ' "$@")" </dev/null
}

# passes NAME N COMMAND...: a job that succeeds.
passes() {
  local begin=$SECONDS
  log=$folder/logs/$1.log
  if ! ranks "${@:2}" >"$log" 2>&1; then
    tail -n 30 "$log"
    echo "FAILED: $1"
    return 1
  fi
  echo "$1: $((SECONDS - begin)) s"
}
# ends JOB LOG: waits for a job until it ends; `false` if it hangs: for ten minutes it has written nothing to its log.
ends() {
  local bytes before=-1 quiet=0
  while kill -0 "$1" 2>/dev/null && [ $quiet -lt 600 ]; do
    sleep 1
    bytes=$(stat -c %s "$2")
    [ "$bytes" = "$before" ] && quiet=$((quiet + 1)) || quiet=0
    before=$bytes
  done
  [ $quiet -lt 600 ]
}
# series TROUBLE TIMES STEPS HOW: a job writes checkpoints (cluster.c) while there is trouble; a new job compares all that it told, and goes
# on. In the end, the file is that of one process. Errors are the same on all ranks; what the trouble ends is ended.
checkpoints=0
series() {
  local k first last said=0 lost=0 met=0 file=$data/series.scda steps=$3 how=$4 now=$folder/logs/series whole=$folder/logs/$1-$4.log
  on n1 "rm -f $file*"
  for k in $(seq "$2"); do
    : >"$now"
    limit=20000 ranks "$((nodes * 2))" "$tests/cluster" "$how" "$file" "$steps" >"$now" 2>&1 &
    local job=$! until=$((1 + RANDOM % (steps / 2)))
    while kill -0 $job 2>/dev/null && [ "$(grep -c '^step' "$now")" -lt $until ]; do sleep 0.1; done
    sleep "0.$((RANDOM % 10))"
    kill -0 $job 2>/dev/null && met=$((met + 1))
    "$1" "$k"
    ends $job "$now" || { echo "FAILED: $1, time $k: the job hangs"; lost=1; }
    for node in $(all_nodes); do # what a killed mpiexec leaves in /tmp would fill it
      on "$node" "pkill -9 -f '[f]fi-tests/cluster'; pkill -9 orted; pkill -9 mpiexec; rm -rf /tmp/ompi.* /tmp/pmix*" || true
    done
    wait $job || true
    # The job has compared what the jobs before it have left, and has gone on after that.
    first=$(sed -n 's/^step //p' "$now" | head -n 1)
    last=$(sed -n 's/^step //p' "$now" | tail -n 1)
    cat "$now" >>"$whole"
    if [ "${first:-$((said + 1))}" -le "$said" ] || grep -q 'cluster.c:' "$now"; then
      tail -n 20 "$now"
      echo "FAILED: $1, time $k: step $said was committed, the next job begins with $first"
      lost=1
    fi
    said=${last:-$said}
    [ $((k % 8)) = 0 ] || [ "$k" = "$2" ] || continue
    if ! ranks "$((nodes * 2))" "$tests/cluster" check "$how" "$file" "$said" >"$now" 2>&1; then
      tail -n 20 "$now"
      echo "FAILED: $1, time $k: step $said was committed"
      lost=1
    fi
    said=$(sed -n 's/^step //p' "$now" | tail -n 1)
    cat "$now" >>"$whole"
  done
  on n1 "rm -f /tmp/one-process*"
  on=n1 ranks 1 "$tests/cluster" "$how" /tmp/one-process "$said" >>"$whole" 2>&1
  on n1 "cmp $file /tmp/one-process" || { echo "FAILED: $1: the file is another one than that of one process"; lost=1; }
  checkpoints=$((checkpoints + said))
  case $1 in # else nothing was tried
  disk_is_full | quota_is_used_up | is_not_exported)
    grep -q '^error' "$whole" || { echo "FAILED: $1: no job has met it"; lost=1; }
    ;;
  esac
  [ $lost = 0 ] && echo "$1: $met times while a job ran, of $2 jobs, $said checkpoints $how, nothing lost"
}
some_node() { echo "n$((1 + RANDOM % nodes))"; }
killed_process() { on "$(some_node)" "pkill -9 -n -f '[f]fi-tests/cluster'" || true; }
node_dies() {
  local node=n$((2 + $1 % (nodes - 1)))
  dies $node
  on n1 "sleep 1; pkill -9 mpiexec" || true
  boot $node
  booted $node
  mount_on $node "$filesystem" >>"$log" 2>&1
}
server_dies() { # up to five times in a job, each time while it commits
  local n said
  for n in 1 2 3 4 5; do
    [ $n = 1 ] || met=$((met + 1))
    said=$(grep -c '^step' "$now") || true
    dies srv
    boot srv
    booted srv
    until [ "$(grep -c '^step' "$now")" -gt "$said" ] || ! kill -0 "$job" 2>/dev/null; do sleep 0.2; done
    sleep "0.$((RANDOM % 10))"
    kill -0 "$job" 2>/dev/null || return 0
  done
}
network_is_cut() {
  local node
  node=$(some_node)
  ip link set "t$node" down
  case $filesystem in *soft) sleep 20 ;; *) sleep 3 ;; esac # soft: an error (EIO) of what is only written when a file is synced or closed
  ip link set "t$node" up
}
any_trouble() {
  local troubles=(killed_process node_dies server_dies network_is_cut)
  "${troubles[RANDOM % 4]}" "$1"
}
# many_checkpoints LEAST: so many, with troubles of all kinds.
many_checkpoints() {
  local how
  checkpoints=0
  while [ $checkpoints -lt "$1" ]; do
    for how in append append replace; do series any_trouble 4 300 $how || return 1; done
    echo "$checkpoints checkpoints"
  done
}
disk_is_full() {
  on srv "fallocate -l \$(df --output=avail -B1 /run/export | tail -n 1) /run/export/full 2>/dev/null; dd if=/dev/zero of=/run/export/full.too bs=64k 2>/dev/null" || true
  sleep 3
  on srv "rm -f /run/export/full*"
}
quota_is_used_up() { # EDQUOT, on NFS when a file is synced or closed
  on srv "setquota -u nobody 1 1 0 0 /run/export; sleep 3; setquota -u nobody 0 0 0 0 /run/export"
}
# with_quota TIMES: the server takes root for somebody who has a quota.
with_quota() {
  local status=0
  on n1 "rm -f $data/series*" # what root has left, that somebody may not remove
  on srv "exportfs -o rw,sync,all_squash,no_subtree_check,fsid=0,insecure 10.77.0.0/24:/run/export"
  series quota_is_used_up "$1" 40 append || status=1
  on n1 "rm -f $data/series*"
  on srv "exportfs -ra"
  return $status
}
is_not_exported() { # ESTALE
  on srv "exportfs -ua; exportfs -f; sleep 3; exportfs -ra"
}
# squashed: what root may not write there is an error on all ranks.
squashed() {
  local status=0
  on n1 "mkdir -p -m 700 $data/private"
  ranks 4 "$tests/cluster" check append $data/private/mine 0 >"$folder/logs/squashed.log" 2>&1 || status=1
  on srv "exportfs -o rw,sync,root_squash,no_subtree_check,fsid=0,insecure 10.77.0.0/24:/run/export" || status=1
  ranks 4 "$tests/cluster" refused $data/private/file >>"$folder/logs/squashed.log" 2>&1 || status=1
  on srv "exportfs -ra"
  [ $status = 0 ] || { tail -n 40 "$folder/logs/squashed.log"; return 1; }
  echo "root squash: the same error on all ranks"
}
# two_jobs: the second one, on another node, is refused.
two_jobs() {
  local status=0
  log=$folder/logs/in_use.log
  on n1 "rm -f /tmp/end"
  : >"$folder/logs/holds.log"
  on=n1 ranks 2 "$tests/cluster" hold $data/held.scda /tmp/end >"$folder/logs/holds.log" 2>&1 &
  local job=$!
  while kill -0 $job 2>/dev/null && ! grep -q '^holds' "$folder/logs/holds.log"; do sleep 0.1; done
  on=n2 ranks 2 "$tests/cluster" in_use $data/held.scda >"$log" 2>&1 || status=$?
  on n1 "touch /tmp/end"
  wait $job || log=$folder/logs/holds.log status=1
  if [ $status != 0 ]; then
    tail -n 40 "$log"
    echo "FAILED: two jobs"
    return 1
  fi
  echo "two jobs: the second one is refused"
}
# undelegated: the server does not delegate a file that several nodes write to the first one, for whose return the next one would wait.
undelegated() {
  local status=0 before after said=$folder/logs/undelegated.log returned="sed -n 's/^[[:space:]]*DELEGRETURN: \([0-9]*\) .*/\1/p' /proc/self/mountstats"
  for node in $(all_nodes); do on "$node" "rm -f /tmp/end $data/new.scda"; done
  on n1 "sync; echo 3 >/proc/sys/vm/drop_caches; sleep 2" # else it returns what it still has of other files at any time
  : >"$said"
  before=$(on n1 "$returned")
  ranks "$nodes" "$tests/cluster" hold $data/new.scda /tmp/end >"$said" 2>&1 &
  local job=$!
  while kill -0 $job 2>/dev/null && ! grep -q '^holds' "$said"; do sleep 0.1; done
  after=$(on n1 "$returned")
  for node in $(all_nodes); do on "$node" "touch /tmp/end"; done
  wait $job || status=1
  # The lock file is delegated, and that is returned when it is removed.
  if [ $status = 0 ] && [ "$(on n1 "$returned")" = "$after" ]; then
    echo "skipped: undelegated: this server delegates no file"
  elif [ $status = 1 ] || [ -z "$before" ] || [ "$after" != "$before" ]; then
    tail -n 40 "$said"
    echo "FAILED: undelegated: $((after - before)) delegations returned when the nodes opened the file"
    return 1
  else
    echo "undelegated: no node waits until another one returns the file"
  fi
}
# matrix DRIVER TIMES: the bytes are those of one node, and what all nodes read.
matrix() {
  on=n1 passes one-node "$((nodes * 2))" "$tests/cluster" write $data "$1" &&
    passes several-nodes "$((nodes * 2))" "$tests/cluster" matrix $data "$1" "$2"
}

# speed: libscda beside one rank that gathers and writes.
speed() { passes speed "${1:-$nodes}" "$tests/cluster" speed $data/speed && cat "$folder/logs/speed.log"; }

one_node() {
  on=n1 passes one-node 4 "$tests/cluster" write $data 0 && on=n1 passes matrix 4 "$tests/cluster" matrix $data 0 3
  if ranks "$nodes" "$tests/cluster" write $data 0 >"$folder/logs/refused.log" 2>&1 || ! grep -q "another file of this name" "$folder/logs/refused.log"; then
    echo "FAILED: several nodes are not refused"
    return 1
  fi
}

status=0 times=${SCDA_CLUSTER_TIMES:-3}
check() { "$@" || status=1; }
case $1 in
shell)
  filesystem=$2
  up "$2"
  export -f on ranks address all_nodes
  export login shared folder data nodes with tests
  bash --norc || true
  exit
  ;;
quick)
  set -- nfs4.2
  times=${SCDA_CLUSTER_TIMES:-1}
  ;;
all) set -- "${!mounts[@]}" ;;
esac
for filesystem; do
  begin=$SECONDS
  up "$filesystem"
  echo "$filesystem: $nodes nodes after $((SECONDS - begin)) s"
  for trial in ${SCDA_CLUSTER_TESTS:-matrix two_jobs undelegated squashed killed_process node_dies server_dies network_is_cut disk_is_full quota is_not_exported}; do
    case $trial:$filesystem in
    *:sshfs) [ "$trial" != matrix ] || check one_node ;; # each node numbers files by itself: jobs on several are refused
    matrix:moosefs) # MPI-IO, unless somebody says that they are coherent
      check matrix 1 $((times + 2))
      SCDA_COHERENT=1 check matrix 2 $((times + 2))
      ;;
    matrix:*) check matrix 0 $((times + 2)) ;;
    two_jobs:*lock) ;; # no node sees the locks of another one
    two_jobs:*) check two_jobs ;;
    squashed:nfs*) check squashed ;;
    undelegated:nfs4.[12]) check undelegated ;; # NFS 4.0 ignores the flag
    undelegated:*) ;;
    speed:*) check speed && check speed $((2 * nodes)) ;;
    quota:nfs*) check with_quota "$times" ;;
    checkpoints:*) check many_checkpoints "${SCDA_CLUSTER_CHECKPOINTS:-1000}" ;;
    killed_process:*) check series "$trial" "$times" 8 append ;; # most of a job is its start
    server_dies:nfs* | disk_is_full:nfs*) check series "$trial" "$times" 100 append ;;
    node_dies:* | *:nfs*) check series "$trial" "$times" 40 append ;; # the others are of a server
    esac
  done
  echo "$filesystem: $((SECONDS - begin)) s"
done
exit $status
