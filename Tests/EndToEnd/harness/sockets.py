"""Sockets of other processes, as their kernel has them."""

import ctypes
import errno
import os
import socket

import pytest

from .process import Process

_PIDFD_GETFD = 438


def connected_to(process: Process, client: socket.socket) -> socket.socket:
    """A copy of the socket that a process has accepted from `client`.

    Skips the test where this process may not trace the other one, which is wanted for it (pidfd_getfd(2)).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    watched = os.pidfd_open(process.pid)
    try:
        for number in map(int, os.listdir(f"/proc/{process.pid}/fd")):
            if not is_socket(process, number):
                continue
            copy = libc.syscall(_PIDFD_GETFD, watched, number, 0)
            if copy < 0 and ctypes.get_errno() == errno.EBADF:
                continue  # it has been closed meanwhile
            if copy < 0 and ctypes.get_errno() == errno.EPERM:
                pytest.skip("a socket of another process wants the right to trace it")
            if copy < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            found = socket.socket(fileno=copy)
            try:
                if found.getpeername() == client.getsockname():
                    return found
            except OSError:
                pass  # it is not connected
            found.close()
    finally:
        os.close(watched)
    raise AssertionError("no socket of the process is connected to the client")


def is_socket(process: Process, number: int) -> bool:
    try:
        return os.readlink(f"/proc/{process.pid}/fd/{number}").startswith("socket:")
    except FileNotFoundError:
        return False
