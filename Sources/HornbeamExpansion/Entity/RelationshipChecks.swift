/// Finds the reason why a property with `@Relationship` cannot be a relationship.
struct RelationshipChecks {
    private let property: PropertySyntax
    private let list: TokenList

    init(_ property: PropertySyntax, _ list: TokenList) {
        self.property = property
        self.list = list
    }

    var problem: Diagnostic? {
        guard let mark = property.attribute("Relationship") else { return nil }
        if let attribute = property.attribute("Attribute") {
            return Diagnostic(attribute.position, "“\(property.name)” is an attribute or a relationship, not both.")
        }
        guard let type = property.type else { return nil }
        return typeProblem(type) ?? argumentProblem(mark, isToMany: type.collection != nil)
    }

    private func typeProblem(_ type: TypeSyntax) -> Diagnostic? {
        if type.isPlain || type.collection?.element.isPlain == true {
            return Diagnostic(type.range.lowerBound, "A relationship leads to objects of an entity, not to \(list.text(type.range)).")
        }
        if let wrapped = type.wrapped {
            guard wrapped.collection != nil else { return nil }
            return Diagnostic(
                type.range.upperBound - 1, "A relationship to many objects is not optional: without objects it is empty.",
                fix: .init(message: "Remove ?", range: wrapped.range.upperBound..<type.range.upperBound, text: ""))
        }
        switch type.form {
        case .named where type.collection == nil:
            let end = type.range.upperBound
            return Diagnostic(
                type.range.lowerBound,
                "A relationship to one object is optional in Swift, since the object can be deleted. Write "
                    + "`@Relationship(optional: false)` if each saved object must have one.",
                fix: .init(message: "Make it optional", range: end..<end, text: "?"))
        case .dictionary:
            return Diagnostic(type.range.lowerBound, "A relationship is to one object, a set or an array, not a dictionary.")
        default:
            if let element = type.collection?.element, element.isOptional || element.collection != nil {
                return Diagnostic(element.range.lowerBound, "A relationship to many objects has elements of an entity's class.")
            }
            return nil
        }
    }

    private func argumentProblem(_ mark: AttributeSyntax, isToMany: Bool) -> Diagnostic? {
        if let inverse = mark["inverse"], RelationshipInverse(inverse.value) == nil {
            return Diagnostic(
                inverse.range.lowerBound,
                "The inverse is a key path to one property of the destination, such as `\\Book.author`, its name as a text, or nil.")
        }
        for label in ["minCount", "maxCount"] {
            if !isToMany, let argument = mark[label] {
                return Diagnostic(argument.range.lowerBound, "\(label) is for relationships to many objects; write `optional: false` instead.")
            }
        }
        if isToMany, let merge = mark["merge"] {
            return Diagnostic(merge.range.lowerBound, "Relationships to many objects are always merged member by member; leave `merge` out.")
        }
        if let value = property.initialValue, !["nil", "[]", ".init()"].contains(list.text(value)) {
            return Diagnostic(value.lowerBound, "A relationship starts without objects: it has no initial value.")
        }
        return nil
    }
}

/// The inverse that the argument `inverse` names.
enum RelationshipInverse: Equatable {
    case named(String)
    /// `nil`: the relationship has no inverse.
    case none

    /// Nil when the argument is not a valid inverse.
    init?(_ value: String) {
        if value == "nil" {
            self = .none
            return
        }
        let list = TokenList(value)
        if list.count == 1, case .text(isPlain: true) = list.tokens[0].kind, value.hasPrefix("\""), value.count > 2 {
            self = .named(String(value.dropFirst().dropLast()))
            return
        }
        guard let path = KeyPathLiteral(list, at: 0), path.end == list.count, path.names.count == 1 else { return nil }
        self = .named(path.names[0])
    }
}
