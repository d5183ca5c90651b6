// Compiled by run.sh with Sources/Encoding.

@testable import Encoding

/// Calls `body` with every value inside `value`, itself first.
private func visit(_ value: JSON, depth: Int = 1, _ body: (JSON, Int) -> Void) {
    body(value, depth)
    for element in value.arrayValue ?? [] { visit(element, depth: depth + 1, body) }
    for member in value.objectValue ?? [:] { visit(member.value, depth: depth + 1, body) }
}

/// All forms of a number must agree, and reading them never ends the process.
private func check(_ number: JSONNumber) {
    guard let date = number.numericDate else { return }
    precondition(abs(date) <= 1 << 53, "a date is out of bounds")
    precondition(number.integerValue.map { $0 == date } ?? true, "an integer is another date")
    // The double may be rounded up to the next second.
    precondition(Double(date) <= number.doubleValue && number.doubleValue <= Double(date) + 1, "a date is off")
}

private func checkBase64(_ bytes: [UInt8]) {
    precondition(Base64URL.decode(Base64URL.encode(bytes).utf8) == bytes, "Base64URL does not come back")
    if let decoded = Base64URL.decode(bytes) {
        precondition(Array(Base64URL.encode(decoded).utf8) == bytes, "bytes have a second spelling in Base64URL")
    }
    if let decoded = Base64.decode(bytes) {
        precondition(Array(Base64.encode(decoded).utf8) == bytes, "bytes have a second spelling in Base64")
    }
}

/// Input: a JSON text, and any bytes for Base64.
@_cdecl("fuzzJSON")
public func fuzzJSON(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    checkBase64(bytes)
    let limits = JSONLimits(maximumBytes: 1 << 20, maximumDepth: 16)
    guard let value = try? JSON.parse(bytes, limits: limits) else { return 0 }
    precondition(String(validating: bytes, as: UTF8.self) != nil, "what is no text was read")
    let encoded = value.encoded()
    guard let again = try? JSON.parse(encoded, limits: limits) else { preconditionFailure("its own text is refused") }
    precondition(again == value && again.encoded() == encoded, "another value is read from its own text")
    precondition((try? JSON.parse(bytes + [0x7b], limits: limits)) == nil, "bytes behind the value are let through")
    visit(value) { value, depth in
        precondition(depth <= limits.maximumDepth + 1, "deeper than the limit")
        if let number = value.numberValue { check(number) }
        guard let object = value.objectValue else { return }
        var names: Set<[UInt8]> = []
        for member in object {
            precondition(names.insert(Array(member.name.utf8)).inserted, "a name is repeated")
            precondition(object[member.name] == member.value, "a member is not found by its name")
        }
    }
    return 0
}
