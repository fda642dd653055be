extension ModelCompiler {
    mutating func check(_ attribute: AttributeDescription, of entity: String) {
        checkType(of: attribute, in: entity)
        checkDefault(of: attribute, in: entity)
        checkLimits(of: attribute, in: entity)
        checkLengths(of: attribute, in: entity)
        checkPattern(of: attribute, in: entity)
        if let rule = attribute.mergeRule, !rule.fits(attribute.type) {
            report("has the merge rule \(rule), which does not apply to the type \(attribute.type).", attribute, entity)
        }
        for rule in attribute.rules { check(rule, of: attribute, in: entity) }
    }

    private mutating func check(_ rule: ValidationRule, of attribute: AttributeDescription, in entity: String) {
        let predicate: FetchPredicate
        do {
            predicate = try FetchPredicate(format: rule.predicate)
        } catch {
            report("has the rule \(rule.predicate), which does not parse. \(message(of: error))", attribute, entity)
            return
        }
        if let name = predicate.variableNames.sorted().first {
            report("has the rule \(rule.predicate): $\(name) has no value there; write the value instead.", attribute, entity)
        }
        let elements = attribute.compositeName.flatMap { compositesByName[$0]?.elements } ?? []
        var validator = PredicateValidator(values: ExpressionType(attribute, elements: elements))
        do {
            try validator.check(predicate.node)
        } catch {
            report("has the rule \(rule.predicate). \(message(of: error))", attribute, entity)
        }
    }

    private mutating func report(_ message: String, _ attribute: AttributeDescription, _ entity: String) {
        report("“\(entity).\(attribute.name)” \(message)", entity: entity, key: attribute.name)
    }

    private mutating func checkType(of attribute: AttributeDescription, in entity: String) {
        if attribute.type == .undefined, !attribute.isTransient {
            report("has no type: only a transient attribute may have none.", attribute, entity)
        }
        if attribute.type == .composite {
            checkComposite(of: attribute, in: entity)
        } else if attribute.compositeName != nil {
            report("names a composite, and its type is \(attribute.type): make it composite.", attribute, entity)
        }
        if attribute.valueTransformerName != nil, attribute.type != .transformable {
            report("names a transformer, and its type is \(attribute.type): make it transformable.", attribute, entity)
        }
        if attribute.isDerived, attribute.isTransient {
            report("is both derived and transient: a derived value is stored, so remove one of the two.", attribute, entity)
        }
        if attribute.isDerived, !attribute.defaultValue.isNull {
            report("is derived, so its default value would never be used: remove it.", attribute, entity)
        }
    }

    private mutating func checkComposite(of attribute: AttributeDescription, in entity: String) {
        guard let name = attribute.compositeName else {
            report("is composite and names no composite: name one.", attribute, entity)
            return
        }
        if compositesByName[name] == nil {
            report(
                "names the composite “\(name)”, which is not in the model"
                    + suggestion(for: name, among: compositesByName.keys.sorted()) + ".",
                attribute, entity)
        }
    }

    private mutating func checkDefault(of attribute: AttributeDescription, in entity: String) {
        do {
            _ = try attribute.defaultValue.coerced(to: attribute.type, entity: entity, key: attribute.name)
        } catch {
            report("has a default value that does not fit. \(message(of: error))", attribute, entity)
        }
    }

    private mutating func checkLimits(of attribute: AttributeDescription, in entity: String) {
        let isOrdered = attribute.type.isNumeric || attribute.type == .date
        for (limit, word) in [(attribute.minimum, "minimum"), (attribute.maximum, "maximum")] {
            guard let limit else { continue }
            if !isOrdered {
                report(
                    "has a \(word), and its type is \(attribute.type): numbers and dates have limits, "
                        + "strings and data have lengths.",
                    attribute, entity)
            } else if limit.compared(to: attribute.type == .date ? .date(.unsetValue) : .int(0)) == nil {
                report(
                    "has a \(word) of the wrong kind: it must be a \(attribute.type == .date ? "date" : "number").",
                    attribute, entity)
            }
        }
        if let minimum = attribute.minimum, let maximum = attribute.maximum,
            minimum.compared(to: maximum) == .greater
        {
            report("has a minimum above its maximum: no value would be allowed.", attribute, entity)
        }
        guard let (least, greatest) = attribute.type.extremes else { return }
        if attribute.minimum?.compared(to: greatest) == .greater {
            report("has a minimum above the range of \(attribute.type.withArticle): no value would be allowed.", attribute, entity)
        }
        if attribute.maximum?.compared(to: least) == .less {
            report("has a maximum below the range of \(attribute.type.withArticle): no value would be allowed.", attribute, entity)
        }
    }

    private mutating func checkLengths(of attribute: AttributeDescription, in entity: String) {
        guard attribute.minimumLength != nil || attribute.maximumLength != nil else { return }
        if attribute.type != .string, attribute.type != .binary {
            report("has limits of length, and its type is \(attribute.type): only strings and data have a length.", attribute, entity)
        }
        if (attribute.minimumLength ?? 0) < 0 || (attribute.maximumLength ?? 0) < 0 {
            report("has a negative limit of length: use 0 or more.", attribute, entity)
        }
        if let minimum = attribute.minimumLength, let maximum = attribute.maximumLength, minimum > maximum {
            report("has a minimum length above its maximum length: no value would be allowed.", attribute, entity)
        }
    }

    private mutating func checkPattern(of attribute: AttributeDescription, in entity: String) {
        guard let pattern = attribute.pattern else { return }
        if attribute.type != .string {
            report("has a pattern, and its type is \(attribute.type): only strings have one.", attribute, entity)
        }
        if (try? BoundedPattern(pattern, [])) == nil {
            report("has the pattern \(pattern), which is not a regular expression.", attribute, entity)
        }
    }

    mutating func check(_ composite: CompositeDescription) {
        if definition.composites.count(where: { $0.name == composite.name }) > 1 {
            report("There are two composites named “\(composite.name)”: rename or remove one.", entity: composite.name)
        }
        if !isIdentifier(composite.name) {
            report(
                "The composite name “\(composite.name)” is not an identifier: "
                    + "use letters, digits and underscores, and no digit first.",
                entity: composite.name)
        }
        if composite.elements.isEmpty {
            report("The composite “\(composite.name)” has no elements: add one or remove it.", entity: composite.name)
        }
        var seen: Set<String> = []
        for element in composite.elements {
            if !seen.insert(element.name).inserted {
                report("has the same name as another element: rename one.", element, composite.name)
            }
            checkName(of: element, in: composite)
            check(element, of: composite.name)
            if element.type == .undefined || element.type == .objectID {
                report("is of type \(element.type), which no element of a composite can be.", element, composite.name)
            }
            if element.isDerived {
                report("is derived: an element of a composite cannot be.", element, composite.name)
            }
            if element.allowsExternalBinaryDataStorage {
                report("allows external storage: an element of a composite cannot.", element, composite.name)
            }
        }
        if let problem = nestingProblem(of: composite) {
            report("The composite “\(composite.name)” \(problem)", entity: composite.name)
        }
    }

    private mutating func checkName(of element: AttributeDescription, in composite: CompositeDescription) {
        if !isIdentifier(element.name) {
            report(
                "The element name “\(element.name)” of the composite “\(composite.name)” is not an identifier: "
                    + "use letters, digits and underscores, and no digit first.",
                entity: composite.name, key: element.name)
        } else if element.name.lowercased() == "self" {
            report("has a name that means the object in key paths: choose another.", element, composite.name)
        }
    }

    /// The maximum number of composites inside a composite, and the maximum number of its elements, inner ones included.
    private static let innerCompositesMax = 100
    private static let innerElementsMax = 10_000

    private func nestingProblem(of composite: CompositeDescription) -> String? {
        var open = [composite.name]
        var seen: Set<String> = []
        while let name = open.popLast() {
            for inner in compositesByName[name]?.elements.compactMap(\.compositeName) ?? [] {
                if inner == composite.name { return "contains itself: remove the element that closes the cycle." }
                if seen.insert(inner).inserted { open.append(inner) }
            }
            if seen.count > Self.innerCompositesMax {
                return "contains more than \(Self.innerCompositesMax) other composites: use fewer."
            }
        }
        var counts: [String: Int] = [:]
        guard elementCount(composite.name, 0, &counts) > Self.innerElementsMax else { return nil }
        return "has more than \(Self.innerElementsMax) elements with those of the composites in it: use fewer."
    }

    /// The number of elements of a composite, inner ones included. Stops counting above the maximum.
    private func elementCount(_ name: String, _ level: Int, _ counts: inout [String: Int]) -> Int {
        if let known = counts[name] { return known }
        guard level <= Self.innerCompositesMax else { return Self.innerElementsMax + 1 }
        var count = 0
        for element in compositesByName[name]?.elements ?? [] where count <= Self.innerElementsMax {
            count += 1
            if let inner = element.compositeName { count += elementCount(inner, level + 1, &counts) }
        }
        counts[name] = count
        return count
    }
}

extension AttributeType {
    /// The least and the greatest number of the type; nil when the type has no limits.
    var extremes: (least: PropertyValue, greatest: PropertyValue)? {
        if let range = integerRange { return (.int(range.lowerBound), .int(range.upperBound)) }
        switch self {
        case .boolean: return (.int(0), .int(1))
        case .float:
            let greatest = Double(Float.greatestFiniteMagnitude)
            return (.double(-greatest), .double(greatest))
        default: return nil
        }
    }
}
