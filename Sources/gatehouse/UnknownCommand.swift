internal import ArgumentParser
internal import Settings
internal import SettingsReader

/// A word of a command line that stands where a command's name should, and is none.
struct UnknownCommand {
    let word: String
    /// The command that was probably meant.
    let meant: String?

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
    var message: String { "Unexpected argument '\(word)'" + (meant.map { ". Did you mean '\($0)'?" } ?? "") }
}
