#!/bin/sh
# Run this site's SuperNode until it is stopped (Ctrl-C, or a signal). It polls the coordinator for questions, answers
# those that site.toml allows, reconnects when the coordinator was away, and can be restarted at any time.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"

# Flower polls for work every second by default, and every question waits for that.
export FLWR_SUPEREXEC_TASK_POLL_INTERVAL="${FLWR_SUPEREXEC_TASK_POLL_INTERVAL:-0.3}"

printf 'site = %s\n' "$(toml "$here/site.toml")" > "$here/state/node.toml"
set -- --superlink "$COMITY_ADDRESS" --host 127.0.0.1 --port "$COMITY_PORT" --node-config "$here/state/node.toml"
if [ "$COMITY_INSECURE" = yes ]; then
    set -- "$@" --insecure
else
    set -- "$@" --root-certificates "$here/ca.crt" --auth-supernode-private-key "$here/client.key"
fi
exec "$COMITY_PYTHON" -m comity.flower.deploy.supernode "$@"
