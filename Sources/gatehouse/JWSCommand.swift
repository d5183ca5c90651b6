import ArgumentParser
import Cryptography
import Encoding
import Glibc
import Pipeline
import Settings
internal import SettingsReader

/// `gatehouse jws`: verification of signatures only.
struct JWSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jws",
        abstract: "Verify a signature alone, without claims.",
        discussion: "Example: gatehouse jws verify --jwks keys.json < message.jws",
        subcommands: [VerifyJWSCommand.self])
}

/// `gatehouse jws verify`: verifies the signature (RFC 7515) without any claims.
struct VerifyJWSCommand: AsyncParsableCommand, ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify a JWS from standard input with the keys of a file.",
        discussion: """
            Issuer, audience and times are not checked, and the payload need not be JSON. Exit status 0 means \
            that the signature is right. 1 means that it is not, and the reason code is printed, or that the \
            file cannot be used.

            The file is a JSON Web Key Set. Secrets in it (kty oct) are used, and a key without kid verifies a \
            JWS without kid. --published reads the file as the gateway reads a published key set, without both.

            Examples:
              gatehouse jws verify --jwks keys.json < message.jws
              gatehouse jws verify --jwks keys.json --alg ES256 --lines < jws.txt
            """)

    @Option(help: ArgumentHelp("The file with the keys.", valueName: "file"), completion: .file(extensions: ["json"]))
    var jwks: String

    @Option(
        name: .customLong("alg"),
        help: ArgumentHelp("An allowed algorithm; repeat it for more. Default: all.", valueName: "name"))
    var algorithms: [SignatureAlgorithm] = []

    @Flag(help: "Ignore secrets and keys without kid, as the gateway does.")
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
