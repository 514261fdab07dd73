#!/bin/sh
# Start this site's SuperNode: it asks the coordinator for questions and answers what site.toml allows. It runs until it
# is stopped (Ctrl-C, or a signal), connects again by itself when the coordinator was away, and may be restarted.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"

# Flower looks for work every second unless told, and here every question waits for it.
export FLWR_SUPEREXEC_TASK_POLL_INTERVAL="${FLWR_SUPEREXEC_TASK_POLL_INTERVAL:-0.3}"

printf 'site = %s\n' "$(toml "$here/site.toml")" > "$here/state/node.toml"
set -- --superlink "$COMITY_ADDRESS" --host 127.0.0.1 --port "$COMITY_PORT" --node-config "$here/state/node.toml"
if [ "$COMITY_INSECURE" = yes ]; then
    set -- "$@" --insecure
else
    set -- "$@" --root-certificates "$here/ca.crt" --auth-supernode-private-key "$here/client.key"
fi
exec "$COMITY_PYTHON" -m comity.flower.supernode "$@"
