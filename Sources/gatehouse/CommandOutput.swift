import ArgumentParser
import Glibc
import Pipeline

/// `--json`, of the commands that print results.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Tell the result as JSON.")
    var json = false

    /// Prints one of the two.
    func tell(_ object: @autoclosure () -> JSONObject, text: @autoclosure () -> String) {
        print(json ? String(decoding: object().encoded(), as: UTF8.self) : text())
    }

    /// Prints what was done, in words.
    func done(_ text: String) { tell(["done": true, "text": .string(text)], text: text) }
}

/// Lets who reads through a pipe see what has been printed so far.
func flushStandardOutput() { fflush(nil) }
