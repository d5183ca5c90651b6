internal import Cryptography
internal import Encoding
internal import Pipeline
internal import SettingsReader

/// Reads the source of an issuer's keys.
struct KeySourceReading {
    let keys: SettingsMapping
    let allowsPlainText: Bool

    /// `jwks_url` or `jwks_file`; otherwise the URL that follows from the issuer.
    func keySet(among algorithms: [SignatureAlgorithm], derived: ServiceURL?) -> Issuer.KeySource? {
        if let given = given(algorithms) { return given }
        guard !isGiven, let derived else { return nil }
        return allowed(derived, by: "issuer").map { .url($0.description) }
    }

    /// The keys that sign this gateway's own sessions; otherwise `jwks_url` or `jwks_file` with another gateway's keys.
    func ownOrGivenKeys() -> Issuer.KeySource? {
        guard keys.value("own_keys", .boolean, default: false) else {
            if !isGiven { keys.node.error("needs own_keys: true, jwks_url or jwks_file") }
            return given([.es256])
        }
        if isGiven { keys.error("own_keys", "must not be true beside jwks_url or jwks_file") }
        return .own
    }

    /// The source of an OpenID Connect provider's keys; exactly one must be given.
    func openIDKeys(issuer: String?, discovers: Bool, _ algorithms: [SignatureAlgorithm]) -> Issuer.KeySource? {
        let secret = keys.optional("secret")
        let set = given(algorithms)
        let named = ["jwks_url", "jwks_file", "secret"].filter(keys.has) + (discovers ? ["discovery"] : [])
        guard named.count == 1 else {
            keys.node.error(
                named.isEmpty
                    ? "needs jwks_url, discovery, jwks_file or secret"
                    : "must have only one of \(named.joined(separator: ", "))")
            return nil
        }
        if let secret { return self.secret(secret, algorithms) }
        guard discovers else { return set }
        let url = issuer.flatMap { IssuerParts.derived(from: $0, "/.well-known/openid-configuration") }
        return url.flatMap { allowed($0, by: "issuer") }.map { .discovery($0.description) }
    }

    private var isGiven: Bool { keys.has("jwks_url") || keys.has("jwks_file") }

    private func given(_ algorithms: [SignatureAlgorithm]) -> Issuer.KeySource? {
        let (url, file) = (keys.optional("jwks_url"), keys.optional("jwks_file"))
        if url != nil, let file { file.error("must not be given beside jwks_url") }
        if let file { return document(file, algorithms) }
        return url?.read(.url).flatMap { allowed($0, by: "jwks_url") }.map { .url($0.description) }
    }

    private func allowed(_ url: ServiceURL, by key: String) -> ServiceURL? {
        guard url.isPlain, !allowsPlainText else { return url }
        keys.error(key, "key sets are fetched over https only, unless allow_insecure_http is true")
        return nil
    }

    /// Reads the key set as the gateway does at runtime, so that `check` finds its errors.
    private func document(_ node: SettingsNode, _ algorithms: [SignatureAlgorithm]) -> Issuer.KeySource? {
        guard let bytes = node.readFile() else { return nil }
        do throws(KeySetError) {
            let set = try KeySet(jwks: bytes, algorithms: algorithms, generation: 0)
            if set.isEmpty { node.refuse((["holds no usable key"] + set.dropped).joined(separator: "; ")) }
        } catch {
            node.refuse("is not a JSON Web Key Set: \(error.rawValue)")
        }
        return .document(bytes)
    }

    private func secret(_ node: SettingsNode, _ algorithms: [SignatureAlgorithm]) -> Issuer.KeySource? {
        let keyID = keys.value("key_id", .text)
        guard let secret = node.readSecret(), let algorithm = algorithms.first else { return nil }
        do throws(CryptographyError) {
            _ = try VerificationKey.shared(secret, algorithm: algorithm)
        } catch {
            node.error("must be at least as long as the digest of \(algorithm.rawValue) (RFC 7518, 3.2)")
        }
        return .secret(secret, keyID: keyID)
    }
}

extension SettingsMapping {
    /// The algorithms of public keys: a public key set holds no secret.
    func algorithms(default standard: [SignatureAlgorithm]) -> [SignatureAlgorithm] {
        let format = ScalarFormat.algorithm { $0.keyType != .secret }
        if isEmptyList("algorithms") { error("algorithms", "must name at least one") }
        return list("algorithms", format, of: "signature algorithms") ?? standard
    }

    /// The algorithm of a secret: a key is for one algorithm only (RFC 7518, 3.2; RFC 8725, 3.1).
    func secretAlgorithm() -> [SignatureAlgorithm] {
        let format = ScalarFormat.algorithm { $0.keyType == .secret }
        guard let named = list("algorithms", format, of: "signature algorithms") else { return [.hs256] }
        if named.count > 1 || isEmptyList("algorithms") {
            error("algorithms", "must name one, since a secret is for one only")
        }
        return named
    }
}

extension ScalarFormat where Value == SignatureAlgorithm {
    fileprivate static func algorithm(where isAllowed: (SignatureAlgorithm) -> Bool) -> Self {
        let words = ScalarFormat<String>.word(among: SignatureAlgorithm.allCases.filter(isAllowed).map(\.rawValue))
        return Self(schema: words.schema) { (text) throws(ScalarRefusal) in
            guard let value = SignatureAlgorithm(rawValue: try words.read(text)) else {
                throw ScalarRefusal("is not known")
            }
            return value
        }
    }
}
