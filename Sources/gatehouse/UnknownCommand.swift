internal import ArgumentParser
internal import Settings
internal import SettingsReader

/// A word of the command line in the position of a command's name that is not a command.
struct UnknownCommand {
    let word: String
    /// The command that was probably meant.
    let meant: String?

    /// Words that other programs use for a command or option, with the equivalent here.
    private static let synonyms = ["validate": "check", "version": "--version"]
    /// Advice for words that no command corresponds to.
    private static let advice = [
        "reload": "A running gateway reloads at SIGHUP (systemctl reload gatehouse), or by POST /reload at its admin "
            + "listener."
    ]

    /// Replaces the first argument if it is a synonym.
    static func translated(_ arguments: [String]) -> [String] {
        guard let word = arguments.first, let own = synonyms[word] else { return arguments }
        return [own] + arguments.dropFirst()
    }

    /// The first unknown command; nil if all words up to the first option name commands.
    static func first(in words: ArraySlice<String>, below root: any ParsableCommand.Type) -> UnknownCommand? {
        var known = root.configuration.subcommands
        for (index, word) in words.enumerated() {
            guard !known.isEmpty, !word.hasPrefix("-") else { return nil }
            guard let next = known.first(where: { $0._commandName == word }) else {
                let names = known.map { $0._commandName } + (index == 0 ? ["help"] : [])
                return UnknownCommand(word: word, meant: suggestion(for: word, among: names))
            }
            known = next.configuration.subcommands
        }
        return nil
    }

    /// The parser's error message with a suggestion, which the parser itself offers for options only.
    var message: String {
        let remedy = Self.advice[word] ?? meant.map { "Did you mean '\($0)'?" }
        return "Unexpected argument '\(word)'" + (remedy.map { ". \($0)" } ?? "")
    }
}
