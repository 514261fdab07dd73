#!/bin/sh
# Register the sites' public keys (clients.toml) with the SuperLink, which must be running. It can be run again: keys
# that are registered stay registered.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"
. "$here/connection.sh"

if [ "$COMITY_INSECURE" = yes ]; then
    echo "An insecure SuperLink lets anybody join; there is nothing to register."
    exit 0
fi
exec "$COMITY_PYTHON" -m comity.flower.deploy.registration "$here/clients.toml" --nodes "$here/state/nodes.json" --wait 60
