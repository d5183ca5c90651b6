/// Readings of an accepted path by software that is less strict.
extension RequestPath {
    private enum Controls: CaseIterable {
        case kept, dropped, ending
    }

    /// The normal form under every combination of these readings, each of which is somebody's:
    ///
    /// - `;parameters` dropped from segments, and the decoded path cut at `?` or `#`;
    /// - controls dropped (WHATWG URL drops tabs and line breaks), or the path ended by one (a `$` in many regular
    ///   expressions matches before a last line feed, so that `/admin%0A` is `/admin` to the backend);
    /// - a last segment `.` or `..` resolved (RFC 3986 §5.2.4).
    ///
    /// A route is only found where all of them lead to the same one. Such a target can then be forwarded as it came:
    /// whichever way the backend reads it, the policy is the one that was applied.
    func otherReadings() -> [[UInt8]] {
        var readings: [[UInt8]] = []
        for controls in Controls.allCases {
            for cutting in [false, true] {
                let reading = reading(controls, cutting: cutting)
                readings.append(Self.normal(reading))
                readings.append(Self.normal(Self.withFinalDotsResolved(reading)))
            }
        }
        return readings
    }

    private func reading(_ controls: Controls, cutting: Bool) -> [UInt8] {
        withBytes { bytes in
            var result: [UInt8] = []
            result.reserveCapacity(bytes.count)
            var inParameter = false
            for index in bytes.indices {
                let byte = bytes[index]
                if cutting, byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") { break }
                if PathBytes.isControl(byte), controls != .kept {
                    if controls == .ending { break }
                    continue
                }
                if byte == UInt8(ascii: ";") { inParameter = cutting }
                if byte == UInt8(ascii: "/") { inParameter = false }
                if !inParameter { result.append(byte) }
            }
            return result
        }
    }

    private static func withFinalDotsResolved(_ path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        guard let last = path.lastIndex(of: slash) else { return path }
        switch path[(last + 1)...] {
        case [UInt8(ascii: ".")]: return Array(path[...last])
        case [UInt8(ascii: "."), UInt8(ascii: ".")]:
            return Array(path[...(path[..<last].lastIndex(of: slash) ?? last)])
        default: return path
        }
    }

    private static func normal(_ path: [UInt8]) -> [UInt8] {
        path.count > 1 && path.last == UInt8(ascii: "/") ? path.dropLast() : path
    }
}
