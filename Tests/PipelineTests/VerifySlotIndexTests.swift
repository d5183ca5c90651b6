import Testing

@testable import Pipeline

@Suite("Verify: the cache's index")
struct VerifySlotIndexTests {
    /// Few hashes: long chains, in which every place is removed from some time.
    @Test("It finds what is in it and nothing else, whatever comes and goes", arguments: [1, 3, 16, 5000])
    func randomUse(hashes: Int) {
        var index = SlotIndex()
        var present: [Int: Int] = [:]
        var state: UInt32 = 7
        for step in 0..<5000 {
            state = state &* 1_664_525 &+ 1_013_904_223
            let slot = Int(state >> 20) % 150
            let hash = Int(state >> 8) % hashes
            if let known = present.removeValue(forKey: slot) {
                #expect(index.slot(known) { $0 == slot } == slot, "step \(step)")
                index.remove(slot)
                #expect(index.slot(known) { $0 == slot } == nil, "step \(step)")
            } else {
                index.insert(slot, hash)
                present[slot] = hash
            }
            #expect(index.count == present.count)
        }
        for (slot, hash) in present {
            #expect(index.slot(hash) { $0 == slot } == slot)
            #expect(index.slot(hash + 1) { $0 == slot } == nil, "found by its own hash only")
        }
        index.removeAll()
        #expect(index.count == 0 && present.allSatisfy { index.slot($0.value) { _ in true } == nil })
    }
}
