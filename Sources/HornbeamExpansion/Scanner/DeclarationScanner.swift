/// Reads a class, or one property, from source.
///
/// It knows only the part of Swift's grammar that it needs to find the start and the end of each member. It reports source that it
/// cannot read. Each step consumes at least one token.
struct DeclarationScanner {
    let list: TokenList
    private let types: TypeScanner
    private(set) var index = 0
    private var conditionDepth = 0
    /// True when attributes or modifiers of the next declaration are inside #if.
    private var hasConditionalPrefix = false

    init(_ source: String) {
        list = TokenList(source)
        types = TypeScanner(list)
    }

    /// An error for source that cannot be read.
    struct Failure: Error, Equatable {
        var position: Int
        var message: String
    }

    // MARK: Types

    mutating func scanClass() throws(Failure) -> ClassSyntax {
        if let position = list.errorPosition { throw Failure(position: position, message: "A bracket or text begins or ends here without its counterpart.") }
        let (attributes, modifiers) = scanPrefix(to: list.count)
        let keyword = list.text(index)
        guard ["class", "struct", "enum", "actor", "protocol", "extension"].contains(keyword), list.isName(index + 1) else {
            throw Failure(position: list.position(index), message: "@Entity is for classes.")
        }
        var found = ClassSyntax(
            keyword: keyword, keywordRange: list.tokens[index].range, attributes: attributes, modifiers: modifiers,
            name: list.name(index + 1), nameRange: list.tokens[index + 1].range)
        index += 2
        if list.isMark(index, "<") { found.generics = list.position(index) }
        while index < list.count, !list.isMark(index, ":"), !list.isMark(index, "{") { index = list.afterGroup(index) }
        if list.isMark(index, ":") {
            index += 1
            found.inherited = scanInherited()
        }
        while index < list.count, !list.isMark(index, "{") { index = list.afterGroup(index) }
        guard index < list.count, let end = list.closing(of: index) else {
            throw Failure(position: list.position(index), message: "The body of the declaration is missing.")
        }
        index += 1
        try scanMembers(of: &found, to: end)
        return found
    }

    private mutating func scanInherited() -> [String] {
        var inherited: [String] = []
        while index < list.count, let (type, end) = types.type(at: index, limit: list.count) {
            inherited.append(list.text(type.range))
            index = end
            guard list.isMark(index, ",") else { break }
            index += 1
        }
        return inherited
    }

    /// The properties of a single declaration, as the compiler passes it to an accessor macro.
    mutating func scanProperties() throws(Failure) -> [PropertySyntax] {
        if let position = list.errorPosition { throw Failure(position: position, message: "A bracket or text begins or ends here without its counterpart.") }
        let (attributes, modifiers) = scanPrefix(to: list.count)
        guard list.isWord(index, "var") || list.isWord(index, "let") else { return [] }
        return try scanBindings(attributes, modifiers, to: list.count)
    }

    // MARK: Members

    private mutating func scanMembers(of found: inout ClassSyntax, to end: Int) throws(Failure) {
        while index < end {
            let start = index
            try scanMember(of: &found, to: end)
            if index <= start { index = start + 1 }
        }
    }

    private mutating func scanMember(of found: inout ClassSyntax, to end: Int) throws(Failure) {
        if list.tokens[index].kind == .pound { return scanPound(of: &found, to: end) }
        let (attributes, modifiers) = scanPrefix(to: end)
        guard index < end else { return }
        if list.tokens[index].kind == .pound {
            hasConditionalPrefix = ["#if", "#elseif", "#else", "#endif"].contains(list.text(index))
            return
        }
        defer { hasConditionalPrefix = false }
        switch list.text(index) {
        case "var", "let":
            found.properties += try scanBindings(attributes, modifiers, to: end)
        case "init":
            var after = index + 1
            while after < end, !list.isMark(after, "(") { after = list.afterGroup(after) }
            let label = list.isName(after + 1) ? list.name(after + 1) : nil
            found.initialisers.append(.init(firstLabel: label, isConvenience: modifiers.contains { $0.name == "convenience" }))
            skipToBody(end)
        case "func", "deinit", "subscript", "class", "struct", "enum", "actor", "extension", "protocol":
            skipToBody(end)
        case "typealias":
            while index < end, !list.isMark(index, "=") { index = list.afterGroup(index) }
            index = types.type(at: index + 1, limit: end)?.end ?? index + 1
        default:
            index += 1
        }
    }

