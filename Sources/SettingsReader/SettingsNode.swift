package import Cryptography
internal import Yams

/// A node of the file with its place. Its readers return a value, or record an error and return nil.
package struct SettingsNode {
    let yaml: Node
    package let place: SettingsPlace
    package let context: SettingsContext

    package func error(_ message: String) {
        context.error(message, at: place)
    }

    /// Records an error about the value itself, which the message quotes.
    package func refuse(_ message: String, suggestion: String? = nil) {
        var details = yaml.scalar.flatMap { Self.quoted($0.string) }.map { ["got \($0)"] } ?? []
        if let suggestion { details.append("did you mean \"\(suggestion)\"?") }
        error(message + (details.isEmpty ? "" : " (\(details.joined(separator: "; ")))"))
    }

    /// Whether the key has no value.
    package var isNull: Bool {
        guard case .scalar(let scalar) = yaml, scalar.style == .plain else { return false }
        return ["", "~", "null", "Null", "NULL"].contains(scalar.string)
    }

    package var isScalar: Bool { yaml.scalar != nil }

    /// Whether this is a section without keys.
    package var isEmptySection: Bool {
        if case .mapping(let mapping) = yaml { mapping.isEmpty } else { isNull }
    }

    /// - Parameter isSecret: whether the value may itself be a secret, such as an unguessable URL.
    package func read<Value>(_ format: ScalarFormat<Value>, isSecret: Bool = false) -> Value? {
        if let recorder = context.recorder { return recorder.read(format, at: place) }
        guard let text = scalarText(), let expanded = expand(text) else { return nil }
        do {
            let value = try format.read(expanded)
            let shown = format.show(value) ?? expanded
            context.note(isSecret || namesVariable(text) ? nil : shown, Array(shown.utf8), at: place)
            return value
        } catch {
            // A suggestion may contain the value, which may be a secret if it comes from a variable.
            let suggestion = namesVariable(text) ? nil : error.suggestion
            if isSecret { self.error(error.message) } else { refuse(error.message, suggestion: suggestion) }
            return nil
        }
    }

    /// Reads a secret: written in the file, taken from the environment, or read from the file that `file:` names.
    package func readSecret() -> Secret? {
        if let recorder = context.recorder {
            recorder.note(.secret, at: place)
            return nil
        }
        guard let text = scalarText() else { return nil }
        let secret: Secret
        // The settings decide, not the contents of an environment variable.
        if text.hasPrefix("file:") {
            guard let path = expand(String(text.dropFirst(5))), let bytes = readSecretFile(path) else { return nil }
            secret = Secret(bytes)
        } else {
            guard !refuseName(text), let value = expand(text) else { return nil }
            secret = Secret(value)
        }
        guard !secret.isEmpty else {
            self.error("the secret is empty")
            return nil
        }
        context.note(nil, secret.expose(), at: place)
        return secret
    }

    /// Reads the file that this node names, such as a certificate.
    ///
    /// - Parameter isSecret: whether the contents are a secret, such as a private key.
    package func readFile(isSecret: Bool = false) -> [UInt8]? {
        if let recorder = context.recorder {
            recorder.note(.file, at: place)
            return nil
        }
        guard let text = scalarText(), let path = expand(text) else { return nil }
        do {
            let bytes = try context.contents(of: path, namedAt: place)
            let shown = isSecret || namesVariable(text) ? nil : path
            context.note(shown, isSecret ? bytes : Array(path.utf8) + [0] + bytes, at: place, from: .file)
            return bytes
        } catch {
            refuse("the file can't be read: \(error)")
            return nil
        }
    }

    /// The elements of a list; if this is no list, an error is recorded and nil returned. `expected` names the
    /// elements.
    package func elements(expected: String) -> [SettingsNode]? {
        if let recorder = context.recorder { return [recorder.element(of: self)] }
        guard case .sequence(let sequence) = yaml else {
            error("must be a list of \(expected), not \(kind)")
            return nil
        }
        if sequence.isEmpty { context.note("[]", [], at: place) }
        let names = Self.names(of: Array(sequence))
        return sequence.enumerated().map { index, element in
            let line = element.mark?.line ?? place.line
            let place = place.element(index, name: names[index], line: line, column: element.mark?.column)
            return SettingsNode(yaml: element, place: place, context: context)
        }
    }

    package var kind: String {
        switch yaml {
        case .scalar: isNull ? "nothing" : "a single value"
        case .mapping: "a section"
        case .sequence: "a list"
        case .alias: "an alias"
        }
    }

    private func scalarText() -> String? {
        guard case .scalar(let scalar) = yaml else {
            error("must be a single value, not \(kind)")
            return nil
        }
        guard !isNull else {
            error("has no value")
            return nil
        }
        return scalar.string
    }

    private func expand(_ text: String) -> String? {
        do {
            return try interpolate(text, environment: context.environment)
        } catch {
            self.error(error.message)
            return nil
        }
    }

    /// Records an error if a secret's variable or file is named in another notation, so that the name would become the
    /// secret. The text is not quoted, since it may be a secret.
    private func refuseName(_ text: String) -> Bool {
        let meant = isShellVariable(text) ? "${NAME}" : isFile(text) ? "file:/PATH" : nil
        if let meant { self.error("would be the secret itself (did you mean \"\(meant)\"?)") }
        return meant != nil
    }

    /// Whether `text` is the absolute path of an existing file. The file is looked up because a secret in base64 may
    /// begin with a slash as well.
    private func isFile(_ text: String) -> Bool {
        guard text.hasPrefix("/") else { return false }
        do throws(FileReadFailure) {
            _ = try context.readFile(text)
            return true
        } catch {
            return error == .notPermitted || error == .tooLarge
        }
    }

    /// Reads a secret's file without the newline that editors and shells append, which is not part of the secret.
    private func readSecretFile(_ path: String) -> [UInt8]? {
        do {
            var bytes = try context.contents(of: path, namedAt: place)
            if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
            return bytes
        } catch {
            self.error("the secret's file can't be read: \(error)")
            return nil
        }
    }

    /// A value as the file has it, before interpolation, because environment variables may hold secrets. Text with an
    /// `@` is not quoted at all, since it may hold a password; a URL's query is omitted, since it may hold a key.
    private static func quoted(_ raw: String) -> String? {
        guard !raw.contains("@") else { return nil }
        var raw = raw
        if raw.contains("://"), let query = raw.firstIndex(where: { $0 == "?" || $0 == "#" }) {
            raw = raw[...query] + "…"
        }
        return "\"" + String(raw.prefix(80)) + (raw.count > 80 ? "…" : "") + "\""
    }
}
