/// Checks of the bytes around a hit: ids, secrets and stored tokens.
extension [UInt8] {
    /// The end of a pool id, whose part after the region has 9 to 55 letters and digits; nil if it is not one.
    ///
    /// - Parameter isPacked: whether other text may follow directly; then the shortest id is assumed.
    func endOfPoolID(from place: Int, isPacked: Bool) -> Int? {
        var end = place
        while end < count, isAlphanumeric(self[end]) { end += 1 }
        if isPacked { end = Swift.min(end, place + 9) }
        let length = end - place
        guard (9...55).contains(length), isPacked || (byte(at: end).map { !isWord($0) } ?? true) else { return nil }
        // XXXXXXXXX is a placeholder.
        return self[place..<end].allSatisfy { $0 | 0x20 == UInt8(ascii: "x") } ? nil : end
    }

    /// Whether the text is a UUID (RFC 9562, 4).
    func isUUID(at place: Int, isPacked: Bool) -> Bool {
        guard place + 36 <= count, isPacked || (byte(at: place + 36).map { !isWord($0) } ?? true) else { return false }
        return (0..<36).allSatisfy { index in
            let byte = self[place + index]
            if [8, 13, 18, 23].contains(index) { return byte == UInt8(ascii: "-") }
            return isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
        }
    }

    /// Whether an id is part of a name under which Amplify stores a session, which an app names to take the session
    /// over: `amplify.POOL.session`, or with an identity pool `amplify.POOL.IDENTITY-POOL.session`.
    func isOfAmplifySession(_ id: Range<Int>) -> Bool {
        func isOfName(_ byte: UInt8) -> Bool { isWord(byte) || ".:-".utf8.contains(byte) }
        var (start, end) = (id.lowerBound, id.upperBound)
        while start > 0, id.lowerBound - start < 100, isOfName(self[start - 1]) { start -= 1 }
        while end < count, end - id.upperBound < 100, isOfName(self[end]) { end += 1 }
        let ending = Array(".session".utf8)
        return containsFolded(Array("amplify.".utf8), in: start..<id.lowerBound) && has(ending, at: end - ending.count)
    }

    /// Whether a client secret's value follows its name.
    ///
    /// - Parameter hasEvidence: whether the file is about Cognito; otherwise only text in the format of Cognito's
    ///   secrets counts.
    func hasSecretValue(_ range: Range<Int>, _ file: ScannedFile, hasEvidence: Bool) -> Bool {
        guard let value = value(behind: range, mayCrossLines: file.language == .xml || file.role.isPropertyList) else {
            return false
        }
        let text = self[value]
        if (40...64).contains(text.count), text.allSatisfy({ isDigit($0) || isLowercase($0) }),
            text.contains(where: isDigit), text.contains(where: isLowercase)
        {
            return true
        }
        guard hasEvidence, text.count >= 8, !isPlaceholder(value) else { return false }
        let isQuoted = byte(at: value.lowerBound - 1).map { "\"'`".utf8.contains($0) } ?? false
        return isQuoted || !file.language.isProgram && !file.role.isManifest
    }

    /// The value that is assigned to the name in the range, without quotes; nil if there is none.
    private func value(behind range: Range<Int>, mayCrossLines: Bool) -> Range<Int>? {
        var place = endOfWord(from: range.upperBound)
        var hasSeparator = false
        let limit = Swift.min(count, place + 120)
        while place < limit {
            let byte = self[place]
            if mayCrossLines, byte == UInt8(ascii: "<") {
                while place < limit, self[place] != UInt8(ascii: ">") { place += 1 }
                hasSeparator = true
            } else if byte == UInt8(ascii: "\n"), !mayCrossLines {
                return nil
            } else if ":=,>(".utf8.contains(byte) {
                hasSeparator = true
            } else if !isSpace(byte), !"\"'`\\@]".utf8.contains(byte) {
                break
            }
            place += 1
        }
        guard hasSeparator, place < limit else { return nil }
        var end = place
        while end < count, end - place < 200, isWord(self[end]) || "-+/=".utf8.contains(self[end]) { end += 1 }
        return place < end ? place..<end : nil
    }

    private static var placeholders: [[UInt8]] {
        ["your", "replace", "xxxx", "secret", "redacted", "changeme", "example", "placeholder", "none", "null"].map {
            Array($0.utf8)
        }
    }

    private func isPlaceholder(_ value: Range<Int>) -> Bool {
        let clipped = value.lowerBound..<Swift.min(value.upperBound, value.lowerBound + 64)
        return Self.placeholders.contains { containsFolded($0, in: clipped) }
    }

    /// Whether the statement around the range stores or reads a session token, not one for push messages or other
    /// purposes.
    func storesToken(_ range: Range<Int>) -> Bool {
        let statement = statement(around: range)
        let isOfDefaults = containsFolded(Array("defaults".utf8), in: statement)
        if has(Array("forKey:".utf8), at: range.lowerBound), !isOfDefaults { return false }
        let words = words(in: statement)
        guard !words.contains(where: { word in word.hasPrefix("remov") || word.hasPrefix("delet") }) else {
            return false
        }
        return words.contains { word in
            (word.contains("token") || word.contains("jwt"))
                && !Self.otherTokens.contains { word.contains($0) }
        }
    }

    private static var otherTokens: [String] {
        [
            "push", "device", "fcm", "onnewtoken", "apns", "notification", "csrf", "xsrf", "voip", "page", "nexttoken",
            "cancel",
            "invite", "firebase", "registration", "tokeniz", "tokentype", "appcheck", "mapbox", "analytics",
        ]
    }

    /// The range from the start of the line to the end of the statement, at most 400 bytes in each direction.
    private func statement(around range: Range<Int>) -> Range<Int> {
        var (start, end, depth) = (range.lowerBound, range.upperBound, 0)
        while start > 0, range.lowerBound - start < 400, self[start - 1] != 0x0A, self[start - 1] != UInt8(ascii: ";") {
            start -= 1
        }
        while end < count, end - range.upperBound < 400 {
            let byte = self[end]
            if byte == UInt8(ascii: "(") { depth += 1 }
            if byte == UInt8(ascii: ")") { depth -= 1 }
            if byte == UInt8(ascii: ";") || byte == 0x0A && depth <= 0 { break }
            end += 1
        }
        return start..<end
    }

    /// The words of a range in lower case, without underscores and hyphens.
    private func words(in range: Range<Int>) -> [String] {
        self[range].split { !isWord($0) && $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: ".") }
            .flatMap { $0.split(separator: UInt8(ascii: ".")) }
            .map { String(decoding: $0.filter { isAlphanumeric($0) }.map(lowercased), as: UTF8.self) }
    }
}
