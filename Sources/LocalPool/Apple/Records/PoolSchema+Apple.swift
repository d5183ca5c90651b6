extension PoolSchema {
    /// Third migration: the local Apple.
    static let apple = """
        CREATE TABLE apple_keys (
            key_id TEXT PRIMARY KEY,
            pem TEXT NOT NULL,
            is_current INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE apple_accounts (
            sub TEXT PRIMARY KEY,
            email TEXT NOT NULL UNIQUE COLLATE NOCASE,
            is_email_verified INTEGER NOT NULL,
            relay_email TEXT NOT NULL,
            hides_email INTEGER NOT NULL,
            given_name TEXT,
            family_name TEXT,
            real_user_status INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE apple_consents (
            sub TEXT NOT NULL REFERENCES apple_accounts ON DELETE CASCADE,
            client_id TEXT NOT NULL,
            hides_email INTEGER NOT NULL,
            PRIMARY KEY (sub, client_id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE apple_tokens (
            token_hash TEXT PRIMARY KEY,
            kind TEXT NOT NULL,
            sub TEXT NOT NULL,
            client_id TEXT NOT NULL,
            nonce TEXT,
            auth_time INTEGER NOT NULL,
            expires_at INTEGER,
            used_at INTEGER,
            FOREIGN KEY (sub, client_id) REFERENCES apple_consents ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX apple_tokens_by_consent ON apple_tokens (sub, client_id);
        """
}
