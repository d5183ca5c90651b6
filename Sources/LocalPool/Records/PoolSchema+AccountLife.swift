extension PoolSchema {
    /// Second migration: users' states, SRP, second factors, challenges, devices, several clients, key rotation.
    ///
    /// Existing users can still sign in. They have no SRP verifier until they next enter their password, because it
    /// can't be derived from a hash. Tokens from before there were several clients have an empty `client_id`.
    static let accountLife = """
        ALTER TABLE users ADD COLUMN status TEXT NOT NULL DEFAULT 'UNCONFIRMED';
        ALTER TABLE users ADD COLUMN is_enabled INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE users ADD COLUMN is_email_verified INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE users ADD COLUMN is_phone_verified INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE users ADD COLUMN srp_salt TEXT;
        ALTER TABLE users ADD COLUMN srp_verifier TEXT;
        ALTER TABLE users ADD COLUMN totp_key TEXT;
        ALTER TABLE users ADD COLUMN totp_pending_key TEXT;
        ALTER TABLE users ADD COLUMN totp_last_count INTEGER NOT NULL DEFAULT -1;
        ALTER TABLE users ADD COLUMN mfa_methods TEXT NOT NULL DEFAULT '[]';
        ALTER TABLE users ADD COLUMN preferred_mfa TEXT;
        ALTER TABLE users ADD COLUMN password_expires_at INTEGER;
        ALTER TABLE users ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
        UPDATE users SET status = 'CONFIRMED', is_email_verified = 1 WHERE is_confirmed = 1;
        UPDATE users SET changed_at = created_at;
        ALTER TABLE users DROP COLUMN is_confirmed;

        ALTER TABLE refresh_tokens ADD COLUMN client_id TEXT NOT NULL DEFAULT '';
        ALTER TABLE refresh_tokens ADD COLUMN device_key TEXT;
        ALTER TABLE refresh_tokens ADD COLUMN revoked_at INTEGER;
        CREATE INDEX refresh_tokens_by_origin ON refresh_tokens (origin_jti);

        ALTER TABLE messages ADD COLUMN medium TEXT NOT NULL DEFAULT 'EMAIL';

        CREATE TABLE challenges (
            id TEXT PRIMARY KEY,
            sub TEXT REFERENCES users ON DELETE CASCADE,
            client_id TEXT NOT NULL,
            name TEXT NOT NULL,
            data TEXT NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            expires_at INTEGER NOT NULL,
            used_at INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX challenges_by_sub ON challenges (sub);

        CREATE TABLE devices (
            device_key TEXT PRIMARY KEY,
            sub TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
            group_key TEXT NOT NULL,
            name TEXT,
            salt TEXT,
            verifier TEXT,
            is_remembered INTEGER NOT NULL DEFAULT 0,
            created_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL,
            authenticated_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX devices_by_sub ON devices (sub);

        CREATE TABLE attempts (
            who TEXT NOT NULL,
            kind TEXT NOT NULL,
            started_at INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (who, kind)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE pool_values (
            name TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        ALTER TABLE signing_keys RENAME TO first_signing_keys;
        CREATE TABLE signing_keys (
            key_id TEXT PRIMARY KEY,
            token_use TEXT NOT NULL,
            pem TEXT NOT NULL,
            is_current INTEGER NOT NULL
        ) STRICT;
        INSERT INTO signing_keys (key_id, token_use, pem, is_current)
            SELECT key_id, token_use, pem, 1 FROM first_signing_keys;
        DROP TABLE first_signing_keys;
        """
}
