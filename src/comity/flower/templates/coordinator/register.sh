#!/bin/sh
# Register the sites' public keys (keys/*.pub) with the SuperLink, which must be running. May be run again: who is
# registered stays so.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
. "$here/settings.sh"
. "$here/environment.sh"
. "$here/connection.sh"

if [ "$COMITY_INSECURE" = yes ]; then
    echo "An insecure SuperLink lets everybody join; there is nothing to register."
    exit 0
fi
exec "$COMITY_PYTHON" -m comity.flower.registration --wait 60 "$here"/keys/*.pub
