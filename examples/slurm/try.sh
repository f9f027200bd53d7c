#!/usr/bin/env bash
# Runs the example for real: Slurm on one node, as root, with everything it writes in a scratch folder.
#
#     apt-get install slurm-wlm munge && examples/slurm/try.sh
#
# It shares runs out over job arrays of several ranges, cancels a task, goes on, and compares with the run of one machine.
# Exit code 0: all is as it should be; 1: something is not; 77: Slurm is not here or does not start, nothing was tried.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd sbatch munged; do
    command -v "$program" >/dev/null || { echo "try.sh: there is no $program here (apt-get install slurm-wlm munge)"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "try.sh: Slurm changes users, so this needs root"; exit 77; }

project=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
started=()
finish() {
    for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${started[@]}"; do wait "$process" 2>/dev/null || true; done
    rm -rf "$scratch"
}
trap finish EXIT
leave() { echo "try.sh: $2"; tail -n 20 "$scratch"/*.log "$scratch"/kit/recorded/slurm-* 2>/dev/null; exit "$1"; }
fail() { leave 1 "$1"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# ------------------------------------------------------------------------------------------------ a cluster of one node
name=$(hostname -s)
mkdir "$scratch/state" "$scratch/spool"
chmod 755 "$scratch"
head -c 1024 /dev/urandom >"$scratch/munge.key"
chmod 400 "$scratch/munge.key"
cat >"$scratch/slurm.conf" <<CONF
ClusterName=scratch
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.socket
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=2
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$scratch/slurm.conf
munged --foreground --force --key-file="$scratch/munge.key" --socket="$scratch/munge.socket" --num-threads=2 \
    --pid-file="$scratch/munged.pid" --log-file="$scratch/munged.log" --seed-file="$scratch/munged.seed" \
    >"$scratch/munged.out" 2>&1 &
started+=($!)
for _ in $(seq 50); do [ -S "$scratch/munge.socket" ] && break; sleep 0.1; done
slurmctld -D >"$scratch/slurmctld.out" 2>&1 &
started+=($!)
slurmd -D -N "$name" >"$scratch/slurmd.out" 2>&1 &
started+=($!)
for _ in $(seq 60); do sinfo -h -o %T 2>/dev/null | grep -q idle && break; sleep 0.5; done
sinfo -h -o %T | grep -q idle || leave 77 "Slurm is installed, but its node does not come up"

# ------------------------------------------------------------------------------------------------------------- the runs
mkdir "$scratch/kit"
(cd "$project" && tar cf - --exclude=.git --exclude=recorded --exclude=runs .) | tar xf - -C "$scratch/kit"
cd "$scratch/kit"
all_ended() { for _ in $(seq 600); do [ -z "$(squeue -h)" ] && return; sleep 0.2; done; fail "the jobs do not end"; }
equal() {
    python3 outputs_digest.py --compare recorded/one.json "$1" >"$scratch/compare.txt" \
        || { cat "$scratch/compare.txt"; fail "$1 is not what one machine records"; }
}
run=(--system baselines:coin --trials 5)
python3 bench.py "${run[@]}" --quiet --log recorded/one.jsonl >/dev/null

for range in 1-4 0-2 10-30:10 7-7 1-6%2; do
    out=recorded/array-${range//[^0-9]/-}/run  # beside shards of another array of the same run, auto is refused
    mkdir "${out%/run}"
    echo "--array=$range"
    examples/slurm/submit.sh "$range" "$out.jsonl" "${run[@]}"
    all_ended
    equal "$out.json"
done

# ---------------------------------------------------------------------------- a task that is cancelled, and goes on
cat >slow_system.py <<'PY'
"""Answers of a baseline's kind that take a while, so that a task can be cancelled in the middle."""
import time

from benchkit import Reply


class Slow:
    def open(self):
        return {"server": None}

    def settings(self):
        return {"pace": "slow"}

    def warm(self):
        return 0.0

    def answer(self, request):
        time.sleep(0.05)
        return Reply(f"{request.case} {request.trial}")

    def close(self):
        pass


def system(name, options):
    return Slow()
PY
slow=(--system slow_system:x --trials 3)
rm -f recorded/one.json recorded/one.jsonl
python3 bench.py "${slow[@]}" --quiet --log recorded/one.jsonl >/dev/null
job=$(examples/slurm/submit.sh 1-2 recorded/cancelled.jsonl "${slow[@]}" | sed 's/.*: job \([0-9]*\); .*/\1/')
for _ in $(seq 200); do
    [ "$(grep -c '"kind":"trial"' recorded/cancelled.task-2-of-2.jsonl 2>/dev/null)" -ge 5 ] 2>/dev/null && break
    sleep 0.1
done
scancel "${job}_2"
all_ended
python3 bench.py --log recorded/cancelled.jsonl --status && fail "a cancelled task left nothing over"
rm recorded/cancelled.jsonl recorded/cancelled.json
examples/slurm/submit.sh 1-2 recorded/cancelled.jsonl "${slow[@]}"
all_ended
equal recorded/cancelled.json

# ----------------------------------------------------------- one task again, by its number in the array of the first time
examples/slurm/submit.sh 1-4 recorded/again.jsonl "${run[@]}"
all_ended
rm recorded/again.jsonl recorded/again.json recorded/again.task-3-of-4.jsonl
TASKS=4 sbatch --parsable --array=3 examples/slurm/record.sbatch recorded/again.jsonl "${run[@]}" >/dev/null
all_ended
python3 bench.py --merge recorded/again.task-*-of-4.jsonl --log recorded/again.jsonl
python3 bench.py --log recorded/again.jsonl --convert recorded/again.json
python3 bench.py "${run[@]}" --quiet --log recorded/whole.jsonl >/dev/null
python3 outputs_digest.py --compare recorded/whole.json recorded/again.json >/dev/null || fail "a task again is another"

# ------------------------------------------------------------------------- a list is no range, and is refused in words
sbatch --parsable --array=1,3,4 examples/slurm/record.sbatch recorded/list.jsonl "${run[@]}" >/dev/null
all_ended
grep -qh "which is no range" recorded/slurm-bench-* || fail "a list of tasks was not refused"
echo "all is as it should be"
