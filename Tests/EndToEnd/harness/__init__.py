"""What the end-to-end tests stand on: processes, a recording backend, a key server, raw sockets."""
