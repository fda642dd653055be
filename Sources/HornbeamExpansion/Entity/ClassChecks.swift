/// Refuses declarations that cannot be entities, with their places.
struct ClassChecks {
    private let found: ClassSyntax
    private let list: TokenList

    init(_ found: ClassSyntax, _ list: TokenList) {
        self.found = found
        self.list = list
    }

    /// False when nothing can be made of the class.
    var isEntity: Bool { classProblem == nil }

    /// Everything that is wrong with the class and its properties, in the order of the source.
    var problems: [Diagnostic] {
        var problems = classProblem.map { [$0] } ?? []
        for property in found.properties where property.isManaged {
            if let problem = PropertyChecks(property, list).problem { problems.append(problem) }
        }
        for property in found.properties where !property.isManaged {
            if let problem = markerProblem(property) { problems.append(problem) }
        }
        for macro in found.macros { problems += KeyPathMacro(macro).problems }
        return problems.sorted { $0.place < $1.place }
    }

    private var classProblem: Diagnostic? {
        if found.keyword != "class" {
            return Diagnostic(
                found.keywordRange.lowerBound,
                "@Entity is for classes: objects have an identity, which a value of \(found.keyword) “\(found.name)” has not.")
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

    /// A mark on a property that the store does not keep.
    private func markerProblem(_ property: PropertySyntax) -> Diagnostic? {
        guard let mark = property.attributes.first(where: { ["Attribute", "Relationship"].contains($0.name) }) else { return nil }
        if property.isTransient {
            return Diagnostic(
                mark.place,
                "“\(property.name)” is both @\(mark.name) and @Transient. Write @Attribute(.transient) for an attribute that is tracked and "
                    + "not stored, or @Transient alone for a property that the model does not know.")
        }
        return Diagnostic(
            mark.place, "@\(mark.name) is for stored properties of objects: “\(property.name)” is \(property.isStatic ? "static" : "computed").")
    }
}
