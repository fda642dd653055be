/// The token of one property: `static let title = Attribute<String>("title")`.
struct TokenExpansion {
    private let property: PropertySyntax
    private let list: TokenList

    init(_ property: PropertySyntax, _ list: TokenList) {
        self.property = property
        self.list = list
    }

    /// - Parameter access: The lower of the access levels of class and property, as a modifier and a space.
    func source(access: String) -> String { "\(access)static let \(property.sourceName) = \(value)" }

    private var value: String {
        let call = property.attribute("Relationship").map(relationship) ?? attribute
        return call + addedSettings
    }

    // MARK: Attributes

    /// The arguments, in the order of the parameters of `Attribute`'s initialiser.
    private static let flags = ["unique", "indexed", "transient"]
    private static let labels = [
        "minimum", "maximum", "minimumLength", "maximumLength", "pattern", "derivation", "merge", "composite", "transformer",
    ]
    private static let lastFlags = ["external", "preserved"]

    private var attribute: String {
        let mark = property.attribute("Attribute")
        var arguments = [quotedName]
        if let value = constant { arguments.append("default: \(value)") }
        if let type = mark?["type"] { arguments.append(type.source) }
        arguments += Self.flags.filter { mark?.options.contains($0) == true }.map { "\($0): true" }
        arguments += Self.labels.compactMap { mark?[$0]?.source }
        arguments += Self.lastFlags.filter { mark?.options.contains($0) == true }.map { "\($0): true" }
        if let old = mark?["renamedFrom"] { arguments.append(old.source) }
        return "\(tokenType)(\(arguments.joined(separator: ", ")))"
    }

    /// The type of the token. For a type that is not one of the library's, the overloads of `TokenType.of` choose it at compile time.
    private var tokenType: String {
        guard let type = property.type else { return "Attribute<\(property.inferredTypeName(in: list) ?? "")>" }
        let text = list.text(type.range)
        return type.isPlain ? "Attribute<\(text)>" : "TokenType.of(\(text).self).init"
    }

    /// The default value, if all new objects have the same.
    private var constant: String? {
        if let given = property.attribute("Attribute")?["default"] { return given.value }
        guard let initialValue = property.initialValue else { return nil }
        let text = list.text(initialValue)
        guard InitialValue(text).isConstant, text != "nil" else { return nil }
        // `[]` needs no default: relationships have none, and lists are empty without one.
        return text == "[]" ? nil : text
    }

    // MARK: Relationships

    private func relationship(_ mark: AttributeSyntax) -> String {
        var arguments = [quotedName]
        if let inverse = mark["inverse"], case .named(let name) = RelationshipInverse(inverse.value) {
            arguments.append("inverse: \"\(name)\"")
        }
        for label in ["optional", "minCount", "maxCount", "deleteRule", "merge", "renamedFrom"] {
            if let argument = mark[label] { arguments.append(argument.source) }
        }
        return "\(relationshipType)(\(arguments.joined(separator: ", ")))"
    }

    private var relationshipType: String {
        guard let type = property.type else { return "ToOne<Never>" }
        guard let (kind, element) = type.collection else { return "ToOne<\(list.text((type.wrapped ?? type).range))>" }
        let isOrdered = kind == .array || kind == .managedArray
        return "\(isOrdered ? "OrderedToMany" : "ToMany")<\(list.text(element.range))>"
    }

    // MARK: Both

    private var quotedName: String { "\"\(property.name)\"" }

    /// A call with the arguments that the initialisers of tokens do not have.
    private var addedSettings: String {
        let mark = property.attribute("Attribute") ?? property.attribute("Relationship")
        let arguments = ["rules", "version", "userInfo"].compactMap { mark?[$0]?.source }
        return arguments.isEmpty ? "" : ".adding(\(arguments.joined(separator: ", ")))"
    }
}

/// The initial value in the declaration of a property.
struct InitialValue {
    private let list: TokenList

    init(_ source: String) { list = TokenList(source) }

    /// True for a value that is the same for each object: literals, and members such as `.unrated`; false for calls, closures, and expressions
    /// with `.now`. A computed static member counts as constant: its value at the first use is that of all objects.
    var isConstant: Bool {
        return list.tokens.indices.allSatisfy { index in
            switch list.tokens[index].kind {
            case .number: true
            case .text(let isPlain): isPlain
            case .word: !["try", "await", "if", "switch", "unsafe", "now"].contains(list.text(index))
            case .mark(UInt8(ascii: "(")): !isCall(index)
            case .mark(let mark): "+-*/%.,:[])_".utf8.contains(mark)
            case .pound, .regex: false
            }
        }
    }

    private func isCall(_ index: Int) -> Bool {
        guard index > 0, !list.tokens[index].isAfterSpace else { return false }
        return list.isName(index - 1) || [")", "]", ">", "}"].contains { list.isMark(index - 1, $0) }
    }
}
