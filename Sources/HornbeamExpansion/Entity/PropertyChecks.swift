/// Finds the reason why a declaration cannot be a stored property of an entity, with its position in the source.
struct PropertyChecks {
    private let property: PropertySyntax
    private let list: TokenList

    init(_ property: PropertySyntax, _ list: TokenList) {
        self.property = property
        self.list = list
    }

    /// The first problem; nil when the property can be stored.
    var problem: Diagnostic? {
        shapeProblem ?? modifierProblem ?? nameProblem ?? typeProblem ?? RelationshipChecks(property, list).problem ?? attributeProblem
    }

    // MARK: Shape

    private var shapeProblem: Diagnostic? {
        if property.isPattern {
            return Diagnostic(property.nameRange.lowerBound, "A tuple of properties cannot be stored: declare each property by itself.")
        }
        if property.isOneOfSeveral {
            return Diagnostic(
                property.keyword.lowerBound, "“\(property.name)” must have a declaration of its own: one `var` for each property of an entity.")
        }
        if property.isLet {
            return Diagnostic(
                property.keyword.lowerBound, "“\(property.name)” must be a `var`: the store fills it in after the object was made.",
                fix: .init(message: "Make it a var", range: property.keyword, text: "var"))
        }
        if property.hasObservers, let position = property.accessors {
            return Diagnostic(
                position,
                "“\(property.name)” cannot have observers: its value lies in the store. Override `willSave` or `awakeFromFetch`, or mark the "
                    + "property @Transient.")
        }
        if property.isConditional {
            return Diagnostic(
                property.nameRange.lowerBound,
                "“\(property.name)” is inside #if, so that the model would differ between builds. Move it out, or mark it @Transient.")
        }
        return nil
    }

    private var modifierProblem: Diagnostic? {
        guard let modifier = property.modifiers.first(where: { ["lazy", "weak", "unowned", "override"].contains($0.name) }) else { return nil }
        if modifier.name == "override" {
            return Diagnostic(modifier.position, "“\(property.name)” is inherited: an entity's property cannot be declared again.")
        }
        let start = property.modifiers[0].position
        return Diagnostic(
            modifier.position, "A \(modifier.name) property cannot be stored: mark it @Transient to keep it in memory only.",
            fix: .init(message: "Mark it @Transient", range: start..<start, text: "@Transient "))
    }

    // MARK: Name

    /// The names of members that every managed object, or its class, already has.
    static let reservedNames: Set<String> = [
        "Type", "debugDescription", "description", "entity", "hasChanges", "hash", "hashValue", "init", "isDeleted", "isFault",
        "isInserted", "isUpdated", "managedObjectContext", "objectID", "self", "entityDeclaration", "entityName", "tokens", "changedValues",
        "changedValuesForCurrentEvent", "defaultOrder", "evaluatedIdentity", "evaluatedKeys", "hasPersistentChangedValues", "isFailed",
        "predicateArgument",
    ]

    private var nameProblem: Diagnostic? {
        guard Self.reservedNames.contains(property.name) else { return nil }
        return Diagnostic(
            property.nameRange.lowerBound,
            "“\(property.name)” is the name of a member of every managed object. Choose another name.")
    }

    // MARK: Type

    private var typeProblem: Diagnostic? {
        guard let type = property.type else {
            guard property.inferredTypeName(in: list) == nil else { return nil }
            let end = property.nameRange.upperBound
            return Diagnostic(
                property.nameRange.lowerBound, "“\(property.name)” needs a type: the model is made from it.",
                fix: .init(message: "Add a type", range: end..<end, text: ": <#Type#>"))
        }
        return problem(in: type)
    }

    private func problem(in type: TypeSyntax) -> Diagnostic? {
        switch type.form {
        case .implicitlyUnwrapped:
            return Diagnostic(
                type.range.upperBound - 1, "“\(property.name)” cannot be implicitly unwrapped: make it optional or not optional.",
                fix: .init(message: "Make it optional", range: type.range.upperBound - 1..<type.range.upperBound, text: "?"))
        case .other(let what):
            return Diagnostic(type.range.lowerBound, "“\(property.name)” cannot be stored: its type is \(what).")
        case .optional(let wrapped):
            if wrapped.isOptional {
                return Diagnostic(type.range.lowerBound, "“\(property.name)” is optional twice; the store has only one kind of nil.")
            }
            return problem(in: wrapped)
        case .named(let name, _) where ["UInt", "UInt64", "Int128", "UInt128", "Float80", "Character"].contains(name):
            return Diagnostic(
                type.range.lowerBound, "\(name) is not a type of the store, which has signed integers of 64 bits. Use Int, Decimal or String.")
        case .named, .array, .dictionary:
            return nil
        }
    }

    // MARK: Options

    private static let options: Set<String> = [".unique", ".indexed", ".transient", ".external", ".preserved"]

    private var attributeProblem: Diagnostic? {
        guard let attribute = property.attribute("Attribute") else { return nil }
        if let option = attribute.arguments.first(where: { $0.label == nil && !Self.options.contains($0.value) }) {
            return Diagnostic(
                option.range.lowerBound,
                "@Attribute reads its options from the source: write .unique, .indexed, .transient, .external or .preserved.")
        }
        if attribute["derivation"] != nil, let value = property.initialValue {
            return Diagnostic(value.lowerBound, "“\(property.name)” is derived: the store computes it, so that it has no initial value.")
        }
        if let given = attribute["default"], property.initialValue != nil {
            return Diagnostic(given.range.lowerBound, "“\(property.name)” has an initial value and a default. Give one of them.")
        }
        return nil
    }
}

extension PropertySyntax {
    /// The name of the type that the initial value implies if it is a literal: `Int` for `var count = 0`; nil for other values.
    func inferredTypeName(in list: TokenList) -> String? {
        guard let initialValue else { return nil }
        let value = TokenList(list.text(initialValue))
        let isNegative = value.isMark(0, "-")
        guard value.count == (isNegative ? 2 : 1) else { return nil }
        let text = value.text(value.count - 1)
        switch value.tokens[value.count - 1].kind {
        case .number:
            let isHexadecimal = text.hasPrefix("0x")
            let marks = isHexadecimal ? ".pP" : ".eE"
            return text.contains(where: { marks.contains($0) }) ? "Double" : "Int"
        case .text where !isNegative: return "String"
        case .word(isQuoted: false) where !isNegative: return ["true", "false"].contains(text) ? "Bool" : nil
        default: return nil
        }
    }
}
