#!/bin/bash
# Makes the recorded runs in runs/ with the fio that is installed. Needs root for the tmpfs.
# Usage: ./generate.sh   (about two minutes; all files are replaced)
set -u
here=$(cd "$(dirname "$0")" && pwd)/runs
work=$(mktemp -d)
trap 'umount -q "$work/small" "$work/readonly"; rm -rf "$work"' EXIT
mkdir -p "$here" "$work/data" "$work/small" "$work/readonly"
mount -t tmpfs -o size=8m tmpfs "$work/small"
mount -t tmpfs -o size=8m tmpfs "$work/readonly"
rm -f "$here"/*
export LC_ALL=C

# record NAME SECONDS_BEFORE_SIGNAL SIGNAL DIRECTORY EXTRA_ARGUMENTS < job
record() {
    local name=$1 after=$2 signal=$3 directory=$4
    shift 4
    cat > "$here/$name.job"
    (
        cd "$directory" || exit 1
        fio --output-format=json+ --eta=never "$@" - < "$here/$name.job" > "$here/$name.stdout" 2> "$here/$name.stderr" &
        pid=$!
        if [ "$after" != 0 ]; then
            sleep "$after"
            case $signal in
            CHILD) kill -KILL $(pgrep -P $pid | tail -1) ;;
            STUCK)
                child=$(pgrep -P $pid | tail -1)
                kill -STOP $child
                sleep 3.5
                kill -CONT $child
                ;;
            ALL) kill -KILL $(pgrep -P $pid) $pid ;;
            *) kill -$signal $pid ;;
            esac
        fi
        wait $pid
        echo $? > "$here/$name.exit"
    ) 2> /dev/null
    rm -rf "$work"/data/*
}

common='group_reporting
lat_percentiles=1
clat_percentiles=1
fallocate=none
randseed=7
filename_format=data.$jobnum.$filenum'

job() { printf '[global]\n%s\n%s\n[job]\n' "$common" "$1"; }

timed='time_based
runtime=2'
small='ioengine=psync
size=4m
bs=64k'

job "$small
rw=write
end_fsync=1" | record write 0 - "$work/data"
job "ioengine=libaio
direct=1
iodepth=4
size=4m
bs=4k
rw=randrw
rwmixread=70
numjobs=4
rate_iops=100
$timed" | record mixed-four-jobs 0 - "$work/data" --status-interval=1
job "$small
rw=read
rate=10m
numjobs=2
$timed
ramp_time=2" | record ramp 0 - "$work/data" --status-interval=1
job "ioengine=libaio
direct=1
iodepth=16
size=4m
bs=4k
rw=randwrite
rate_iops=500
runtime=2
time_based
ramp_time=2" | record ramp-queue 0 - "$work/data" --status-interval=1
# A store of 40 MB/s, so that the queue is full when the ramp ends.
mkdir -p "$work/store" "$work/backing"
printf 'buckets: [{name: disk, counts: bytes, baselinePerSecond: 40e6}]\nlatency: {fixed: 1ms}\n' > "$work/store.yaml"
(cd "$here" && go build -o "$work/burstfs" github.com/storagebench/storagebench/test/burstfs/cmd/burstfs)
"$work/burstfs" -config "$work/store.yaml" -backing "$work/backing" "$work/store" > /dev/null &
store=$!
until mountpoint -q "$work/store"; do sleep 0.1; done
job "ioengine=libaio
direct=1
iodepth=32
size=32m
bs=1m
rw=write
runtime=3
time_based
ramp_time=2" | record ramp-deep-queue 0 - "$work/store" --status-interval=1
kill -INT "$store"
wait "$store"
job "ioengine=null
size=64m
bs=64k
rw=randtrim
rate_iops=200
$timed" | record trim 0 - "$work/data" --status-interval=1
job "$small
rw=write
fsync=1
rate_iops=100
$timed" | record sync-writes 0 - "$work/data" --status-interval=1
printf '[global]\n%s\n[a]\nioengine=null\nsize=64m\nrw=read\nrate_iops=100\n%s\n[b]\nnew_group\nioengine=null\nsize=64m\nrw=write\nrate_iops=50\n%s\n' \
    "$common" "$timed" "$timed" | record two-groups 0 - "$work/data" --status-interval=1
job "ioengine=null
size=64m
rw=read
rate_iops=100
$timed" | sed /percentiles/d | record no-lat-bins 0 - "$work/data"
job "ioengine=null
size=64m
rw=rw
rate_iops=100
unified_rw_reporting=1
$timed" | record unified 0 - "$work/data"

job "$small
rw=write
size=16m" | record enospc 0 - "$work/small"
rm -f "$work"/small/*
job "$small
rw=write
size=16m
continue_on_error=write
loops=2" | record enospc-continue 0 - "$work/small"
rm -f "$work"/small/*
job "ioengine=libaio
iodepth=4
rw=write
bs=768k
size=8448k
end_fsync=1" | record enospc-in-the-last-write 0 - "$work/small"
rm -f "$work"/small/*
mount -o remount,ro "$work/readonly"
job "$small
rw=write" | record erofs 0 - "$work/readonly"
job "$small
rw=read
allow_file_create=0" | record enoent 0 - "$work/data"
touch "$work/data/plain"
job "$small
rw=write" | sed 's,^filename_format.*,filename=plain/data,' | record enotdir 0 - "$work/data"
mkdir "$work/data/data.0.0"
job "$small
rw=write" | record eisdir 0 - "$work/data"
job "$small
rw=write
no_such_option=1" | record bad-option 0 - "$work/data"
job "$small
rw=sideways" | record bad-value 0 - "$work/data"
job "size=4m
rw=write
ioengine=warp" | record bad-engine 0 - "$work/data"
job "$small
rw=write
direct=1
bs=1000" | record direct-unaligned 0 - "$work/data"
job "ioengine=null
size=64m
rw=write
numjobs=2
rate_iops=50
verify=crc32c
$timed" | record verify-null 0 - "$work/data"
printf '[global]\n%s\n%s\nrw=read\nallow_file_create=0\nnumjobs=256\n[job]\n' "$common" "$small" |
    record all-256-fail 0 - "$work/data"

job "$small
rw=write
numjobs=256" | record all-256-fail-errno 0 - "$work/readonly"

# A job that is stopped is to fio a job inside a long I/O.
limited="$small
rw=write
rate=10m
time_based"
job "$limited
numjobs=4
runtime=7" | record late-dump 2.5 STUCK "$work/data" --status-interval=1
job "$limited
numjobs=1
runtime=4
ramp_time=3" | record late-reset-one 1.7 STUCK "$work/data" --status-interval=1
job "$limited
numjobs=3
runtime=4
ramp_time=3" | record late-reset-three 1.7 STUCK "$work/data" --status-interval=1

endless="ioengine=null
size=64m
bs=4k
rw=read
numjobs=2
rate_iops=200
time_based
runtime=60"
job "$endless" | record sigint 2.5 INT "$work/data" --status-interval=1
job "$endless" | record sigterm 2.5 TERM "$work/data" --status-interval=1
job "$endless" | record sighup 2.5 HUP "$work/data" --status-interval=1
job "$endless" | record sigkill 2.5 ALL "$work/data" --status-interval=1
job "$endless" | sed s/runtime=60/runtime=3/ | record child-killed 1.5 CHILD "$work/data" --status-interval=1
job "$endless
startdelay=30" | record sigint-before-io 1 INT "$work/data" --status-interval=1
: | record no-job 0 - "$work/data"

# fio's own client and server mode: two clients and their sum.
(
    cd "$work/data" || exit 1
    fio --server=127.0.0.1,18765 > /dev/null 2>&1 &
    one=$!
    fio --server=127.0.0.1,18766 > /dev/null 2>&1 &
    two=$!
    sleep 1
    printf '[global]\nioengine=null\nsize=64m\nrw=randrw\nrate_iops=100\ntime_based\nruntime=2\ngroup_reporting\nlat_percentiles=1\n[job]\n' > "$here/client-server.job"
    fio --output-format=json+ --eta=never --client=127.0.0.1,18765 "$here/client-server.job" \
        --client=127.0.0.1,18766 "$here/client-server.job" > "$here/client-server.stdout" 2> "$here/client-server.stderr"
    echo $? > "$here/client-server.exit"
    kill $one $two
    wait
) 2> /dev/null

# A dump that was cut off while it was written.
head -c 70000 "$here/mixed-four-jobs.stdout" > "$here/truncated.stdout"
cp "$here/mixed-four-jobs.job" "$here/truncated.job"
: > "$here/truncated.stderr"
echo 137 > "$here/truncated.exit"

# Machine paths are of no use to a test.
sed -i "s,$work,WORK,g" "$here"/*
