/// The candidate that `text` probably stands for: the one with the smallest edit distance, if it is small for the
/// length of `text`; otherwise the only one that begins with `text`, as `warning` does with `warn`.
package func suggestion(for text: String, among candidates: [String]) -> String? {
    let limit = max(1, (text.count + 1) / 3)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
        let distance = editDistance(Array(text.lowercased()), Array(candidate.lowercased()))
        if distance <= limit, distance < best?.distance ?? .max {
            best = (candidate, distance)
        }
    }
    if let best { return best.candidate }
    let longer = candidates.filter { $0.lowercased().hasPrefix(text.lowercased()) }
    return text.count >= 3 && longer.count == 1 ? longer.first : nil
}

/// The number of insertions, deletions, replacements and swaps of neighbours that make `a` into `b`
/// (optimal string alignment distance).
func editDistance(_ a: [Character], _ b: [Character]) -> Int {
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in 1...a.count {
        var row = [i]
        for j in 1...b.count {
            let replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
            var cost = min(replaced, last[j] + 1, row[j - 1] + 1)
            if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                cost = min(cost, beforeLast[j - 2] + 1)
            }
            row.append(cost)
        }
        (beforeLast, last) = (last, row)
    }
    return last[b.count]
}
