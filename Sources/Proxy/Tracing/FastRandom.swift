internal import Cryptography

/// Random numbers for request and trace ids. They must be unique but not secret, and need no system call.
///
/// SplitMix64 (Steele, Lea, Flood 2014), seeded from the system.
struct FastRandom {
    private var state: UInt64

    init() {
        state = SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
