#!/usr/bin/env bash
# A run shared out over machines that ssh reaches, and the logs of all shards as one.
#
#     examples/parallel.sh recorded/gemma.jsonl 4 : --system model_triage:gemma --trials 10             four processes here
#     examples/parallel.sh recorded/gemma.jsonl 4 ada,bob --system model_triage:gemma --trials 10       two on each machine
#
# All paths are from the folder above this one, the kit's, where modules of your own must lie, too. Each machine holds it
# at the same path, and keeps the logs of its shards: the same command again goes on where they were stopped. GNU parallel
# runs the shards if it is here, and bash if not. Remove the merged log before you go on.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -ge 3 ] || { echo "usage: parallel.sh LOG SHARDS MACHINES [flags of bench.py]; MACHINES is a,b,c or : for here" >&2; exit 2; }
out=$1 shards=$2
IFS=, read -ra machines <<<"$3"
shift 3
stem=${out%.jsonl}
mkdir -p "$(dirname "$out")"

run_shard() {
    local log="$STEM.shard-$1-of-$SHARDS.jsonl" code=0
    local command="python3 bench.py --quiet --shard $1/$SHARDS --log $(printf %q "$log") $FLAGS"
    if [ "$2" = : ]; then
        eval "$command" || code=$?
    else
        # what a shard has recorded is fetched however it ended
        ssh -n "$2" "cd $(printf %q "$PWD") && mkdir -p $(printf %q "$(dirname "$log")") && $command" || code=$?
        ssh -n "$2" "cat $(printf %q "$(realpath -m "$log")")" >"$log.fetched" && mv "$log.fetched" "$log" || code=$?
    fi
    [ $code = 0 ] || echo "parallel.sh: shard $1 of $SHARDS ended with exit code $code" >&2
}
export -f run_shard
export STEM=$stem SHARDS=$shards FLAGS
FLAGS=$(printf '%q ' "$@")

if command -v parallel >/dev/null; then
    parallel --jobs 0 --link run_shard "{1}" "{2}" ::: $(seq "$shards") ::: "${machines[@]}"
else
    for index in $(seq "$shards"); do
        run_shard "$index" "${machines[$(((index - 1) % ${#machines[@]}))]}" &
    done
    wait
fi
python3 bench.py --merge "$stem".shard-*-of-"$shards".jsonl --log "$out"
python3 bench.py --log "$out" --convert "$stem.json"
