/// Renders Apple's binary property lists in the form of XML ones, without header and escaping.
///
/// Only keys and strings are rendered, since the rules use nothing else.
struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let tableOffset: Int
    private var visits = 0
    private var text: [UInt8] = []

    private static let magic = Array("bplist00".utf8)
    private static let maximumDepth = 32
    /// Several objects may refer to the same one, so that a small list could expand to a huge one.
    private static let maximumVisits = 100_000
    private static let maximumText = 4 << 20

    static func isOne(_ bytes: [UInt8]) -> Bool { bytes.has(magic, at: 0) }

    /// Returns nil if the list is damaged or too large.
    static func text(of bytes: [UInt8]) -> [UInt8]? {
        guard var list = BinaryPropertyList(bytes), let top = list.number(at: bytes.count - 16, size: 8),
            list.render(top, depth: 0, isKey: false)
        else { return nil }
        return list.text
    }

    private init?(_ bytes: [UInt8]) {
        guard Self.isOne(bytes), bytes.count >= 40 else { return nil }
        let trailer = bytes.count - 32
        self.bytes = bytes
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        func large(_ place: Int) -> Int? {
            let value = bytes[place..<place + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return value <= UInt64(bytes.count) ? Int(value) : nil
        }
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize), let count = large(trailer + 8),
            let offset = large(trailer + 24), offset + count * offsetSize <= trailer
        else { return nil }
        (objectCount, tableOffset) = (count, offset)
    }

    /// A big-endian number; nil if it is larger than the file's size.
    private func number(at place: Int, size: Int) -> Int? {
        guard place >= 0, size >= 0, place <= bytes.count - size else { return nil }
        var value = 0
        for byte in bytes[place..<place + size] {
            value = value << 8 | Int(byte)
            guard value <= bytes.count else { return nil }
        }
        return value
    }

    private mutating func render(_ object: Int, depth: Int, isKey: Bool) -> Bool {
        visits += 1
        guard depth <= Self.maximumDepth, visits <= Self.maximumVisits, text.count <= Self.maximumText,
            object < objectCount, let place = number(at: tableOffset + object * offsetSize, size: offsetSize),
            place < tableOffset
        else { return false }
        let marker = bytes[place]
        switch marker >> 4 {
        case 0x5, 0x6, 0x7: return renderText(marker, place, isKey)
        case 0xA, 0xC: return renderElements(marker, place, depth)
        case 0xD: return renderMembers(marker, place, depth)
        default: return true
        }
    }

    /// The number of an object's parts, and the offset of the first.
    private func count(_ marker: UInt8, _ place: Int) -> (count: Int, start: Int)? {
        guard marker & 0x0F == 0x0F else { return (Int(marker & 0x0F), place + 1) }
        guard let kind = bytes.byte(at: place + 1), kind >> 4 == 1, kind & 0x0F <= 3 else { return nil }
        let size = 1 << Int(kind & 0x0F)
        return number(at: place + 2, size: size).map { ($0, place + 2 + size) }
    }

    private mutating func renderText(_ marker: UInt8, _ place: Int, _ isKey: Bool) -> Bool {
        guard let (count, start) = count(marker, place) else { return false }
        let width = marker >> 4 == 0x6 ? 2 : 1
        guard start + count * width <= tableOffset else { return false }
        let content = bytes[start..<start + count * width]
        text += (isKey ? "<key>" : "<string>").utf8
        if width == 1 {
            text += content
        } else {
            let units = stride(from: start, to: content.endIndex, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
            text += String(decoding: units, as: UTF16.self).utf8
        }
        text += (isKey ? "</key>\n" : "</string>\n").utf8
        return true
    }

    private mutating func renderElements(_ marker: UInt8, _ place: Int, _ depth: Int) -> Bool {
        guard let (count, start) = count(marker, place) else { return false }
        return (0..<count).allSatisfy { index in
            guard let object = number(at: start + index * referenceSize, size: referenceSize) else { return false }
            return render(object, depth: depth + 1, isKey: false)
        }
    }

    private mutating func renderMembers(_ marker: UInt8, _ place: Int, _ depth: Int) -> Bool {
        guard let (count, start) = count(marker, place) else { return false }
        return (0..<count).allSatisfy { index in
            let value = start + (count + index) * referenceSize
            guard let key = number(at: start + index * referenceSize, size: referenceSize),
                let object = number(at: value, size: referenceSize)
            else { return false }
            return render(key, depth: depth + 1, isKey: true) && render(object, depth: depth + 1, isKey: false)
        }
    }
}
