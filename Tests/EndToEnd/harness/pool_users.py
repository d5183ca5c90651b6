"""Users in any state in a running LocalPool, put into its database: no call of Cognito's makes all of them at once."""

import sqlite3
import time
import uuid
from contextlib import closing

from .account import Account
from .gateway import ADA, LocalPool

UNKNOWN, LOCKED = "unknown", "locked"
# The states of an account, but for those at the gateway.
STATES = {
    "unconfirmed": {"status": "UNCONFIRMED", "is_email_verified": 0},
    "confirmed": {"status": "CONFIRMED"},
    "disabled": {"status": "CONFIRMED", "is_enabled": 0},
    "federated": {"status": "EXTERNAL_PROVIDER"},
}


def _change(pool: LocalPool, statement: str, *arguments: object) -> None:
    with closing(sqlite3.connect(pool.config["database"], timeout=30)) as database, database:
        database.execute(statement, arguments)


def add_user(pool: LocalPool, email: str, like: str, **columns: object) -> str:
    """A user with the password of the user `like`; the `sub`."""
    sub = str(uuid.uuid4())
    with closing(sqlite3.connect(pool.config["database"], timeout=30)) as database, database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM users WHERE email = ?", (like,)).fetchone())
        # Without a proof for SRP, which goes with the `sub`.
        row |= {"sub": sub, "email": email, "srp_salt": None, "srp_verifier": None, "groups": "[]", "attributes": "{}"}
        row |= {"created_at": int(time.time()), **columns}
        names = ", ".join(row)
        database.execute(f"INSERT INTO users ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        database.execute("INSERT INTO user_names (folded, exact, sub) VALUES (?, '', ?)", (email.lower(), sub))
    return sub


def put_in_state(account: Account, pool: LocalPool, email: str, state: str, **columns: object) -> str:
    """Gives the address an account in this state, with another one's password; the address.

    `LOCKED`, and that with `UNKNOWN` behind it, are locked at the gateway, which must lock after a failure or two.
    """
    if state != UNKNOWN and state != f"{LOCKED} {UNKNOWN}":
        add_user(pool, email, ADA[0], **STATES.get(state, STATES["confirmed"]) | columns)
    if state.startswith(LOCKED):
        for _ in range(account.gateway.config["account_limits"]["lockout"]["after"]):
            assert account.login(email, "Nobody-Horse-33").status == 401
    return email


def change_user(pool: LocalPool, email: str, **columns: object) -> None:
    assignments = ", ".join(f"{name} = ?" for name in columns)
    _change(pool, f"UPDATE users SET {assignments} WHERE email = ?", *columns.values(), email)


def open_refresh_tokens(pool: LocalPool, email: str) -> int:
    """How many of Cognito's refresh tokens of a user are good."""
    with closing(sqlite3.connect(pool.config["database"], timeout=30)) as database:
        query = """SELECT count(*) FROM refresh_tokens JOIN users USING (sub)
            WHERE email = ? AND revoked_at IS NULL AND replaced_at IS NULL"""
        return database.execute(query, (email,)).fetchone()[0]
