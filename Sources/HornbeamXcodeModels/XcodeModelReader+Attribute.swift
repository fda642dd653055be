internal import Foundation
internal import HornbeamModel

extension XcodeModelReader {
    private static let attributeAttributes: Set<String> = [
        "name", "attributeType", "optional", "transient", "defaultValueString", "defaultValue", "defaultDateTimeInterval",
        "minValueString", "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString",
        "usesScalarValueType", "valueTransformerName", "customClassName", "allowsExternalBinaryDataStorage", "derived",
        "derivationExpression", "composite", "preserveAfterDeletion", "allowsCloudEncryption", "spotlightIndexingEnabled",
        "storedInTruthFile", "indexed", "elementID", "renamingIdentifier", "versionHashModifier", "syncable",
    ]

    private static let types: [String: AttributeType] = [
        "Integer 16": .integer16, "Integer 32": .integer32, "Integer 64": .integer64, "Decimal": .decimal, "Double": .double,
        "Float": .float, "String": .string, "Boolean": .boolean, "Date": .date, "Binary": .binary, "UUID": .uuid, "URI": .uri,
        "Transformable": .transformable, "Composite": .composite, "Undefined": .undefined, "ObjectID": .objectID,
        "Object ID": .objectID,
    ]

    mutating func readComposite(_ element: XMLElementTree) -> CompositeDescription {
        checkAttributes(of: element, known: ["name"])
        let name = required("name", of: element)
        lines.note(element.line, entity: name)
        var composite = CompositeDescription(name, [])
        for child in element.children {
            guard child.name == "attribute" else {
                note(child, "the element <\(child.name)> is not known and was ignored", entity: name)
                continue
            }
            if let key = child.attributes["name"] { lines.note(child.line, entity: name, key: key) }
            composite.elements.append(readAttribute(child, in: name))
        }
        return composite
    }

    mutating func readAttribute(_ element: XMLElementTree, in entity: String) -> AttributeDescription {
        checkAttributes(of: element, known: Self.attributeAttributes)
        let name = required("name", of: element)
        var attribute = AttributeDescription(
            name, type(of: element, entity, name), optional: flag("optional", of: element),
            transient: flag("transient", of: element))
        if attribute.type != .undefined {
            readLimits(of: element, into: &attribute, entity)
            attribute.defaultValue = defaultValue(of: element, attribute, entity)
        }
        attribute.pattern = element.attributes["regularExpressionString"]
        attribute.derivation = flag("derived", of: element) ? element.attributes["derivationExpression"] ?? "" : nil
        attribute.compositeName = element.attributes["composite"]
        attribute.valueTransformerName = attribute.type == .transformable ? element.attributes["valueTransformerName"] : nil
        attribute.valueClassName = element.attributes["customClassName"]
        attribute.allowsExternalBinaryDataStorage = flag("allowsExternalBinaryDataStorage", of: element)
        attribute.preservesValueInHistoryOnDeletion = flag("preserveAfterDeletion", of: element)
        attribute.allowsCloudEncryption = flag("allowsCloudEncryption", of: element)
        attribute.isIndexedBySpotlight = flag("spotlightIndexingEnabled", of: element)
        attribute.isStoredInExternalRecord = flag("storedInTruthFile", of: element)
        attribute.usesScalarValueType = flag("usesScalarValueType", of: element)
        attribute.renamingIdentifier = element.attributes["elementID"] ?? element.attributes["renamingIdentifier"]
        attribute.versionHashModifier = element.attributes["versionHashModifier"]
        attribute.userInfo = readUserInfo(element)
        return attribute
    }

    private mutating func type(of element: XMLElementTree, _ entity: String, _ name: String) -> AttributeType {
        guard let written = element.attributes["attributeType"] else { return .undefined }
        if let type = Self.types[written] { return type }
        let near = nearestName(to: written, among: Self.types.keys.sorted()).map { " (did you mean “\($0)”?)" } ?? ""
        notes.append(ModelIssue(
            .error, "The type “\(written)” of “\(entity).\(name)” is not known\(near).", entity: entity, key: name,
            line: element.line))
        return .undefined
    }

