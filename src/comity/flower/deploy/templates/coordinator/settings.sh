# Addresses and ports. Edit them here; environment variables take precedence.
# COMITY_LISTEN is the address on which this machine listens for sites, which connect to ${address}.
: "$${COMITY_LISTEN:=${listen}}"
# The port on 127.0.0.1 for starting runs and registering keys.
: "$${COMITY_CONTROL_PORT:=${control_port}}"
COMITY_INSECURE=${insecure}
