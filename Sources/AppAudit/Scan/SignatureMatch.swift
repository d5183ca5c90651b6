/// A hit that passed the signature's check, with the name to report.
struct SignatureMatch {
    var name: String
    var replacement: String?

    private static let maximumName = 120

    /// Nil if the surrounding bytes exclude a finding.
    init?(
        _ signature: Signature, _ range: Range<Int>, _ kind: RegionKind, _ file: ScannedFile,
        _ evidence: Set<Signature.Evidence>
    ) {
        let bytes = file.bytes
        let isText = kind == .comment || file.language == .document
        name = Self.text(bytes, range)
        switch signature.check {
        case .none:
            // The target's own finding includes this name.
            guard signature.rule != .cognitoSDK || !bytes.has(Self.target, at: range.lowerBound) else { return nil }
        case .operation:
            guard let end = file.isPacked ? range.upperBound : bytes.endOfOperation(range) else { return nil }
            name = Self.text(bytes, range.lowerBound..<end)
            // The target's own finding includes this name.
            if range.lowerBound > 0, bytes.has(Self.target, at: range.lowerBound - Self.target.count) { return nil }
        case .call:
            guard
                isText
                    || bytes.nextVisible(from: range.upperBound)?.byte == UInt8(ascii: "(")
                        && !bytes.isDeclared(range)
            else { return nil }
        case .host:
            guard bytes.isHost(range) else { return nil }
        case .wholeString:
            guard bytes.isQuoted(range) else { return nil }
        case .poolID:
            guard let end = bytes.endOfPoolID(from: range.upperBound, isPacked: file.isPacked),
                !bytes.isOfAmplifySession(range.lowerBound..<end)
            else { return nil }
            name = Self.text(bytes, range.lowerBound..<end)
        case .identityPoolID:
            let end = range.upperBound + 36
            guard bytes.isUUID(at: range.upperBound, isPacked: file.isPacked),
                !bytes.isOfAmplifySession(range.lowerBound..<end)
            else { return nil }
            name = Self.text(bytes, range.lowerBound..<end)
        case .plistKey:
            guard file.role.isPropertyList, let key = bytes.plistKey(around: range) else { return nil }
            name = Self.text(bytes, key)
        case .secretValue:
            guard !isText, bytes.hasSecretValue(range, file, hasEvidence: evidence.contains(.cognito)) else {
                return nil
            }
        case .storedToken:
            guard !isText, bytes.storesToken(range) else { return nil }
        case .authFunction:
            guard let function = bytes.identifier(from: range.upperBound) else { return nil }
            replacement = ReplacedCall.named(bytes[function])?.replacement(in: file.language)
            guard replacement != nil else { return nil }
            name = Self.text(bytes, range.lowerBound..<function.upperBound)
        case .authImport:
            let line = file.lineRange(of: range.lowerBound)
            guard bytes.isQuoted(range), bytes.hasWord(Array("Auth".utf8), in: line) else { return nil }
        case .package:
            guard isText || bytes.isPackage(range, in: file) else { return nil }
        }
        refine(signature, range, file)
    }

    private static let target = Array("AWSCognitoIdentityProviderService.".utf8)

    /// Extends the name by adjacent bytes, and finds the corresponding replacement.
    private mutating func refine(_ signature: Signature, _ range: Range<Int>, _ file: ScannedFile) {
        let bytes = file.bytes
        switch signature.rule {
        case .amplifyAuth where signature.check == .none, .cognitoTarget:
            guard let function = bytes.memberName(from: range.upperBound) else { return }
            let text = String(decoding: bytes[function].prefix(60), as: UTF8.self)
            name += (name.hasSuffix(".") ? "" : ".") + text
            replacement = ReplacedCall.named(bytes[function])?.replacement(in: file.language)
        case .cognitoSDK where !signature.endsWord && file.language.isProgram:
            name = Self.text(
                bytes, range.lowerBound..<Swift.max(bytes.endOfWord(from: range.upperBound), range.upperBound))
        case .cognitoOperation: replacement = ReplacedCall.named(bytes[range])?.replacement(in: file.language)
        case .cognitoHost, .hostedDomain: name = Self.text(bytes, bytes.hostRange(around: range))
        default: break
        }
    }

    private static func text(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        String(decoding: bytes[range].prefix(maximumName), as: UTF8.self)
    }
}
