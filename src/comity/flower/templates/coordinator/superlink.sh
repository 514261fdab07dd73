#!/bin/sh
# Start the coordinator's SuperLink. It runs until it is stopped (Ctrl-C, or a signal), and knows after a restart who
# was registered. Sites reach it at COMITY_LISTEN; only this machine reaches what starts runs and registers keys.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"

set -- --listen "$COMITY_LISTEN" --control-port "$COMITY_CONTROL_PORT" --database "$here/state/superlink.db"
if [ "$COMITY_INSECURE" = yes ]; then
    set -- "$@" --insecure
else
    set -- "$@" --certificates "$here/certificates"
fi
exec "$COMITY_PYTHON" -m comity.flower.superlink "$@"
