#!/bin/sh
# Run a job on the connected sites: find coalitions and train their models (solve), or only check that the study can
# run (check). Exit status: 0 success, 1 failure, 2 it could not start.
#
#   ./run.sh          run the job of study.toml and write its result to result/
#   ./run.sh check    check only; nothing is trained
#
# COMITY_OUT sets another directory for the result, COMITY_STUDY another study.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"
. "$here/connection.sh"

mode=${1:-solve}
case $mode in
    solve | check) ;;
    *)
        echo "unknown mode '$mode'; give solve or check" >&2
        exit 2
        ;;
esac

if [ $# -gt 1 ]; then
    echo "run.sh takes one argument, solve or check; '$2' is too many" >&2
    exit 2
fi
out=${COMITY_OUT:-$here/result}
unfinished=$(dirname -- "$out")/.$(basename -- "$out").job/job.json
if [ "$mode" = solve ] && [ -e "$out/result.json" ] && [ ! -e "$unfinished" ]; then
    echo "there is already a result in $out; move it away, or set another directory: COMITY_OUT=DIR ./run.sh" >&2
    exit 2
fi

{
    printf 'mode = "%s"\n' "$mode"
    printf 'study = %s\n' "$(toml "${COMITY_STUDY:-$here/study.toml}")"
    printf 'out = %s\n' "$(toml "$out")"
    if [ "$COMITY_INSECURE" = no ]; then
        printf 'nodes = %s\n' "$(toml "$here/state/nodes.json")"
    fi
} > "$here/state/run.toml"
exec "$COMITY_PYTHON" -m comity.flower.deploy.launch "${COMITY_APP:-$here/app}" --config "$here/state/run.toml"
