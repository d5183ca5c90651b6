internal import CNghttp2

/// The fields of a head to be sent. A list is reused for many heads of an event loop.
package final class HTTP2FieldList {
    struct Entry {
        let name: Range<Int>
        let value: Range<Int>
        let isNeverIndexed: Bool
    }

    /// It is a value, so that exclusive access is checked once per call, and not at each step.
    struct Contents {
        var bytes: [UInt8] = []
        var entries: [Entry] = []

        @inline(__always)
        mutating func append(_ name: some Sequence<UInt8>, _ value: some Sequence<UInt8>, _ isNeverIndexed: Bool) {
            let start = bytes.count
            bytes.append(contentsOf: name)
            let middle = bytes.count
            bytes.append(contentsOf: value)
            entries.append(Entry(name: start..<middle, value: middle..<bytes.count, isNeverIndexed: isNeverIndexed))
        }

        mutating func removeAll() {
            bytes.removeAll(keepingCapacity: bytes.count <= 16 << 10)
            entries.removeAll(keepingCapacity: true)
        }
    }

    /// Its methods call nothing that could come back to the list.
    @exclusivity(unchecked) private(set) var contents = Contents()

    package init() {
        contents.bytes.reserveCapacity(2048)
        contents.entries.reserveCapacity(32)
    }

    package var isEmpty: Bool { contents.entries.isEmpty }

    package func removeAll() { contents.removeAll() }

    /// - Parameters:
    ///   - name: the name in any case; it is sent in lower case.
    ///   - isNeverIndexed: true for secrets, and for values that would only displace others from the table (RFC 7541
    ///     §6.2.3).
    package func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isNeverIndexed: Bool = false) {
        contents.append(name, value, isNeverIndexed)
    }

    package func append(_ name: String, _ value: String, isNeverIndexed: Bool = false) {
        contents.append(name.utf8, value.utf8, isNeverIndexed)
    }

    /// Calls `body` with the fields in libnghttp2's format. libnghttp2 copies them.
    func withFields<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        let entries = contents.entries
        return contents.bytes.withUnsafeMutableBufferPointer { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: max(1, entries.count)) { fields in
                guard let base = bytes.baseAddress else { return body(nil, 0) }
                for (index, entry) in entries.enumerated() {
                    let flags = entry.isNeverIndexed ? NGHTTP2_NV_FLAG_NO_INDEX.rawValue : NGHTTP2_NV_FLAG_NONE.rawValue
                    fields.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: base + entry.name.lowerBound, value: base + entry.value.lowerBound,
                            namelen: entry.name.count, valuelen: entry.value.count, flags: UInt8(flags)))
                }
                return body(UnsafePointer(fields.baseAddress), entries.count)
            }
        }
    }
}
