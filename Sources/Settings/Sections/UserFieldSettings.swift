internal import Encoding
internal import Pipeline
internal import SettingsReader

extension UserFields {
    /// The maximum number of fields, which limits the size of responses.
    private static let maximumFields = 32

    /// - Parameter known: the allowed sources of fields; nil: any.
    init(reading keys: SettingsMapping, known: [String]? = nil) {
        self.init()
        guard let node = keys.optional("user_fields") else { return }
        for (name, entry) in node.identifiedEntries() {
            // All other features of the gateway use this identifier.
            if name == "id" { entry.error("id is always the user's sub") }
            if let field = Field(named: name, reading: entry, known: known) { fields.append(field) }
        }
        if fields.count > Self.maximumFields { node.error("must not hold more than \(Self.maximumFields)") }
    }
}

extension UserFields.Field {
    fileprivate init?(named name: String, reading node: SettingsNode, known: [String]?) {
        let source = known.map { ScalarFormat<String>.word(among: $0) } ?? .identifier
        if node.isScalar {
            guard let own = node.read(source) else { return nil }
            self.init(name: name, source: .own(own))
            return
        }
        let field = node.section { keys -> Self? in
            let form = keys.value("as", .oneOf, default: UserFields.Form.text)
            let own = keys.value("from", source)
            let constant = keys.value("constant", .text)
            if keys.has("from") == keys.has("constant") { keys.node.error("needs either from or constant") }
            if let constant, form.value(of: .string(constant)) == .null {
                keys.error("constant", "is no \(form.rawValue)")
            }
            guard let source = own.map(UserFields.Source.own) ?? constant.map(UserFields.Source.constant) else {
                return nil
            }
            return Self(name: name, source: source, form: form)
        }
        guard let field, let field else { return nil }
        self = field
    }
}
