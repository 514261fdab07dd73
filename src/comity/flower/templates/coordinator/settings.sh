# Where things are. Edit here; a variable of the environment wins.
# COMITY_LISTEN is where this machine listens for sites, which connect to ${address}.
: "$${COMITY_LISTEN:=${listen}}"
# What starts runs and registers keys listens on 127.0.0.1 only, at this port.
: "$${COMITY_CONTROL_PORT:=${control_port}}"
COMITY_INSECURE=${insecure}
