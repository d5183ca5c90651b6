"""The parts that the end-to-end tests share: processes, a recording backend, a key server, raw sockets."""
