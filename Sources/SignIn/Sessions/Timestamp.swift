internal import FoundationEssentials

/// Times as people read them (RFC 3339).
enum Timestamp {
    static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
