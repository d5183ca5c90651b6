// Compiled by run.sh into one module with the CBOR of Sources/LocalPool/WebAuthn, which imports nothing.

/// The only spelling of a value that the reader takes.
private func encoded(_ value: CBOR) -> [UInt8] {
    switch value {
    case .unsigned(let number): head(0, number)
    case .negative(let number): head(1, number)
    case .bytes(let bytes): head(2, UInt64(bytes.count)) + bytes
    case .text(let text): head(3, UInt64(text.utf8.count)) + Array(text.utf8)
    case .array(let elements): head(4, UInt64(elements.count)) + elements.flatMap(encoded)
    case .map(let members): head(5, UInt64(members.count)) + members.flatMap { encoded($0.key) + encoded($0.value) }
    case .bool(let flag): [flag ? 0xF5 : 0xF4]
    case .null: [0xF6]
    }
}

private func head(_ type: UInt8, _ argument: UInt64) -> [UInt8] {
    func bytes(_ count: UInt64) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: argument >> ($0 * 8)) }
    }
    return switch argument {
    case 0..<24: [type << 5 | UInt8(argument)]
    case 24..<1 << 8: [type << 5 | 24] + bytes(1)
    case 1 << 8..<1 << 16: [type << 5 | 25] + bytes(2)
    case 1 << 16..<1 << 32: [type << 5 | 26] + bytes(4)
    default: [type << 5 | 27] + bytes(8)
    }
}

private func depth(_ value: CBOR) -> Int {
    switch value {
    case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
    case .map(let members): 1 + (members.map { max(depth($0.key), depth($0.value)) }.max() ?? 0)
    default: 0
    }
}

private func checkKeys(_ value: CBOR) {
    for element in [value.elements, value.mapValue?.map(\.value)].compactMap({ $0 }).joined() { checkKeys(element) }
    guard let members = value.mapValue else { return }
    for (index, member) in members.enumerated() {
        precondition(!members[..<index].contains { $0.key == member.key }, "a key is repeated")
        precondition(value[member.key] == member.value, "a member is not found by its key")
    }
}

extension CBOR {
    fileprivate var elements: [CBOR]? { if case .array(let elements) = self { elements } else { nil } }
}

/// Input: what an authenticator sends.
@_cdecl("fuzzCBOR")
public func fuzzCBOR(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    var reader = CBORReader(bytes)
    if let value = try? reader.read() {
        let read = Array(bytes.dropLast(reader.rest.count))
        precondition(encoded(value) == read, "a value has a second spelling")
        precondition(depth(value) <= 7, "deeper than the limit")
        checkKeys(value)
        precondition((try? CBORReader.value(of: bytes)) == (reader.rest.isEmpty ? value : nil), "bytes are left")
    }
    guard let data = try? AuthenticatorData(bytes) else { return 0 }
    precondition(bytes.starts(with: data.relyingPartyHash), "another hash is read")
    if let credential = data.credential {
        precondition((1...1023).contains(credential.id.count), "an id is too short or too long")
        precondition((try? CBORReader.value(of: credential.publicKey)) != nil, "the key is no value")
    }
    return 0
}
