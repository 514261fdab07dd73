#!/bin/sh
# Run a job on the sites that are there: find coalitions and train their models (solve), or only see whether everything
# fits (check). Exit status: 0 it went well, 1 it did not.
#
#   ./run.sh          the job of study.toml; the result comes to result/
#   ./run.sh check    nothing is learned
#
# COMITY_OUT says another place for the result, COMITY_STUDY another study.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"
. "$here/connection.sh"

mode=${1:-solve}
case $mode in
    solve | check) ;;
    *)
        echo "there is no job called '$mode'; it is solve or check" >&2
        exit 2
        ;;
esac

if [ $# -gt 1 ]; then
    echo "run.sh takes one word, solve or check; '$2' is one too many" >&2
    exit 2
fi
out=${COMITY_OUT:-$here/result}
unfinished=$(dirname -- "$out")/.$(basename -- "$out").job/job.json
if [ "$mode" = solve ] && [ -e "$out/result.json" ] && [ ! -e "$unfinished" ]; then
    echo "there is a result in $out already; move it away, or say another place: COMITY_OUT=DIR ./run.sh" >&2
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
exec "$COMITY_PYTHON" -m comity.flower.running "${COMITY_APP:-$here/app}" --config "$here/state/run.toml"
