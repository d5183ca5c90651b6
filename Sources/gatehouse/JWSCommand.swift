import ArgumentParser
import Cryptography
import Encoding
import Glibc
import Pipeline
import Settings
internal import SettingsReader

/// `gatehouse jws`: signatures alone.
struct JWSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jws",
        abstract: "Verify a signature, whatever it is over.",
        discussion: "Example: gatehouse jws verify --jwks keys.json < message.jws",
        subcommands: [VerifyJWSCommand.self])
}

/// `gatehouse jws verify`: the layer of RFC 7515, without any claim.
struct VerifyJWSCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a JWS from standard input with the keys of a file.",
        discussion: """
            Says nothing about issuer, audience or time, nor needs the payload be JSON. Exit status 0: the signature is \
            right; 1: it is not, and the reason code is printed, or the file cannot be used.

            The file is a JSON Web Key Set. Secrets in it (kty oct) count as well, and a key without kid is for a JWS \
            without kid, unless --published takes the file as the gateway takes a key set that anybody can read.

            Examples:
              gatehouse jws verify --jwks keys.json < message.jws
              gatehouse jws verify --jwks keys.json --alg ES256 --lines < jws.txt
            """)

    @Option(help: ArgumentHelp("The file with the keys.", valueName: "file"), completion: .file(extensions: ["json"]))
    var jwks: String

    @Option(
        name: .customLong("alg"),
        help: ArgumentHelp("An algorithm that is allowed; again for more. Default: all.", valueName: "name"))
    var algorithms: [SignatureAlgorithm] = []

    @Flag(help: "Leave secrets and keys without kid out, as the gateway does.")
    var published = false

    @OptionGroup var output: VerdictOptions

    func run() async throws {
        let allowed = algorithms.isEmpty ? SignatureAlgorithm.allCases : algorithms
        let check = SignatureCheck(keySet: try keySet(allowed), algorithms: allowed)
        try await output.report { jws in
            do throws(RejectReason) {
                let signed = try check.verify(jws)
                return .accepted(
                    ["algorithm": .string(signed.algorithm.rawValue), "kid": .string(signed.keyID)],
                    text: "accepted: \(signed.algorithm.rawValue) signature over \(signed.payload.count) bytes")
            } catch {
                return .rejected(error.rawValue)
            }
        }
    }

    private func keySet(_ algorithms: [SignatureAlgorithm]) throws -> KeySet {
        let document: [UInt8]
        do throws(FileReadFailure) {
            document = try readWholeFile(jwks)
        } catch {
            throw CommandFailure("\(jwks) can't be read: \(error)")
        }
        do throws(KeySetError) {
            let set = try KeySet(
                jwks: document, algorithms: algorithms, origin: published ? .published : .own, generation: 1)
            for reason in set.dropped { StandardError.write("left out: \(reason)\n") }
            return set
        } catch {
            throw CommandFailure("\(jwks) is not a JSON Web Key Set: \(error.rawValue)")
        }
    }
}

extension SignatureAlgorithm: ExpressibleByArgument {}
