/// A type in the source.
struct TypeSyntax: Equatable {
    enum Form: Equatable {
        /// `String`, `Swift.Set<Book>`: the last name, and the types between angle brackets.
        case named(String, arguments: [TypeSyntax])
        indirect case optional(TypeSyntax)
        /// `Int!`
        indirect case implicitlyUnwrapped(TypeSyntax)
        indirect case array(TypeSyntax)
        indirect case dictionary(TypeSyntax, TypeSyntax)
        /// A type that a stored property cannot have, with its description in messages: a tuple, a function, `any P`.
        case other(String)
    }

    var form: Form
    /// The bytes of the type in the source.
    var range: Range<Int>

    /// The type without `?`.
    var wrapped: TypeSyntax? {
        switch form {
        case .optional(let wrapped): wrapped
        case .named("Optional", let arguments) where arguments.count == 1: arguments[0]
        default: nil
        }
    }

    var isOptional: Bool { wrapped != nil }

    /// The types that are attributes without a declaration of the app.
    static let plainNames: Set<String> = [
        "String", "Bool", "Int", "Int64", "Int32", "Int16", "Int8", "UInt8", "UInt16", "UInt32", "Double", "Float", "Date", "Data",
        "UUID", "URL", "Decimal", "ManagedObjectID", "PropertyValue",
    ]

    /// True for a type of `plainNames`, optional or not.
    var isPlain: Bool {
        guard case .named(let name, let arguments) = (wrapped ?? self).form else { return false }
        return arguments.isEmpty && Self.plainNames.contains(name)
    }

    /// The types with several values of one type.
    enum Collection { case set, array, managedSet, managedArray }

    /// The kind of a collection type, and the type of its elements; nil for other types.
    var collection: (kind: Collection, element: TypeSyntax)? {
        switch form {
        case .array(let element): (.array, element)
        case .named("Array", let arguments) where arguments.count == 1: (.array, arguments[0])
        case .named("Set", let arguments) where arguments.count == 1: (.set, arguments[0])
        case .named("ManagedSet", let arguments) where arguments.count == 1: (.managedSet, arguments[0])
        case .named("ManagedArray", let arguments) where arguments.count == 1: (.managedArray, arguments[0])
        default: nil
        }
    }
}

/// Reads types from tokens.
struct TypeScanner {
    private let list: TokenList
    /// The maximum nesting depth of types.
    private static let depthMax = 24

    init(_ list: TokenList) { self.list = list }

    /// The type that begins at a token, and the index after it; nil when no type begins there.
    func type(at start: Int, limit: Int, depth: Int = 0) -> (type: TypeSyntax, end: Int)? {
        guard depth < Self.depthMax, var (form, index) = head(at: start, limit: limit, depth: depth) else { return nil }
        while index < limit {
            if list.isMark(index, "?"), isPostfix(index) {
                form = .optional(TypeSyntax(form: form, range: list.bytes(of: start..<index)))
                index += 1
            } else if list.isMark(index, "!"), isPostfix(index) {
                form = .implicitlyUnwrapped(TypeSyntax(form: form, range: list.bytes(of: start..<index)))
                index += 1
            } else if list.isMark(index, "&") {
                guard let (_, end) = head(at: index + 1, limit: limit, depth: depth + 1) else { return nil }
                form = .other("a composition of types")
                index = end
            } else if list.isMark(index, "."), list.isName(index + 1) {
                // `[Int].Index`, `(some P)?.Type`
                form = .other("a member of a type")
                index += 2
            } else if isArrow(index) || list.isWord(index, "async") || list.isWord(index, "throws") || list.isWord(index, "rethrows") {
                guard let end = afterArrow(index, limit), let (_, last) = type(at: end, limit: limit, depth: depth + 1) else { return nil }
                form = .other("a function")
                index = last
            } else {
                break
            }
        }
        return (TypeSyntax(form: form, range: list.bytes(of: start..<index)), index)
    }

    private func isPostfix(_ index: Int) -> Bool { !list.tokens[index].isAfterSpace }

    private func isArrow(_ index: Int) -> Bool {
        list.isMark(index, "-") && list.isMark(index + 1, ">") && !list.tokens[index + 1].isAfterSpace
    }

