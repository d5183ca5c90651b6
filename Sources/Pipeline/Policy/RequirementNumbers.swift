/// The numbers of a gate's distinct requirements. Cached tokens store the numbers of the requirements that they have
/// met.
struct RequirementNumbers {
    private(set) var all: [Requirements] = []
    private var numbers: [Requirements: Int] = [:]

    /// Routes with equal requirements have the same number.
    mutating func number(of requirements: Requirements) -> Int {
        if let known = numbers[requirements] { return known }
        numbers[requirements] = all.count
        all.append(requirements)
        return all.count - 1
    }
}

/// The numbers of the requirements that a token has met, one bit each.
package struct MetRequirements: Sendable {
    private var words: [UInt64] = []

    package init() {}

    func contains(_ number: Int) -> Bool {
        let word = number >> 6
        return word < words.count && words[word] >> UInt64(number & 63) & 1 == 1
    }

    mutating func insert(_ number: Int) {
        let word = number >> 6
        while words.count <= word { words.append(0) }
        words[word] |= 1 << UInt64(number & 63)
    }
}
