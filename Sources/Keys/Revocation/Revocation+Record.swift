package import Pipeline
package import Store

extension RevocationRecord {
    package init(_ revocation: Revocation) {
        let (claim, value, before, spared): (String, String, Int64?, String?) =
            switch revocation.target {
            case .originID(let value): ("origin_jti", value, nil, nil)
            case .tokenID(let value): ("jti", value, nil, nil)
            case .session(let value): ("sid", value, nil, nil)
            case .subject(let value, let before): ("sub", value, before, nil)
            case .otherSignIns(let value, let before, let origin): ("sub", value, before, origin)
            }
        self.init(
            issuer: revocation.issuer, claim: claim, value: value, before: before, sparing: spared,
            endsAt: revocation.endsAt)
    }
}

extension Revocation {
    /// Nil for a claim that this version does not know.
    package init?(_ record: RevocationRecord) {
        let target: Target
        switch record.claim {
        case "origin_jti": target = .originID(record.value)
        case "jti": target = .tokenID(record.value)
        case "sid": target = .session(record.value)
        case "sub":
            let before = record.before ?? .max
            target =
                record.sparing.map { .otherSignIns(record.value, before: before, sparing: $0) }
                ?? .subject(record.value, before: before)
        default: return nil
        }
        self.init(issuer: record.issuer, target, endsAt: record.endsAt)
    }
}
