/// Searches for many texts in one pass (Aho and Corasick, 1975), ignoring the case of ASCII letters.
struct NeedleSet: Sendable {
    /// An occurrence of a needle.
    struct Hit: Sendable {
        let needle: Int
        let range: Range<Int>
    }

    private let lengths: [Int]
    /// The class of each byte. All bytes that are in no needle have class 0.
    private let classes: [UInt8]
    private let classCount: Int
    /// The next state for each state and class; the highest bit is set if needles end there.
    private let transitions: [UInt16]
    /// The needles that end in each state.
    private let outputs: [[Int]]

    private static let outputBit: UInt16 = 0x8000

    /// - Parameter needles: at least one byte each, and fewer than 32 768 bytes together.
    init(_ needles: [[UInt8]]) {
        let folded = needles.map { $0.map(lowercased) }
        precondition(folded.joined().count < 0x8000, "too many needles")
        lengths = folded.map(\.count)
        let alphabet = Set(folded.joined()).sorted()
        var classes = [UInt8](repeating: 0, count: 256)
        for (index, byte) in alphabet.enumerated() { classes[Int(byte)] = UInt8(index + 1) }
        for upper in UInt8(ascii: "A")...UInt8(ascii: "Z") { classes[Int(upper)] = classes[Int(upper | 0x20)] }
        self.classes = classes
        classCount = alphabet.count + 1
        var tree = Tree(classCount: classCount)
        for (index, needle) in folded.enumerated() { tree.insert(needle.map { Int(classes[Int($0)]) }, index) }
        tree.connect()
        outputs = tree.outputs
        transitions = tree.next.map { [outputs = tree.outputs] state in
            UInt16(state) | (outputs[state].isEmpty ? 0 : Self.outputBit)
        }
    }

    /// The maximum number of hits, which bounds memory use.
    static let maximumHits = 100_000

    /// The hits of all needles, in the order of their ends.
    func hits(in bytes: borrowing Span<UInt8>) -> [Hit] {
        var found: [Hit] = []
        var state = 0
        let (transitions, classes) = (transitions.span, classes.span)
        for index in bytes.indices {
            let next = transitions[state &* classCount &+ Int(classes[Int(bytes[index])])]
            state = Int(next & ~Self.outputBit)
            guard next & Self.outputBit != 0 else { continue }
            for needle in outputs[state] {
                found.append(Hit(needle: needle, range: index + 1 - lengths[needle]..<index + 1))
            }
            if found.count >= Self.maximumHits { break }
        }
        return found
    }
}

/// The trie of the needles during construction.
private struct Tree {
    let classCount: Int
    var next: [Int]
    var outputs: [[Int]] = [[]]
    private var depths = [0]

    init(classCount: Int) {
        self.classCount = classCount
        next = Array(repeating: 0, count: classCount)
    }

    mutating func insert(_ needle: [Int], _ number: Int) {
        var state = 0
        for byteClass in needle {
            let place = state * classCount + byteClass
            if next[place] == 0 {
                next[place] = outputs.count
                outputs.append([])
                depths.append(depths[state] + 1)
                next += Array(repeating: 0, count: classCount)
            }
            state = next[place]
        }
        outputs[state].append(number)
    }

    /// Adds the missing transitions of each state, breadth first.
    mutating func connect() {
        var fallback = Array(repeating: 0, count: outputs.count)
        var queue = (0..<classCount).map { next[$0] }.filter { $0 != 0 }
        var position = 0
        while position < queue.count {
            let state = queue[position]
            position += 1
            outputs[state] += outputs[fallback[state]]
            for byteClass in 0..<classCount {
                let place = state * classCount + byteClass
                let instead = next[fallback[state] * classCount + byteClass]
                if next[place] == 0 {
                    next[place] = instead
                } else {
                    fallback[next[place]] = instead
                    queue.append(next[place])
                }
            }
        }
    }
}
