internal import Foundation

/// A JSON document whose members have an order, so that a model file has the order of its declaration.
///
/// Foundation's encoder sorts members or writes them in any order. Developers read model files and
/// compare them line by line, so they are written from this tree.
indirect enum OrderedJSON {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([OrderedJSON])
    case object([(key: String, value: OrderedJSON)])

    /// The tree of an encodable value.
    init(encoding value: some Encodable) throws {
        let root = JSONSlot()
        try value.encode(to: JSONTreeEncoder(slot: root, codingPath: []))
        self = root.tree
    }

    /// The formatted document. A value without a list of objects is on one line if it fits into 100 columns.
    func pretty() -> String {
        var text = ""
        write(to: &text, indent: 0)
        return text + "\n"
    }

    private static let columns = 100

    private func write(to text: inout String, indent: Int) {
        let line = compact(spaced: true)
        let isSmall = indent > 0 && line.count + indent * 2 <= Self.columns && isFlat
        let inner = String(repeating: "  ", count: indent + 1)
        let outer = String(repeating: "  ", count: indent)
        switch self {
        case .array(let elements) where !elements.isEmpty && !isSmall:
            text += "[\n"
            for (i, element) in elements.enumerated() {
                text += inner
                element.write(to: &text, indent: indent + 1)
                text += i + 1 < elements.count ? ",\n" : "\n"
            }
            text += outer + "]"
        case .object(let members) where !members.isEmpty && !isSmall:
            text += "{\n"
            for (i, member) in members.enumerated() {
                text += inner + Self.quoted(member.key) + ": "
                member.value.write(to: &text, indent: indent + 1)
                text += i + 1 < members.count ? ",\n" : "\n"
            }
            text += outer + "}"
        default: text += line
        }
    }

    /// False for a value that contains a list of objects. Each object of such a list begins a new line, so that line-by-line comparisons are useful.
    private var isFlat: Bool {
        switch self {
        case .array(let elements): elements.allSatisfy { if case .object = $0 { false } else { $0.isFlat } }
        case .object(let members): members.allSatisfy { $0.value.isFlat }
        default: true
        }
    }

    /// The document on one line.
    func compact(spaced: Bool = false) -> String {
        let comma = spaced ? ", " : ","
        switch self {
        case .null: return "null"
        case .bool(let value): return value ? "true" : "false"
        case .int(let value): return String(value)
        case .double(let value): return Self.number(value)
        case .string(let value): return Self.quoted(value)
        case .array(let elements):
            return "[" + elements.map { $0.compact(spaced: spaced) }.joined(separator: comma) + "]"
        case .object(let members):
            let colon = spaced ? ": " : ":"
            let inside = members.map { Self.quoted($0.key) + colon + $0.value.compact(spaced: spaced) }
                .joined(separator: comma)
            return spaced && !members.isEmpty ? "{ " + inside + " }" : "{" + inside + "}"
        }
    }

    private static func number(_ value: Double) -> String {
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}

/// A value of an `OrderedJSON` tree under construction.
final class JSONSlot {
    private enum Content {
        case leaf(OrderedJSON)
        case array([JSONSlot])
        case object([(key: String, slot: JSONSlot)])
    }
    private var content = Content.leaf(.null)

    func set(_ leaf: OrderedJSON) { content = .leaf(leaf) }

    func beginArray() { if case .array = content {} else { content = .array([]) } }
    func beginObject() { if case .object = content {} else { content = .object([]) } }

    var count: Int { if case .array(let slots) = content { slots.count } else { 0 } }

    func append() -> JSONSlot {
        let slot = JSONSlot()
        if case .array(let slots) = content { content = .array(slots + [slot]) }
        return slot
    }

    func member(_ key: String) -> JSONSlot {
        let slot = JSONSlot()
        if case .object(let members) = content { content = .object(members + [(key, slot)]) }
        return slot
    }

    var tree: OrderedJSON {
        switch content {
        case .leaf(let leaf): leaf
        case .array(let slots): .array(slots.map(\.tree))
        case .object(let members): .object(members.map { ($0.key, $0.slot.tree) })
        }
    }
}
