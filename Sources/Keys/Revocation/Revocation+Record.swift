package import Pipeline
internal import Store

extension RevocationRecord {
    package init(_ revocation: Revocation) {
        let (claim, value, before): (String, String, Int64?) =
            switch revocation.target {
            case .originID(let value): ("origin_jti", value, nil)
            case .tokenID(let value): ("jti", value, nil)
            case .session(let value): ("sid", value, nil)
            case .subject(let value, let before): ("sub", value, before)
            }
        self.init(issuer: revocation.issuer, claim: claim, value: value, before: before, endsAt: revocation.endsAt)
    }
}

extension Revocation {
    /// Nil for a claim that this version does not know.
    init?(_ record: RevocationRecord) {
        let target: Target
        switch record.claim {
        case "origin_jti": target = .originID(record.value)
        case "jti": target = .tokenID(record.value)
        case "sid": target = .session(record.value)
        case "sub": target = .subject(record.value, before: record.before ?? .max)
        default: return nil
        }
        self.init(issuer: record.issuer, target, endsAt: record.endsAt)
    }
}
