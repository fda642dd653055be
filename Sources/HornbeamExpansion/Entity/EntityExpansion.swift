/// The members that `@Entity` adds to a class. A class without the macro declares them itself.
struct EntityExpansion {
    private let found: ClassSyntax
    private let list: TokenList
    private let managed: [PropertySyntax]

    init(_ found: ClassSyntax, _ list: TokenList) {
        self.found = found
        self.list = list
        managed = found.properties.filter { $0.isManaged && PropertyChecks($0, list).problem == nil }
    }

    var members: String {
        [tokens, entityName, allTokens, declaration, initialValues, initialiser].filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    // MARK: Tokens

    /// The tokens of the properties, without those that the class declares itself.
    private var tokens: String {
        let written = Set(found.properties.filter(\.isStatic).map(\.name))
        return managed.filter { !written.contains($0.name) }
            .map { TokenExpansion($0, list).source(access: min(access, Access($0)).prefix) }.joined(separator: "\n")
    }

    private var ownTokens: String { "[" + managed.map(\.sourceName).joined(separator: ", ") + "]" }

    private var allTokens: String {
        "\(overriding)class var tokens: [any PropertyToken] { super.tokens + \(ownTokens) }"
    }

    // MARK: The entity

    private var mark: AttributeSyntax? { found.attributes.first { $0.name == "Entity" } }

    private var entityName: String {
        guard let name = mark?.arguments.first(where: { $0.label == nil })?.value else { return "" }
        return "\(overriding)class var entityName: String { \(name) }"
    }

    private var declaration: String {
        var arguments = ["\(found.name).self", "parent: super.entityDeclaration", "tokens: \(ownTokens)"]
        let oneWay = managed.filter { $0.attribute("Relationship")?["inverse"]?.value == "nil" }.map { "\"\($0.name)\"" }
        if !oneWay.isEmpty { arguments.append("oneWay: [\(oneWay.joined(separator: ", "))]") }
        arguments += ["abstract", "renamedFrom", "version", "userInfo"].compactMap { mark?[$0]?.source }
        let parts = found.macros.flatMap { KeyPathMacro($0).parts }
        let block = parts.isEmpty ? "" : " {\n" + parts.map { "        \($0)\n" }.joined() + "    }"
        return """
            \(overriding)class var entityDeclaration: EntityDeclaration? {
                EntityDeclaration(\(arguments.joined(separator: ", ")))\(block)
            }
            """
    }

    // MARK: Initial values

    /// The method that assigns initial values that are not constant, such as `UUID()` and `.now`.
    private var initialValues: String {
        let lines = managed.compactMap { property -> String? in
            guard let value = property.initialValue, property.attribute("Relationship") == nil else { return nil }
            let text = list.text(value)
            return InitialValue(text).isConstant ? nil : "    self.\(property.sourceName) = \(text)\n"
        }
        guard !lines.isEmpty else { return "" }
        return "\(overriding)func assignInitialValues() {\n    super.assignInitialValues()\n\(lines.joined())}"
    }

    private var initialiser: String {
        guard !found.initialisers.contains(where: { $0.firstLabel == "in" }), mark?["abstract"]?.value != "true" else { return "" }
        let given = managed.filter { property in
            guard property.attribute("Attribute")?["derivation"] == nil else { return false }
            return !property.has("private") && !property.has("fileprivate")
        }
        guard !given.isEmpty else { return "" }
        let access = given.map { Access($0) }.reduce(access, min)
        let context = given.contains { $0.name == "context" } ? "_context" : "context"
        let parameters = given.map { "\($0.sourceName): \(typeText($0))\(defaultText($0))" }
        let lines = given.map { "    self.\($0.sourceName) = \($0.sourceName)\n" }
        return "@discardableResult \(access.prefix)convenience init(in \(context): ManagedObjectContext, \(parameters.joined(separator: ", "))) {\n"
            + "    self.init(context: \(context))\n\(lines.joined())}"
    }

    private func typeText(_ property: PropertySyntax) -> String {
        property.type.map { list.text($0.range) } ?? property.inferredTypeName(in: list) ?? "Never"
    }

    private func defaultText(_ property: PropertySyntax) -> String {
        if let given = property.attribute("Attribute")?["default"] { return " = \(given.value)" }
        if let value = property.initialValue { return " = \(list.text(value))" }
        guard let type = property.type else { return "" }
        if type.isOptional { return " = nil" }
        guard let element = type.collection?.element, !element.isPlain else { return "" }
        return " = []"
    }

    // MARK: Access

    /// The access level of the members. Members of a private class need no modifier: they are visible where the class is.
    private var access: Access { max(.internal, Access(found.modifiers)) }
    private var overriding: String { access.prefix + "override " }
}

/// The access level of a declaration.
enum Access: Int, Comparable {
    case `private`, `fileprivate`, `internal`, `package`, `public`

    init(_ modifiers: [Modifier]) {
        let names = modifiers.filter { $0.detail == nil }.map(\.name)
        self =
            if names.contains("public") || names.contains("open") {
                .public
            } else if names.contains("package") {
                .package
            } else if names.contains("fileprivate") {
                .fileprivate
            } else if names.contains("private") {
                .private
            } else {
                .internal
            }
    }

    init(_ property: PropertySyntax) { self.init(property.modifiers) }

    static func < (a: Access, b: Access) -> Bool { a.rawValue < b.rawValue }

    /// The modifier and a space; empty for `internal`.
    var prefix: String {
        switch self {
        case .internal: ""
        case .fileprivate: "fileprivate "
        case .private: "private "
        case .package: "package "
        case .public: "public "
        }
    }
}
