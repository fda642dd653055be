/// Expands the macros, each by its role.
///
/// `@Entity` adds members to the class, and `@ManagedProperty` to each property that is stored. The accessors of `@ManagedProperty` read
/// and write the value by its token. `@Attribute`, `@Relationship`, `@Transient`, `#Index`, `#Unique` and `#FetchedProperty` have empty
/// expansions: `@Entity` reads them. Only the role `member` of `@Entity` reports diagnostics, so that each is reported once.
enum Expansion {
    static func response(to macro: Request.AttachedMacro) -> Response {
        let part = macro.declaration
        do throws(DeclarationScanner.Failure) {
            switch (macro.typeName, macro.role) {
            case ("EntityMacro", "member"):
                return try members(of: part, entityAttribute: macro.attribute)
            case ("EntityMacro", "memberAttribute"):
                return .expansion(source: try memberAttributes(of: part.source), diagnostics: [], part: part)
            case ("ManagedPropertyMacro", "accessor"):
                return .expansion(source: try accessors(of: part.source), diagnostics: [], part: part)
            default:
                return .expansion(source: "", diagnostics: [], part: part)
            }
        } catch {
            // The role `member` reads the whole class and reports the error. The other roles do not report it again.
            let diagnostics = macro.role == "member" ? [Diagnostic(error.position, error.message)] : []
            return .expansion(source: "", diagnostics: diagnostics, part: part)
        }
    }

    private static func members(of part: SourcePart, entityAttribute: SourcePart) throws(DeclarationScanner.Failure) -> Response {
        var scanner = DeclarationScanner(part.source)
        let found = try scanner.scanClass()
        let checks = ClassChecks(found, scanner.list)
        guard checks.isEntity else { return .expansion(source: "", diagnostics: checks.problems, part: part) }
        // The other properties are expanded nevertheless, so that one mistake causes only one error.
        return .expansion(source: EntityExpansion(found, scanner.list).members, diagnostics: checks.problems, part: part)
    }

    /// `@ManagedProperty` for a property that is stored; empty for other members.
    private static func memberAttributes(of source: String) throws(DeclarationScanner.Failure) -> String {
        var scanner = DeclarationScanner(source)
        guard let property = try scanner.scanProperties().first, property.isManaged, property.attribute("ManagedProperty") == nil,
            PropertyChecks(property, scanner.list).problem == nil
        else { return "" }
        return "@ManagedProperty"
    }

    private static func accessors(of source: String) throws(DeclarationScanner.Failure) -> String {
        var scanner = DeclarationScanner(source)
        guard let property = try scanner.scanProperties().first, PropertyChecks(property, scanner.list).problem == nil else { return "" }
        let name = property.sourceName
        let getter = "get { self[Self.\(name)] }"
        if property.attribute("Attribute")?["derivation"] != nil { return "{\n    \(getter)\n}" }
        return "{\n    \(getter)\n    set { self[Self.\(name)] = newValue }\n}"
    }
}

extension PropertySyntax {
    /// The name as in the source, with its backticks.
    var sourceName: String { isQuoted ? "`\(name)`" : name }
}
