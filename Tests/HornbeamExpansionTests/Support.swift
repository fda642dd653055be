@testable import HornbeamExpansion

/// The class in some source, with the members described one a line.
func outline(_ source: String) throws -> [String] {
    var scanner = DeclarationScanner(source)
    let found = try scanner.scanClass()
    return found.properties.map { describe($0, scanner.list) }
}

/// `name: Type = value` with what distinguishes the property.
func describe(_ property: PropertySyntax, _ list: TokenList) -> String {
    var text = property.isManaged ? "" : property.isTransient ? "transient " : property.isStatic ? "static " : "computed "
    text += property.attributes.map { "@\($0.name)(\($0.arguments.map(\.source).joined(separator: ", "))) " }.joined()
    text += property.isPattern ? "(pattern)" : property.name
    if let type = property.type { text += ": " + list.text(type.range) }
    if let value = property.initialValue { text += " = " + list.text(value) }
    return text
}

/// The members that `@Entity` adds, or the diagnostics instead.
func expand(_ source: String) -> String {
    let part = SourcePart(source: source)
    switch Expansion.response(to: .init(typeName: "EntityMacro", role: "member", attribute: part, declaration: part)) {
    case .expansion(let source, let diagnostics, _) where diagnostics.isEmpty: return source
    case .expansion(_, let diagnostics, _): return diagnostics.map { describe($0, source) }.joined(separator: "\n")
    case .capability: return ""
    }
}

/// `line:column: message [fix → text]`.
func describe(_ diagnostic: Diagnostic, _ source: String) -> String {
    let before = Array(source.utf8).prefix(diagnostic.position)
    let line = before.filter { $0 == 0x0A }.count + 1
    let column = before.count - (before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0) + 1
    let fix = diagnostic.fix.map { " [\($0.message) → \($0.text)]" } ?? ""
    return "\(line):\(column): \(diagnostic.message)\(fix)"
}

/// The response of one role for one declaration.
func response(_ typeName: String, _ role: String, _ source: String) -> String {
    let part = SourcePart(source: source)
    guard case .expansion(let source, _, _) = Expansion.response(
        to: .init(typeName: typeName, role: role, attribute: part, declaration: part))
    else { return "" }
    return source
}
