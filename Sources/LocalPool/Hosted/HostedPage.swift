/// A page of the hosted sign-in: a single form without script and style.
struct HostedPage: Sendable {
    struct Field: Sendable {
        var name: String
        var label: String
        var type = "text"
        var value = ""
        var autocomplete = "off"
        var isRequired = true
    }

    var title: String
    /// The reason why the page is shown again, or an instruction.
    var note: String?
    /// The path that the form is posted to; nil if the page has no form.
    var action: String?
    var fields: [Field] = []
    /// Hidden fields of the form.
    var hidden: [(name: String, value: String)] = []
    /// The values (of the field `action`) and texts of the buttons.
    var buttons: [(value: String, text: String)] = []
    var links: [(path: String, text: String)] = []

    /// The page as HTML.
    ///
    /// - Parameters:
    ///   - query: the query of all forms and links.
    ///   - token: proves that a form comes from a page in this browser.
    func html(query: String, token: String) -> String {
        var body = "<h1>\(Self.escaped(title))</h1>\n"
        if let note { body += "<p role=\"status\">\(Self.escaped(note))</p>\n" }
        if let action { body += form(action, query: query, token: token) }
        for link in links {
            body += "<p><a href=\"\(Self.escaped("\(link.path)?\(query)"))\">\(Self.escaped(link.text))</a></p>\n"
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(Self.escaped(title))</title>
            </head>
            <body>
            \(body)</body>
            </html>

            """
    }

    private func form(_ action: String, query: String, token: String) -> String {
        var form = "<form method=\"post\" action=\"\(Self.escaped("\(action)?\(query)"))\">\n"
        for (name, value) in hidden + [(name: "_csrf", value: token)] {
            form += "<input type=\"hidden\" name=\"\(name)\" value=\"\(Self.escaped(value))\">\n"
        }
        for field in fields {
            form += """
                <p><label>\(Self.escaped(field.label))<br><input type="\(field.type)" name="\(field.name)" \
                value="\(Self.escaped(field.value))" autocomplete="\(field.autocomplete)"\
                \(field.isRequired ? " required" : "")></label></p>

                """
        }
        for button in buttons {
            // Cancelling requires no input.
            let novalidate = button.value == "cancel" ? " formnovalidate" : ""
            form += """
                <button name="action" value="\(button.value)"\(novalidate)>\(Self.escaped(button.text))</button>

                """
        }
        return form + "</form>\n"
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension HostedPage.Field {
    static func email(_ value: String = "") -> Self {
        Self(name: "username", label: "E-mail address", type: "email", value: value, autocomplete: "username")
    }

    static func password(_ label: String = "Password", isNew: Bool = false) -> Self {
        Self(
            name: "password", label: label, type: "password",
            autocomplete: isNew ? "new-password" : "current-password")
    }

    static let code = Self(name: "code", label: "Code", autocomplete: "one-time-code")
}
