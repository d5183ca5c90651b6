import ArgumentParser
import Encoding

/// The verdict on one token.
struct TokenVerdict {
    let isAccepted: Bool
    /// For `--json` and `--lines`.
    let object: JSONObject
    /// For people.
    let text: String

    static func rejected(_ reason: String, _ more: JSONObject = [:], details: [String] = []) -> TokenVerdict {
        let verdict: [(String, JSON)] = [("verdict", "rejected"), ("reason", .string(reason))]
        return TokenVerdict(
            isAccepted: false, object: JSONObject(verdict + more.map { ($0.name, $0.value) }),
            text: (["rejected: \(reason)"] + details.map { "  \($0)" }).joined(separator: "\n"))
    }

    static func accepted(_ members: JSONObject, text: String) -> TokenVerdict {
        let verdict: (String, JSON) = ("verdict", "accepted")
        return TokenVerdict(
            isAccepted: true, object: JSONObject([verdict] + members.map { ($0.name, $0.value) }), text: text)
    }
}

extension TokenVerdict {
    /// The text with its first word in the verdict's colour.
    fileprivate func styled(on terminal: Terminal) -> String {
        let word = text.prefix { $0 != ":" }
        return terminal.styled(isAccepted ? .good : .bad, String(word)) + text[word.endIndex...]
    }
}

/// The options of commands that verify tokens, and their output.
struct VerdictOptions: ParsableArguments, ResultOptions {
    @Flag(name: .customLong("json"), help: "Print the verdict as one line of JSON.")
    var isJSON = false

    @Flag(help: "Read one token from each line, and print each verdict as one line of JSON.")
    var lines = false

    var json: Bool { isJSON || lines }

    /// Reads the tokens and prints the verdict of `judge` on each.
    ///
    /// - Throws: exit status 1 unless all tokens are accepted; ``CommandFailure`` if standard input can't be read.
    func report(_ judge: ([UInt8]) async throws -> TokenVerdict) async throws {
        var areAccepted = true
        for token in try lines ? StandardInput.readLines() : [StandardInput.readToken()] {
            let verdict = try await judge(token)
            StandardOutput.line(
                json
                    ? String(decoding: verdict.object.encoded(), as: UTF8.self) : verdict.styled(on: .standardOutput))
            if !verdict.isAccepted { areAccepted = false }
        }
        if !areAccepted { throw ExitCode.failure }
    }
}
