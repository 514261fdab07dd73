#!/bin/sh
# Run the coordinator's SuperLink until it is stopped (Ctrl-C, or a signal). Registered keys survive a restart. Sites
# reach it at COMITY_LISTEN; runs can be started and keys registered from this machine only.
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
exec "$COMITY_PYTHON" -m comity.flower.deploy.superlink "$@"
