"""HTTP on this machine's own address: ports, a client, and who may call."""