    private mutating func readLimits(of element: XMLElementTree, into attribute: inout AttributeDescription, _ entity: String) {
        if attribute.type == .string || attribute.type == .binary {
            attribute.minimumLength = number("minValueString", of: element)
            attribute.maximumLength = number("maxValueString", of: element)
            return
        }
        attribute.minimum = value("minValueString", of: element, attribute, entity) ?? date("minDateTimeInterval", of: element)
        attribute.maximum = value("maxValueString", of: element, attribute, entity) ?? date("maxDateTimeInterval", of: element)
    }

    private mutating func defaultValue(
        of element: XMLElementTree, _ attribute: AttributeDescription, _ entity: String
    ) -> PropertyValue {
        if attribute.type == .date, let date = date("defaultDateTimeInterval", of: element) { return date }
        let name = element.attributes["defaultValueString"] == nil ? "defaultValue" : "defaultValueString"
        guard let text = element.attributes[name], !text.isEmpty, Self.value(text, attribute.type) == nil,
            let value = Self.convertedValue(text, attribute.type)
        else { return value(name, of: element, attribute, entity) ?? .null }
        note(
            element, "“\(name)” of “\(entity).\(attribute.name)” is “\(text)”, which is not \(attribute.type.phrase), and was read "
                + "as \(value), as Core Data reads it", entity: entity, key: attribute.name)
        return value
    }

    /// A default value whose text has another type, converted as Core Data does: a number is read from the leading digits, and is 0
    /// without digits; a Boolean is true when the text begins with Y, T or a number other than 0.
    private static func convertedValue(_ text: String, _ type: AttributeType) -> PropertyValue? {
        switch type {
        case .integer16, .integer32, .integer64:
            let number = leadingNumber(of: text).rounded(.towardZero)
            return .int(Int64(exactly: number) ?? (number < 0 ? .min : .max))
        case .double, .float: return .double(leadingNumber(of: text))
        case .boolean:
            let first = text.first { !$0.isWhitespace }?.lowercased()
            return .bool(first == "y" || first == "t" || leadingNumber(of: text).rounded(.towardZero) != 0)
        default: return nil
        }
    }

    private static func leadingNumber(of text: String) -> Double {
        let scanner = Scanner(string: text)
        guard let number = scanner.scanDouble(), number.isFinite else { return 0 }
        return number
    }

    /// A date that is written as seconds since 2001-01-01 00:00 UTC.
    private mutating func date(_ name: String, of element: XMLElementTree) -> PropertyValue? {
        guard let text = element.attributes[name] else { return nil }
        if let seconds = Double(text), seconds.isFinite { return .date(Date(timeIntervalSinceReferenceDate: seconds)) }
        note(element, "“\(name)” is “\(text)”, which is not a number of seconds, and was ignored")
        return nil
    }

    /// A value of the attribute's type that is written as text.
    private mutating func value(
        _ name: String, of element: XMLElementTree, _ attribute: AttributeDescription, _ entity: String
    ) -> PropertyValue? {
        guard let text = element.attributes[name] else { return nil }
        if let value = Self.value(text, attribute.type) { return value }
        note(
            element, "“\(name)” of “\(entity).\(attribute.name)” is “\(text)”, which is not \(attribute.type.phrase), "
                + "and was ignored", entity: entity, key: attribute.name)
        return nil
    }

    private static func value(_ text: String, _ type: AttributeType) -> PropertyValue? {
        switch type {
        case .integer16, .integer32, .integer64:
            // Limits are often written with a decimal point.
            Int64(text).map { .int($0) } ?? Double(text).flatMap { Int64(exactly: $0) }.map { .int($0) }
        case .double, .float: Double(text).map { .double($0) }
        case .decimal: Decimal(predicateText: text).map { .decimal($0) }
        case .boolean: ["YES": true, "NO": false, "true": true, "false": false, "1": true, "0": false][text].map { .bool($0) }
        case .string: .string(text)
        case .uuid: UUID(uuidString: text).map { .uuid($0) }
        case .uri: URL(string: text).map { .uri($0) }
        default: nil
        }
    }
}

extension AttributeType {
    fileprivate var phrase: String { "of type \(self)" }
}
