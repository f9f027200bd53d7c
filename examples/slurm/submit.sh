#!/usr/bin/env bash
# A run shared out over the tasks of a Slurm job array, and a job that merges their logs when all have ended.
#
#     examples/slurm/submit.sh 1-8 recorded/gemma.jsonl --system model_triage:gemma --trials 10
#
# The first argument is any range that --array takes (0-7, 1-8, 0-70:10, 1-100%10), the second the log of the whole
# run, the rest are flags of bench.py. The same command again goes on where tasks were stopped: a task with nothing
# left to run ends at once. Remove the merged log first; all that is in it is in the logs of the tasks.
#
# To run some tasks of a range 1-N again, say how many there were, for the array of today has fewer:
#
#     TASKS=8 sbatch --array=3,7 examples/slurm/record.sbatch recorded/gemma.jsonl --system model_triage:gemma --trials 10
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
[ $# -ge 2 ] || { echo "usage: submit.sh RANGE LOG [flags of bench.py]" >&2; exit 2; }
range=$1 out=$2
shift 2

# how many tasks a range has: (last - first) / step + 1
[[ "${range%\%*}" =~ ^([0-9]+)-([0-9]+)(:([0-9]+))?$ ]] || { echo "submit.sh: $range is no range like 1-8" >&2; exit 2; }
tasks=$(((BASH_REMATCH[2] - BASH_REMATCH[1]) / ${BASH_REMATCH[4]:-1} + 1))

mkdir -p recorded
record=$(sbatch --parsable --array="$range" "$here/record.sbatch" "$out" "$@")
merge=$(sbatch --parsable --dependency="afterany:$record" "$here/merge.sbatch" "$out" "$tasks")
echo "job array of $tasks: job $record; the merge: job $merge"
