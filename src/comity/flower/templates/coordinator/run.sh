#!/bin/sh
# Run a job on the sites that are there: find coalitions and train their models (solve), or only see whether everything
# fits (check). Exit status: 0 it went well, 1 it did not.
#
#   ./run.sh          the job of study.toml; the result comes to result/
#   ./run.sh check    nothing is learned
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

{
    printf 'mode = "%s"\n' "$mode"
    printf 'study = %s\n' "$(toml "${COMITY_STUDY:-$here/study.toml}")"
    printf 'out = %s\n' "$(toml "${COMITY_OUT:-$here/result}")"
    if [ "$COMITY_INSECURE" = no ]; then
        printf 'nodes = %s\n' "$(toml "$here/state/nodes.json")"
    fi
} > "$here/state/run.toml"
exec "$COMITY_PYTHON" -m comity.flower.running "${COMITY_APP:-$here/app}" --config "$here/state/run.toml"
