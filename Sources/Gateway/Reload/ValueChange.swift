internal import Settings
internal import SettingsReader

/// A changed value of the settings, as a line for the log: `limits.connections: 10000 -> 500`. Possible secrets are
/// reported by key path only.
struct ValueChange {
    let old: ReadValue?
    let new: ReadValue?

    /// Returns the changes in the order of the new settings, followed by the removed values. A default value that
    /// appears or disappears with its section is not a change.
    static func all(from old: [ReadValue], to new: [ReadValue]) -> [ValueChange] {
        let before = Dictionary(old.map { (Key($0), $0) }) { first, _ in first }
        let after = Dictionary(new.map { (Key($0), $0) }) { first, _ in first }
        let changed = new.compactMap { value -> ValueChange? in
            guard let known = before[Key(value)] else {
                return value.source == .standard ? nil : ValueChange(old: nil, new: value)
            }
            return known.isSame(as: value) ? nil : ValueChange(old: known, new: value)
        }
        let gone = old.filter { after[Key($0)] == nil && $0.source != .standard }
        return changed + gone.map { ValueChange(old: $0, new: nil) } + reordered(old, new, known: before)
    }

    /// The key that identifies a value among the others of its settings.
    private struct Key: Hashable {
        let path: String
        let element: String?

        init(_ value: ReadValue) {
            path = value.path
            element = value.isElement ? value.text : nil
        }
    }

    /// Returns the lists that differ only in the order of their elements, each with the first element at another
    /// position.
    private static func reordered(_ old: [ReadValue], _ new: [ReadValue], known: [Key: ReadValue]) -> [ValueChange] {
        let before = Dictionary(grouping: old.filter(\.isElement), by: \.path)
        let after = Dictionary(grouping: new.filter(\.isElement), by: \.path)
        return after.keys.sorted().compactMap { path in
            guard let was = before[path], let now = after[path] else { return nil }
            let pairs = zip(was, now).first { $0.text != $1.text }
            guard let pairs, was.count == now.count, now.allSatisfy({ known[Key($0)] != nil }) else { return nil }
            return ValueChange(old: pairs.0, new: pairs.1)
        }
    }

    // MARK: As text

    /// The limits of the report: the number of lines, and the characters of a path and of a value.
    private static let mostLines = 50
    private static let mostCharacters = 200

    /// Returns the first changes as text, up to ``mostLines``, and the number of the rest.
    static func lines(_ changes: [ValueChange]) -> [String] {
        let lines = changes.prefix(mostLines).map(\.description)
        return changes.count > mostLines ? lines + ["and \(changes.count - mostLines) more"] : lines
    }

    /// Returns the changed secrets by key path, including values that became secrets or ceased to be.
    static func secrets(_ changes: [ValueChange]) -> ReloadSummary.Part {
        let secrets = changes.filter { $0.old?.isSecret == true || $0.new?.isSecret == true }
        return ReloadSummary.Part(
            added: secrets.filter { $0.old == nil }.map(\.path), removed: secrets.filter { $0.new == nil }.map(\.path),
            changed: secrets.filter { $0.old != nil && $0.new != nil }.map(\.path))
    }

    private var path: String { (new ?? old)?.path ?? "" }

    /// The top-level key.
    var section: String { String(path.prefix { $0 != "." && $0 != "[" }) }

    /// Whether both the old and the new value are secrets.
    var isOtherSecret: Bool { old?.isSecret == true && new?.isSecret == true }

    var description: String {
        let path = Self.bounded(path)
        switch (old, new) {
        case (let old?, let new?):
            if old.isElement { return "\(path): another order" }
            let isOtherFile = new.source != .file || old.text != new.text || new.isSecret
            return "\(path): \(Self.text(old)) -> \(Self.text(new))" + (isOtherFile ? "" : " (other contents)")
        case (nil, let new?): return "\(path): + \(Self.text(new))"
        case (let old?, nil): return "\(path): - \(Self.text(old))"
        case (nil, nil): return path
        }
    }

    private static func text(_ value: ReadValue) -> String {
        guard let text = value.text else { return "<redacted>" }
        return bounded(text) + (value.source == .standard ? " (default)" : "")
    }

    private static func bounded(_ text: String) -> String {
        let start = text.prefix(mostCharacters)
        return start.endIndex == text.endIndex ? text : start + "…"
    }
}
