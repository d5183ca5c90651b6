// Compiled by run.sh into one module with Sources/AppAudit.

/// Input: a binary property list without its magic bytes.
@_cdecl("fuzzAppPropertyList")
public func fuzzAppPropertyList(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array("bplist00".utf8) + UnsafeBufferPointer(start: start, count: count)
    guard let text = BinaryPropertyList.text(of: bytes) else { return 0 }
    precondition(text.count < 8 << 20, "a small list stands for a huge text")
    precondition(BinaryPropertyList.text(of: bytes) == text, "it reads differently")
    let role = FileRole(path: "Info.plist", language: .binary)
    let content = Content(bytes: text, language: .binary)
    _ = Scanner.standard.findings(in: content, path: "Info.plist", role: role)
    return 0
}
