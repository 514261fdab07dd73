# Addresses and ports. Edit them here; environment variables take precedence.
# COMITY_ADDRESS is the coordinator's address.
: "$${COMITY_ADDRESS:=${address}}"
# A port on 127.0.0.1; if several sites run on one machine, each needs its own.
: "$${COMITY_PORT:=${own_port}}"
COMITY_INSECURE=${insecure}
