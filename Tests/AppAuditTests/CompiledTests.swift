import Foundation
import Testing

@testable import AppAudit

@Suite("Compiled files")
struct CompiledTests {
    private func content(_ bytes: [UInt8], _ language: Language? = .binary, piece: Int = 7) -> Content? {
        var reader = ContentReader(language)
        for start in stride(from: 0, to: bytes.count, by: piece) {
            guard reader.add(Array(bytes[start..<min(start + piece, bytes.count)])) else { break }
        }
        guard case .content(let content) = reader.finish() else { return nil }
        return content
    }

    private func rules(_ bytes: [UInt8], name: String = "classes.dex") -> [Rule] {
        guard let content = content(bytes, FileNames.language(of: name), piece: 1000) else { return [] }
        let role = FileRole(path: name, language: content.language)
        return Scanner.standard.findings(in: content, path: name, role: role)?.map(\.rule) ?? []
    }

    private func wide(_ text: String) -> [UInt8] { text.utf8.flatMap { [$0, 0] } }

    @Test("Texts of one and two bytes a character are found, wherever pieces of the file end", arguments: 1...9)
    func runs(piece: Int) {
        let bytes: [UInt8] =
            [1, 2, 3] + "cognito".utf8 + [0, 0] + "short".utf8 + [0xFF] + wide("user_pool") + [0, 0, 1]
        let text = content(bytes, piece: piece).map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(text == "cognito\0user_pool\0")
    }

    @Test("A run at the end of the file counts")
    func end() {
        #expect(content([0] + Array("cognito".utf8))?.bytes == Array("cognito\0".utf8))
        #expect(content([0] + wide("cognito"))?.bytes == Array("cognito\0".utf8))
    }

    @Test("A name is found once where a long run is cut", arguments: [1, 2])
    func cut(width: Int) {
        let text = String(repeating: " ", count: TextRuns.maximumRun - 13) + "AWSCognitoIdentityUserPool "
        let bytes = width == 1 ? Array(text.utf8) : wide(text)
        var runs = TextRuns()
        runs.add(Array(bytes[..<(width * TextRuns.maximumRun)]))
        runs.add(Array(bytes[(width * TextRuns.maximumRun)...]))
        runs.finish()
        let content = Content(bytes: runs.text, language: .binary)
        let found = Scanner.standard.findings(in: content, path: "App", role: FileRole(path: "App", language: .binary))
        #expect(found?.map(\.name) == ["AWSCognitoIdentityUserPool"])
    }

    @Test("A file that is neither named nor a program is not read on")
    func irrelevant() {
        var reader = ContentReader(nil)
        let wantsMore = reader.add(Array("text".utf8))
        #expect(!wantsMore)
    }

    /// A string as DEX has it: its length, its bytes, and 0.
    private func dex(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 + [0] }

    @Test("Names in DEX are found, also if a string's length looks like a letter")
    func dexNames() {
        let magic = Array("dex\n035\0".utf8)
        let target = "AWSCognitoIdentityProviderService.RespondToAuthChallenge"
        #expect(target.utf8.count == 56)
        #expect(rules(magic + dex(target)) == [.cognitoTarget])
        #expect(rules(magic + dex("Lcom/amplifyframework/auth/AuthCategory;")) == [.amplifyAuth])
        #expect(rules(magic + dex("Lcom/amazonaws/services/cognitoidentityprovider/model/A;")) == [.cognitoSDK])
        #expect(rules(magic + dex("XAWSCognitoIdentityProviderService.InitiateAuth")) == [])
        #expect(rules(magic + dex("https://cognito-idp.eu-west-1.amazonaws.com/")) == [.cognitoHost])
    }

    @Test("Strings without anything between them are found in Hermes' bytecode")
    func hermes() {
        let strings = "fooAWSCognitoIdentityProviderService.InitiateAuthbareu-west-1_AbCdEfGhIuserCognitoUserPoolx"
        let bytes: [UInt8] = [0xC6, 0x1F, 0xBC, 0x03, 0xC1, 0x03, 0x19, 0x1F] + strings.utf8
        #expect(rules(bytes, name: "index.android.bundle") == [.cognitoTarget, .userPoolID, .cognitoSDK])
        #expect(rules(Array(strings.utf8), name: "libapp.so") == [])
    }

    @Test("Names of Objective-C, Swift and Dart are found in programs")
    func names() {
        let machO: [UInt8] = [0xCF, 0xFA, 0xED, 0xFE]
        #expect(rules(machO + [0] + Array("AWSCognitoIdentityUserPool".utf8) + [0], name: "App") == [.cognitoSDK])
        #expect(rules(machO + [0] + Array("$s7Amplify12AuthCategoryC6signIn".utf8), name: "App") == [])
        #expect(rules(machO + [0] + Array("7Amplify12AuthCategoryC".utf8), name: "App") == [.amplifyAuth])
        let elf: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 0]
        let dart = "package:amplify_auth_cognito_dart/src/flows.dart"
        #expect(rules(elf + Array(dart.utf8) + [0], name: "libapp.so") == [.cognitoSDK])
    }

    @Test("A client secret in configuration inside a program is found, and no other long word")
    func secret() {
        let elf: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 0]
        let secret = "5t6z7u8i9o0p1a2s3d4f5g6h7j8k9l0y1x2c3v4b5n6m7q8w9e0"
        #expect(
            rules(elf + Array("{\n \"AppClientSecret\": \"\(secret)\"\n}".utf8), name: "libapp.so") == [.clientSecret])
        #expect(rules(elf + Array("{\n \"AppClientSecret\": \"yes, please\"\n}".utf8), name: "libapp.so") == [])
    }

    @Test("Compiled XML and localised strings in UTF-16 are read as binaries")
    func resources() {
        let host = "https://shop.auth.eu-west-1.amazoncognito.com"
        #expect(rules([3, 0, 8, 0, 1, 0] + wide(host) + [0, 0], name: "network.xml") == [.hostedDomain])
        #expect(rules([0xFF, 0xFE] + wide("\"a\" = \"\(host)\";"), name: "Localizable.strings") == [.hostedDomain])
    }
}
