extension PoolSchema {
    /// Users of identity providers, and the scope of the tokens of a hosted sign-in.
    static let hosted = """
        ALTER TABLE users ADD COLUMN identity TEXT;
        ALTER TABLE refresh_tokens ADD COLUMN scope TEXT;
        """
}
