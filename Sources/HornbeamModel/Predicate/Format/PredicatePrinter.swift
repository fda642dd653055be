import Foundation

/// Prints a tree as a format that parses to the same tree.
///
/// The canonical form has Core Data's style: keywords in capitals, `==` and `!=`, strings in double
/// quotes, every compound inside a compound in parentheses. The exact form, for archives, differs only in
/// dates and sets, which it prints without loss.
struct PredicatePrinter {
    /// True for the exact form.
    var isExact = false
    var text = ""

    static func format(_ node: FetchPredicate.Node, isExact: Bool = false) -> String {
        var printer = PredicatePrinter(isExact: isExact)
        printer.write(node)
        return printer.text
    }

    static func format(_ node: FetchExpression.Node, isExact: Bool = false) -> String {
        var printer = PredicatePrinter(isExact: isExact)
        printer.write(node, precedence: 0)
        return printer.text
    }

    // MARK: Predicates

    mutating func write(_ node: FetchPredicate.Node) {
        switch node {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): write(comparison)
        case .and(let nodes): write(nodes, joinedBy: " AND ", whenEmpty: "TRUEPREDICATE")
        case .or(let nodes): write(nodes, joinedBy: " OR ", whenEmpty: "FALSEPREDICATE")
        case .not(let inner):
            text += "NOT "
            writeMember(inner)
        case .block: text += "BLOCKPREDICATE"
        }
    }

    private mutating func write(_ nodes: [FetchPredicate.Node], joinedBy word: String, whenEmpty empty: String) {
        guard nodes.count > 1 else {
            if let node = nodes.first { write(node) } else { text += empty }
            return
        }
        for (place, node) in nodes.enumerated() {
            if place > 0 { text += word }
            writeMember(node)
        }
    }

    private mutating func writeMember(_ node: FetchPredicate.Node) {
        guard node.isPrintedAsCompound else { return write(node) }
        text += "("
        write(node)
        text += ")"
    }

    private mutating func write(_ comparison: FetchPredicate.Comparison) {
        switch comparison.modifier {
        case .direct: break
        case .any: text += "ANY "
        case .all: text += "ALL "
        }
        write(comparison.left, precedence: 0)
        text += " " + comparison.comparator.word + comparison.options.letters + " "
        write(comparison.right, precedence: 0)
    }

    // MARK: Expressions

    /// - Parameter precedence: An expression whose operator has a lower precedence is put in parentheses.
    mutating func write(_ node: FetchExpression.Node, precedence: Int) {
        guard node.precedence >= precedence else {
            text += "("
            write(node, precedence: 0)
            text += ")"
            return
        }
        switch node {
        case .constant(let value): write(value)
        case .evaluatedObject: text += "SELF"
        case .variable(let name): text += "$" + name
        case .keyPath(let root, let steps): write(steps, from: root)
        case .function(let function, let nodes): write(function, nodes)
        case .set(let sign, let left, let right):
            write(left, precedence: 1)
            text += " \(sign.rawValue) "
            write(right, precedence: 2)
        case .subquery(let collection, let variable, let predicate):
            text += "SUBQUERY("
            write(collection, precedence: 0)
            text += ", $\(variable), "
            write(predicate)
            text += ")"
        case .aggregate(let nodes): writeList(nodes, "{", "}")
        case .anyKey: text += "ANYKEY"
        case .conditional(let predicate, let yes, let no):
            text += "TERNARY("
            write(predicate)
            text += ", "
            write(yes, precedence: 0)
            text += ", "
            write(no, precedence: 0)
            text += ")"
        case .index(let collection, let index): write(index, of: collection)
        case .cast(let inner, let type):
            text += "CAST("
            write(inner, precedence: 0)
            text += ", \"\(type.rawValue)\")"
        case .assignment(let name, let value):
            text += "$\(name) := "
            write(value, precedence: 1)
        case .block: text += "BLOCK"
        case .fetch(let request, let context, let countOnly):
            writeList([request, context, .constant(.int(countOnly ? 1 : 0))], "FETCH(", ")")
        }
    }

    private mutating func write(_ function: PredicateFunction, _ nodes: [FetchExpression.Node]) {
        guard let (sign, precedence) = function.infix, nodes.count == 2 else {
            return writeList(nodes, function.rawValue + "(", ")")
        }
        let isPower = function == .power
        write(nodes[0], precedence: isPower ? precedence + 1 : precedence)
        text += " \(sign) "
        write(nodes[1], precedence: isPower ? precedence - 1 : precedence + 1)
    }

    private mutating func writeList(_ nodes: [FetchExpression.Node], _ opening: String, _ closing: String) {
        text += opening
        for (place, node) in nodes.enumerated() {
            if place > 0 { text += ", " }
            write(node, precedence: 0)
        }
        text += closing
    }

    private mutating func write(_ index: FetchExpression.Index, of collection: FetchExpression.Node) {
        write(collection, precedence: 10)
        switch index {
        case .first: text += "[FIRST]"
        case .last: text += "[LAST]"
        case .size: text += "[SIZE]"
        case .value(let node):
            text += "["
            write(node, precedence: 0)
            text += "]"
        }
    }

    private mutating func write(_ steps: [FetchExpression.Step], from root: FetchExpression.Node) {
        var isFirst = root == .evaluatedObject
        if !isFirst { write(root, precedence: 10) }
        for step in steps {
            if !isFirst { text += "." }
            switch step {
            case .name(let name): write(name, isFirst: isFirst)
            case .collection(let found): text += "@" + found.rawValue
            }
            isFirst = false
        }
    }

    private mutating func write(_ name: String, isFirst: Bool) {
        let bytes = Array(name.utf8)
        if let keyword = PredicateToken.Keyword(bytes, 0..<bytes.count), keyword.needsEscape(isFirst: isFirst) { text += "#" }
        text += name
    }

    // MARK: Constants

    private mutating func write(_ value: PropertyValue) {
        switch value {
        case .null: text += "nil"
        case .bool(let flag): text += flag ? "1" : "0"
        case .int(let number): text += String(number)
        case .double(let number): write(number)
        case .decimal(let number): writeCast("\"\(number)\"", .decimal)
        case .string(let string): write(quoted: string)
        case .date(let date): write(date)
        case .data(let data): writeCast("\"\(data.base64EncodedString())\"", .data)
        case .uuid(let uuid): writeCast("\"\(uuid.uuidString)\"", .uuid)
        case .uri(let url): writeCast(quoting(url.absoluteString), .url)
        case .objectID(let id): writeCast(quoting(id.uriRepresentation().absoluteString), .objectID)
        case .array(let values): text += list(values.map(printed))
        case .set(let values):
            let elements = list(values.map(printed).sorted())
            if isExact { writeCast(elements, .set) } else { text += elements }
        case .dictionary(let pairs):
            let sorted = pairs.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            writeCast(list(sorted.flatMap { [quoting($0.key), printed($0.value)] }), .dictionary)
        }
    }

    private mutating func write(_ number: Double) {
        if number.isFinite { text += "\(number)" } else { writeCast("\"\(number)\"", .number) }
    }

    private mutating func write(_ date: Date) {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds.isFinite else { return writeCast("CAST(\"\(seconds)\", \"NSNumber\")", .date) }
        // Prints microseconds, like Core Data. Smaller numbers of seconds are printed exactly, because they would become zero.
        let isShort = !isExact && (seconds == 0 || abs(seconds) >= 1e-6)
        writeCast(isShort ? String(format: "%.6f", seconds == 0 ? 0 : seconds) : "\(seconds)", .date)
    }

    private mutating func writeCast(_ inner: String, _ type: FetchExpression.CastType) {
        text += "CAST(\(inner), \"\(type.rawValue)\")"
    }

    private func printed(_ value: PropertyValue) -> String {
        var printer = PredicatePrinter(isExact: isExact)
        printer.write(value)
        return printer.text
    }

    private func list(_ parts: [String]) -> String { "{" + parts.joined(separator: ", ") + "}" }

    private func quoting(_ string: String) -> String {
        var printer = PredicatePrinter()
        printer.write(quoted: string)
        return printer.text
    }

    private mutating func write(quoted string: String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

extension PredicateToken.Keyword {
    /// True when a key with this name needs `#` to be parsed as a key.
    fileprivate func needsEscape(isFirst: Bool) -> Bool {
        guard isFirst else { return self == .self }
        return !isContextual || self == .first || self == .last || self == .size
    }
}

extension FetchPredicate.Node {
    fileprivate var isPrintedAsCompound: Bool {
        switch self {
        case .and(let nodes), .or(let nodes): nodes.count > 1 || nodes.first?.isPrintedAsCompound == true
        case .not: true
        case .constant, .comparison, .block: false
        }
    }
}

extension FetchExpression.Node {
    /// The precedence of the outermost operator; 10 for expressions that never need parentheses.
    fileprivate var precedence: Int {
        switch self {
        case .assignment: 0
        case .set: 1
        case .function(let function, let nodes) where nodes.count == 2: function.infix?.precedence ?? 10
        case .constant(.int(let number)) where number < 0: 8
        case .constant(.double(let number)) where number < 0: 8
        default: 10
        }
    }
}
