internal import Store

/// The local pool's tables. Times are seconds since 1970.
enum PoolSchema {
    static let migrations = [
        Store.Migration(
            name: "1 first tables",
            sql: """
                CREATE TABLE signing_keys (
                    token_use TEXT PRIMARY KEY,
                    key_id TEXT NOT NULL,
                    pem TEXT NOT NULL
                ) STRICT;
                CREATE TABLE users (
                    sub TEXT PRIMARY KEY,
                    email TEXT NOT NULL UNIQUE COLLATE NOCASE,
                    password_hash TEXT NOT NULL,
                    is_confirmed INTEGER NOT NULL,
                    attributes TEXT NOT NULL,
                    groups TEXT NOT NULL,
                    failed_attempts INTEGER NOT NULL DEFAULT 0,
                    locked_until INTEGER NOT NULL DEFAULT 0,
                    created_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE codes (
                    sub TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
                    purpose TEXT NOT NULL,
                    code TEXT NOT NULL,
                    expires_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (sub, purpose)
                ) STRICT;
                CREATE TABLE messages (
                    id INTEGER PRIMARY KEY,
                    email TEXT NOT NULL COLLATE NOCASE,
                    purpose TEXT NOT NULL,
                    code TEXT NOT NULL,
                    sent_at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX messages_by_email ON messages (email);
                CREATE TABLE refresh_tokens (
                    token_hash TEXT PRIMARY KEY,
                    origin_jti TEXT NOT NULL,
                    sub TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
                    auth_time INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL,
                    replaced_at INTEGER
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX refresh_tokens_by_sub ON refresh_tokens (sub);
                """),
        Store.Migration(name: "2 the whole account life", sql: accountLife),
        Store.Migration(name: "3 sign in with Apple", sql: apple),
        Store.Migration(name: "4 passkeys", sql: passkeys),
        Store.Migration(name: "5 names of users", sql: names),
        Store.Migration(name: "6 addresses that wait for their code", sql: "ALTER TABLE codes ADD COLUMN value TEXT"),
        Store.Migration(name: "7 hosted sign-in", sql: hosted),
        Store.Migration(name: "8 groups and app clients", sql: groupsAndClients),
    ]
}
