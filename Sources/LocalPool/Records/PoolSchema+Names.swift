extension PoolSchema {
    /// Fifth migration: users who chose a name, without an e-mail address, or with one that other users share.
    ///
    /// An e-mail address is unique only if it is a name, so the column's constraint is removed. GRDB does not enforce
    /// foreign keys during a migration: dropping the table deletes no rows of others.
    static let names = """
        CREATE TABLE users_with_names (
            sub TEXT PRIMARY KEY,
            username TEXT NOT NULL DEFAULT '',
            email TEXT NOT NULL DEFAULT '' COLLATE NOCASE,
            password_hash TEXT NOT NULL,
            attributes TEXT NOT NULL,
            groups TEXT NOT NULL,
            failed_attempts INTEGER NOT NULL DEFAULT 0,
            locked_until INTEGER NOT NULL DEFAULT 0,
            created_at INTEGER NOT NULL,
            status TEXT NOT NULL DEFAULT 'UNCONFIRMED',
            is_enabled INTEGER NOT NULL DEFAULT 1,
            is_email_verified INTEGER NOT NULL DEFAULT 0,
            is_phone_verified INTEGER NOT NULL DEFAULT 0,
            srp_salt TEXT,
            srp_verifier TEXT,
            totp_key TEXT,
            totp_pending_key TEXT,
            totp_last_count INTEGER NOT NULL DEFAULT -1,
            mfa_methods TEXT NOT NULL DEFAULT '[]',
            preferred_mfa TEXT,
            password_expires_at INTEGER,
            changed_at INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO users_with_names (sub, email, password_hash, attributes, groups, failed_attempts, locked_until,
                created_at, status, is_enabled, is_email_verified, is_phone_verified, srp_salt, srp_verifier, totp_key,
                totp_pending_key, totp_last_count, mfa_methods, preferred_mfa, password_expires_at, changed_at)
            SELECT sub, email, password_hash, attributes, groups, failed_attempts, locked_until,
                created_at, status, is_enabled, is_email_verified, is_phone_verified, srp_salt, srp_verifier, totp_key,
                totp_pending_key, totp_last_count, mfa_methods, preferred_mfa, password_expires_at, changed_at
            FROM users;
        DROP TABLE users;
        ALTER TABLE users_with_names RENAME TO users;

        CREATE TABLE user_names (
            folded TEXT NOT NULL,
            exact TEXT NOT NULL,
            sub TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
            PRIMARY KEY (folded, exact)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX user_names_by_sub ON user_names (sub);
        """
}
