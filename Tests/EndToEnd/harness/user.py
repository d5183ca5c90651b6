"""A user of a test's own: registered and confirmed through the gateway."""

import itertools

from .account import Account
from .gateway import LocalPool

PASSWORD = "Brand-New-Horse-9"
_numbers = itertools.count(1)


def new_email() -> str:
    return f"user{next(_numbers)}@example.com"


def register(account: Account, email: str, password: str = PASSWORD, **more) -> dict:
    answer = account.post("register", {"email": email, "password": password, **more})
    assert answer.status == 201, answer.body
    return answer.json()


def confirmed_user(account: Account, pool: LocalPool, password: str = PASSWORD, **more) -> str:
    """A new user's e-mail address."""
    email = new_email()
    register(account, email, password, **more)
    answer = account.post("confirm", {"email": email, "code": pool.confirmation_code(email)})
    assert answer.status == 204, answer.body
    return email


def signed_in_user(account: Account, pool: LocalPool, **login) -> tuple[str, dict]:
    """A new user's e-mail address and tokens."""
    email = confirmed_user(account, pool)
    answer = account.login(email, PASSWORD, **login)
    assert answer.status == 200, answer.body
    return email, answer.json()
