/// Finds the reasons why a declaration cannot be an entity, with their positions in the source.
struct ClassChecks {
    private let found: ClassSyntax
    private let list: TokenList

    init(_ found: ClassSyntax, _ list: TokenList) {
        self.found = found
        self.list = list
    }

    /// False when the declaration is not a class that can be an entity.
    var isEntity: Bool { classProblem == nil }

    /// All problems of the class and its properties, in the order of the source.
    var problems: [Diagnostic] {
        var problems = classProblem.map { [$0] } ?? []
        for property in found.properties where property.isManaged {
            if let problem = PropertyChecks(property, list).problem { problems.append(problem) }
        }
        for property in found.properties where !property.isManaged {
            if let problem = markerProblem(property) { problems.append(problem) }
        }
        for macro in found.macros { problems += KeyPathMacro(macro).problems }
        return problems.sorted { $0.position < $1.position }
    }

    private var classProblem: Diagnostic? {
        if found.keyword != "class" {
            return Diagnostic(
                found.keywordRange.lowerBound,
                "@Entity is for classes: objects have an identity, which a value of \(found.keyword) “\(found.name)” does not have.")
        }
        if let generics = found.generics {
            return Diagnostic(generics, "An entity's class cannot be generic: each entity has one class.")
        }
        if found.inherited.isEmpty {
            let end = found.nameRange.upperBound
            return Diagnostic(
                found.nameRange.lowerBound, "“\(found.name)” must inherit from ManagedObject, or from another entity's class.",
                fix: .init(message: "Inherit from ManagedObject", range: end..<end, text: ": ManagedObject"))
        }
        return nil
    }

    /// The problem of a property that is not stored and has the attribute `@Attribute` or `@Relationship`.
    private func markerProblem(_ property: PropertySyntax) -> Diagnostic? {
        guard let mark = property.attributes.first(where: { ["Attribute", "Relationship"].contains($0.name) }) else { return nil }
        if property.isTransient {
            return Diagnostic(
                mark.position,
                "“\(property.name)” is both @\(mark.name) and @Transient. Write @Attribute(.transient) for an attribute that is tracked and "
                    + "not stored, or @Transient alone for a property that the model does not know.")
        }
        return Diagnostic(
            mark.position, "@\(mark.name) is for stored properties of objects: “\(property.name)” is \(property.isStatic ? "static" : "computed").")
    }
}