    /// Scans `#if`, `#elseif`, `#else`, `#endif` or a freestanding macro.
    private mutating func scanPound(of found: inout ClassSyntax, to end: Int) {
        let position = list.position(index)
        switch list.text(index) {
        case "#if":
            conditionDepth += 1
            skipLine(end)
        case "#elseif", "#else":
            skipLine(end)
        case "#endif":
            conditionDepth = max(0, conditionDepth - 1)
            index += 1
        case let first:
            var name = String(first.dropFirst())
            index += 1
            while index < end, !list.tokens[index].isAfterSpace, let next = list.afterQualifier(index) {
                name = list.text(next)
                index = next + 1
            }
            if list.isMark(index, "<") {
                while index < end, !list.isMark(index, "("), !list.tokens[index].isAfterLineEnd { index += 1 }
            }
            var arguments: [Argument] = []
            if index < end, list.isMark(index, "("), !list.tokens[index].isAfterLineEnd { arguments = scanArguments() }
            if index < end, list.isMark(index, "{"), !list.tokens[index].isAfterLineEnd { index = list.afterGroup(index) }
            found.macros.append(AttributeSyntax(name: name, arguments: arguments, position: position, isConditional: conditionDepth > 0))
        }
    }

    private mutating func skipLine(_ end: Int) {
        index += 1
        while index < end, !list.tokens[index].isAfterLineEnd { index = list.afterGroup(index) }
    }

    /// Skips a declaration that ends with a block.
    private mutating func skipToBody(_ end: Int) {
        while index < end, !list.isMark(index, "{") { index = list.afterGroup(index) }
        if index < end { index = list.afterGroup(index) }
    }

    // MARK: Attributes and modifiers

    private static let modifierNames: Set<String> = [
        "public", "private", "internal", "fileprivate", "open", "package", "static", "final", "lazy", "weak", "unowned", "override",
        "nonisolated", "dynamic", "optional", "required", "convenience", "mutating", "nonmutating", "indirect", "isolated", "distributed",
        "prefix", "postfix", "infix", "consuming", "borrowing", "async",
    ]

    private mutating func scanPrefix(to end: Int) -> ([AttributeSyntax], [Modifier]) {
        var attributes: [AttributeSyntax] = []
        var modifiers: [Modifier] = []
        while index < end {
            if list.isMark(index, "@"), list.isName(index + 1) {
                attributes.append(scanAttribute())
            } else if isModifier(index) {
                modifiers.append(scanModifier())
            } else if list.isMark(index, ";") {
                index += 1
            } else {
                break
            }
        }
        return (attributes, modifiers)
    }

    private func isModifier(_ index: Int) -> Bool {
        guard list.tokens[index].kind == .word(isQuoted: false) else { return false }
        let word = list.text(index)
        // `class` is a modifier before `var` and `func`.
        if word == "class" { return ["var", "let", "func", "subscript", "override", "final"].contains(list.text(index + 1)) }
        return Self.modifierNames.contains(word)
    }

    private mutating func scanModifier() -> Modifier {
        var modifier = Modifier(name: list.text(index), detail: nil, position: list.position(index))
        index += 1
        if list.isMark(index, "("), let closing = list.closing(of: index) {
            modifier.detail = list.text(tokens: index + 1..<closing)
            index = closing + 1
        }
        return modifier
    }

