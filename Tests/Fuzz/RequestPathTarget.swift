// Compiled by run.sh into one module with the path's part of Sources/Pipeline/Route.

import Encoding

/// A target whose path decodes to `path`, with escapes only where they are needed.
private func escaped(_ path: String) -> String {
    var result = ""
    for byte in path.utf8 {
        if PathBytes.isPlain(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: ";") {
            result.unicodeScalars.append(Unicode.Scalar(byte))
        } else {
            result += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
        }
    }
    return result
}

/// Whether decoding `text` once more would change it.
private func holdsEscape(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.indices.dropLast(2).contains { index in
        bytes.span.percentEncodedByte(at: index) != nil
    }
}

/// Input: a request target.
@_cdecl("fuzzRequestPath")
public func fuzzRequestPath(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let target = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let parsed = try? RequestPath.parse(target) else { return 0 }
    let path = parsed.path
    precondition(Array(parsed.target.utf8) == Array(target.utf8), "the target was changed")
    precondition(path.utf8.first == UInt8(ascii: "/") && !path.utf8.contains(0), "the path is none")
    precondition(path == "/" || path.utf8.last != UInt8(ascii: "/"), "a trailing slash is left")
    precondition(!holdsEscape(path), "the path can be decoded again")
    precondition(!path.utf8.contains(UInt8(ascii: "\\")), "a separator is left")
    let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for segment in segments.dropLast() {
        let bare = Array(segment.prefix { $0 != UInt8(ascii: ";") })
        precondition(!bare.isEmpty && bare != Array(".".utf8) && bare != Array("..".utf8), "a segment is left")
    }
    guard let again = try? RequestPath.parse(escaped(path)) else { preconditionFailure("the normal form is refused") }
    precondition(Array(again.path.utf8) == Array(path.utf8), "the normal form is no fixed point")
    let readings = parsed.otherReadings()
    precondition(readings.allSatisfy { $0.first == UInt8(ascii: "/") }, "a reading is no path")
    precondition(
        parsed.hasOtherReading || readings.allSatisfy { $0 == Array(path.utf8) }, "another reading goes unnoticed")
    return 0
}
