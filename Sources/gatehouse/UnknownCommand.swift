internal import ArgumentParser
internal import Settings
internal import SettingsReader

/// A word of a command line that stands where a command's name should, and is none.
struct UnknownCommand {
    let word: String
    /// The command that was probably meant.
    let meant: String?

    /// Words that other programs have for a command or an option, and the one that there is here.
    private static let synonyms = ["validate": "check", "version": "--version"]
    /// The way to do what a word asks for, where no command does it.
    private static let advice = [
        "reload": "A running gateway reloads at SIGHUP (systemctl reload gatehouse), or by POST /reload at its admin "
            + "listener."
    ]

    /// The arguments of a command line with its first word as the one here.
    static func translated(_ arguments: [String]) -> [String] {
        guard let word = arguments.first, let own = synonyms[word] else { return arguments }
        return [own] + arguments.dropFirst()
    }

    /// Nil where all words up to the first option name commands.
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

    /// As the parser of the command line says it, and with the hint that it has for options only.
    var message: String {
        let remedy = Self.advice[word] ?? meant.map { "Did you mean '\($0)'?" }
        return "Unexpected argument '\(word)'" + (remedy.map { ". \($0)" } ?? "")
    }
}