    private mutating func scanAttribute() -> AttributeSyntax {
        let position = list.position(index)
        index += 1
        var name = list.text(index)
        index += 1
        while let next = list.afterQualifier(index) {
            name = list.text(next)
            index = next + 1
        }
        if list.isMark(index, "<"), let (_, end) = types.type(at: index - 1, limit: list.count) { index = end }
        var arguments: [Argument] = []
        if list.isMark(index, "(") { arguments = scanArguments() }
        return AttributeSyntax(name: name, arguments: arguments, position: position)
    }

    /// Scans the arguments in the parentheses that open at the index.
    private mutating func scanArguments() -> [Argument] {
        guard let closing = list.closing(of: index) else { return [] }
        var arguments: [Argument] = []
        index += 1
        while index < closing {
            var label: String?
            if list.isName(index), list.isMark(index + 1, ":") {
                label = list.name(index)
                index += 2
            }
            let start = index
            while index < closing, !list.isMark(index, ",") { index = list.afterGroup(index) }
            if start < min(index, closing) {
                let tokens = start..<min(index, closing)
                arguments.append(Argument(label: label, value: list.text(tokens: tokens), range: list.bytes(of: tokens)))
            }
            index += 1
        }
        index = closing + 1
        return arguments
    }

    // MARK: Properties

    private mutating func scanBindings(
        _ attributes: [AttributeSyntax], _ modifiers: [Modifier], to end: Int
    ) throws(Failure) -> [PropertySyntax] {
        let keyword = list.tokens[index].range
        let isLet = list.text(index) == "let"
        index += 1
        var found: [PropertySyntax] = []
        while index < end {
            var property = PropertySyntax(
                attributes: attributes, modifiers: modifiers, isLet: isLet, keyword: keyword, name: "", isQuoted: false,
                nameRange: list.tokens[index].range, hasObservers: false, isOneOfSeveral: false, isPattern: false,
                isConditional: conditionDepth > 0 || hasConditionalPrefix)
            if list.isMark(index, "(") {
                property.isPattern = true
                index = list.afterGroup(index)
            } else if list.isName(index) {
                property.isQuoted = list.tokens[index].kind == .word(isQuoted: true)
                property.name = list.name(index)
                index += 1
            } else {
                throw Failure(position: list.position(index), message: "The name of a property is expected here.")
            }
            try scanRest(of: &property, to: end)
            found.append(property)
            guard index < end, list.isMark(index, ",") else { break }
            index += 1
        }
        if found.count > 1 { for position in found.indices { found[position].isOneOfSeveral = true } }
        return found
    }

    /// True for `#if` whose first line continues the expression before it: `.member()`.
    private func memberFollowsCondition(to end: Int) -> Bool {
        guard index < end, list.tokens[index].kind == .pound, list.text(index) == "#if" else { return false }
        let first = (index + 1..<end).first { list.tokens[$0].isAfterLineEnd }
        return first.map { list.isMark($0, ".") } ?? false
    }

    /// Scans the type, the initial value and the accessors.
    private mutating func scanRest(of property: inout PropertySyntax, to end: Int) throws(Failure) {
        if index < end, list.isMark(index, ":") {
            guard let (type, after) = types.type(at: index + 1, limit: end) else {
                throw Failure(position: list.position(index + 1), message: "The type of “\(property.name)” cannot be read.")
            }
            property.type = type
            index = after
        }
        if index < end, list.isMark(index, "=") {
            let start = index + 1
            index = ExpressionScanner(list).end(from: start, limit: end)
            if start < index { property.initialValue = list.bytes(of: start..<index) }
            if memberFollowsCondition(to: end) { property.isConditional = true }
        }
        if index < end, list.isMark(index, "{") {
            property.accessors = list.position(index)
            property.hasObservers = AccessorWords(list).areObservers(at: index)
            index = list.afterGroup(index)
        }
    }
}
