import Foundation
import HornbeamModel

/// Names, literals and types of a model as Swift spells them.
enum SwiftSpelling {
    /// Words that need backticks as the name of a property.
    private static let reserved: Set<String> = [
        "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init", "inout", "internal", "let",
        "open", "operator", "private", "precedencegroup", "protocol", "public", "rethrows", "static", "struct", "subscript", "typealias",
        "var", "break", "case", "catch", "continue", "default", "defer", "do", "else", "fallthrough", "for", "guard", "if", "in", "repeat",
        "return", "throw", "switch", "where", "while", "Any", "as", "await", "false", "is", "nil", "self", "Self", "super", "throws",
        "true", "try", "Type", "Protocol", "_",
    ]

    /// True for words that cannot be the name of a class.
    static func isKeyword(_ name: String) -> Bool { reserved.contains(name) && !["open", "Type", "Protocol"].contains(name) }

    static func name(_ name: String) -> String { reserved.contains(name) ? "`\(name)`" : name }

    /// A text as a literal of Swift.
    static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": literal += "\\\""
            case "\\": literal += "\\\\"
            case "\n": literal += "\\n"
            case "\r": literal += "\\r"
            case "\t": literal += "\\t"
            case "\0": literal += "\\0"
            default:
                if scalar.value < 0x20 || scalar.value == 0x7f {
                    literal += "\\u{\(String(scalar.value, radix: 16))}"
                } else {
                    literal.unicodeScalars.append(scalar)
                }
            }
        }
        return literal + "\""
    }

    /// The name of the class of an entity's objects, without a module's name and without Xcode's leading dot for the current module.
    static func className(of entity: Entity) -> String {
        guard let name = entity.className, name != "NSManagedObject", name != "ManagedObject" else { return entity.name }
        return name.split(separator: ".").last.map(String.init) ?? entity.name
    }

    /// The type of an attribute's property, without `?`.
    static func type(of attribute: AttributeDescription) -> String {
        switch attribute.type {
        case .integer16: "Int16"
        case .integer32: "Int32"
        case .integer64: "Int"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Bool"
        case .date: "Date"
        case .binary, .transformable: "Data"
        case .uuid: "UUID"
        case .uri: "URL"
        case .objectID: "ManagedObjectID"
        case .composite: "[String: PropertyValue]"
        case .undefined: "PropertyValue"
        }
    }

    /// The module of a type in the generated code.
    static func module(of type: String) -> String {
        switch type {
        case "Int", "Int16", "Int32", "Double", "Float", "String", "Bool": "Swift"
        case "Date", "Data", "UUID", "URL", "Decimal": "Foundation"
        default: "Hornbeam"
        }
    }

    /// A value as an expression of the attribute's type; nil for values that have no short expression.
    static func expression(_ value: PropertyValue, of type: AttributeType) -> String? {
        switch (value, type) {
        case (.string(let text), _): literal(text)
        case (.bool(let truth), _): "\(truth)"
        case (.int(let number), _): "\(number)"
        case (.double(let number), _) where !number.isFinite: constant(number, type == .float ? "Swift.Float" : "Swift.Double")
        case (.double(let number), _): "\(number)"
        case (.decimal(let number), _): number.isFinite ? "Foundation.Decimal(string: \"\(number)\")!" : nil
        case (.date(let date), _):
            date.timeIntervalSinceReferenceDate.isFinite
                ? "Foundation.Date(timeIntervalSinceReferenceDate: \(date.timeIntervalSinceReferenceDate))" : nil
        case (.uuid(let uuid), _): "Foundation.UUID(uuidString: \(literal(uuid.uuidString)))!"
        case (.uri(let url), _): url.absoluteString.isEmpty ? nil : "Foundation.URL(string: \(literal(url.absoluteString)))!"
        case (.data(let data), _): "Foundation.Data(base64Encoded: \(literal(data.base64EncodedString())))!"
        default: nil
        }
    }

    /// True for values whose expression is a call.
    static func isCall(_ value: PropertyValue) -> Bool {
        switch value {
        case .decimal, .date, .uuid, .uri, .data: true
        default: false
        }
    }

    /// Infinity, or NaN.
    private static func constant(_ number: Double, _ type: String) -> String {
        number.isNaN ? "\(type).nan" : "\(number < 0 ? "-" : "")\(type).infinity"
    }
}

extension AttributeDescription {
    /// The default value in the attribute's type: the model may have another type of number.
    var typedDefault: PropertyValue {
        // The digits of a float are not those of its nearest double.
        if case .double = defaultValue, type == .float { return defaultValue }
        return (try? defaultValue.coerced(to: type)) ?? defaultValue
    }
}
