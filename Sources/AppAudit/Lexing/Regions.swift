/// The kind of a part of a file.
enum RegionKind: UInt8, Sendable {
    case code
    case string
    case comment
}

/// The comments and strings of a file, in order. Everything else is code.
struct Regions: Sendable {
    struct Region: Equatable, Sendable {
        let kind: RegionKind
        let range: Range<Int>
    }

    private(set) var all: [Region] = []

    mutating func append(_ kind: RegionKind, _ range: Range<Int>) {
        if !range.isEmpty { all.append(Region(kind: kind, range: range)) }
    }

    func kind(at place: Int) -> RegionKind { region(at: place)?.kind ?? .code }

    /// The comment or string at a position; nil in code.
    func region(at place: Int) -> Region? {
        var (low, high) = (0, all.count)
        while low < high {
            let middle = (low + high) / 2
            if all[middle].range.upperBound <= place { low = middle + 1 } else { high = middle }
        }
        return low < all.count && all[low].range.contains(place) ? all[low] : nil
    }
}