    /// The index after `async throws(E) ->`.
    private func afterArrow(_ start: Int, _ limit: Int) -> Int? {
        var index = start
        while index < limit, !isArrow(index) {
            guard list.isName(index) || list.isMark(index, "(") else { return nil }
            index = list.afterGroup(index)
        }
        return index < limit ? index + 2 : nil
    }

    private func head(at start: Int, limit: Int, depth: Int) -> (TypeSyntax.Form, end: Int)? {
        guard start < limit, depth < Self.depthMax else { return nil }
        if list.isMark(start, "@") {
            let after = list.isMark(start + 2, "(") && !list.tokens[start + 2].isAfterSpace ? list.afterGroup(start + 2) : start + 2
            return head(at: after, limit: limit, depth: depth + 1)
        }
        for word in ["some", "any", "inout", "borrowing", "consuming", "sending", "isolated"] where list.isWord(start, word) {
            guard let (_, end) = type(at: start + 1, limit: limit, depth: depth + 1) else { break }
            return (.other("a type with “\(word)”"), end)
        }
        if list.isMark(start, "~") {
            return head(at: start + 1, limit: limit, depth: depth + 1).map { (.other("a suppressed constraint"), $0.end) }
        }
        if list.isMark(start, "(") { return group(at: start, limit: limit, depth: depth) }
        if list.isMark(start, "[") { return brackets(at: start, limit: limit, depth: depth) }
        return named(at: start, limit: limit, depth: depth)
    }

    /// Scans a type in parentheses, or a tuple.
    private func group(at start: Int, limit: Int, depth: Int) -> (TypeSyntax.Form, end: Int)? {
        guard let closing = list.closing(of: start), closing < limit else { return nil }
        let after = closing + 1
        let isCalled = after < limit && (isArrow(after) || list.isWord(after, "async") || list.isWord(after, "throws"))
        if !isCalled, let (inner, end) = type(at: start + 1, limit: closing, depth: depth + 1), end == closing { return (inner.form, after) }
        return (.other("a tuple"), after)
    }

    /// Scans `[Element]`, `[Key: Value]`, `[3 of Int]`.
    private func brackets(at start: Int, limit: Int, depth: Int) -> (TypeSyntax.Form, end: Int)? {
        guard let closing = list.closing(of: start), closing < limit,
            let (first, end) = type(at: start + 1, limit: closing, depth: depth + 1)
        else { return list.closing(of: start).map { (.other("an inline array"), $0 + 1) } }
        if end == closing { return (.array(first), closing + 1) }
        if list.isMark(end, ":"), let (second, last) = type(at: end + 1, limit: closing, depth: depth + 1), last == closing {
            return (.dictionary(first, second), closing + 1)
        }
        return (.other("an inline array"), closing + 1)
    }

    /// Scans `Module.Type<Argument>`.
    private func named(at start: Int, limit: Int, depth: Int) -> (TypeSyntax.Form, end: Int)? {
        guard start < limit, list.isName(start) else { return nil }
        var index = start
        while true {
            let name = list.text(index)
            index += 1
            var arguments: [TypeSyntax] = []
            if list.isMark(index, "<"), index < limit {
                guard let (found, end) = self.arguments(at: index + 1, limit: limit, depth: depth + 1) else { return nil }
                arguments = found
                index = end
            }
            guard let next = list.afterQualifier(index), next < limit else { return (.named(name, arguments: arguments), index) }
            if ["Type", "Protocol"].contains(list.text(next)) { return (.other("a metatype"), next + 1) }
            index = next
        }
    }

    /// The types up to the closing `>`, and the index after it.
    private func arguments(at start: Int, limit: Int, depth: Int) -> ([TypeSyntax], Int)? {
        var found: [TypeSyntax] = []
        var index = start
        while index < limit {
            if case .number = list.tokens[index].kind {
                found.append(TypeSyntax(form: .other("a number"), range: list.tokens[index].range))
                index += 1
            } else {
                guard let (type, end) = type(at: index, limit: limit, depth: depth + 1) else { return nil }
                found.append(type)
                index = end
            }
            if list.isMark(index, ">") { return (found, index + 1) }
            guard list.isMark(index, ",") else { return nil }
            index += 1
        }
        return nil
    }
}
