/// The names in a key path literal: `author` and `name` for `\Book.author?.name`.
struct KeyPathLiteral {
    var names: [String]
    /// The index after the last token.
    var end: Int

    /// Nil when no key path of named members begins at the token.
    init?(_ list: TokenList, at start: Int) {
        guard list.isMark(start, "\\") else { return nil }
        var index = start + 1
        // Skips the root: the name of a type, with the names of its module and outer types.
        while list.isName(index) {
            index += 1
            guard list.isMark(index, "."), list.isName(index + 1), list.isName(index + 1), list.isMark(index + 2, "."),
                list.text(index + 1).first?.isUppercase == true
            else { break }
            index += 1
        }
        names = []
        while list.isMark(index, "."), list.isName(index + 1) {
            names.append(list.text(index + 1).filter { $0 != "`" })
            index += 2
            while list.isMark(index, "?") || list.isMark(index, "!") { index += 1 }
        }
        guard !names.isEmpty else { return nil }
        end = index
    }

    /// The source with a string for each key path: `.descending("year")` for `.descending(\.year)`; nil if a key path cannot be read.
    static func replacingKeyPaths(in source: String) -> String? {
        let list = TokenList(source)
        var result = ""
        var done = 0
        var index = 0
        while index < list.count {
            guard list.isMark(index, "\\") else {
                index += 1
                continue
            }
            guard let path = KeyPathLiteral(list, at: index) else { return nil }
            result += list.text(done..<list.position(index)) + "\"" + path.names.joined(separator: ".") + "\""
            done = list.tokens[path.end - 1].range.upperBound
            index = path.end
        }
        return result + list.text(done..<list.bytes.count)
    }
}

/// Translates `#Index`, `#Unique` or `#FetchedProperty` in the body of a class into elements of the block of an `Entity`.
struct KeyPathMacro {
    private let macro: AttributeSyntax

    init(_ macro: AttributeSyntax) { self.macro = macro }

    private static let names: Set<String> = ["Index", "Unique", "FetchedProperty"]

    var problems: [Diagnostic] {
        guard Self.names.contains(macro.name) else { return [] }
        if macro.isConditional {
            return [Diagnostic(macro.position, "#\(macro.name) is inside #if, so that the model would differ between builds. Move it out.")]
        }
        if macro.arguments.isEmpty { return [Diagnostic(macro.position, "#\(macro.name) names no property.")] }
        guard macro.name != "FetchedProperty" else { return [] }
        return macro.arguments.compactMap { argument in
            guard KeyPathLiteral.replacingKeyPaths(in: argument.value) == nil else { return nil }
            return Diagnostic(argument.range.lowerBound, "#\(macro.name) takes key paths over named properties, such as `\\.year`.")
        }
    }

    /// The elements as source, one for each constraint, index or fetched property.
    var parts: [String] {
        switch macro.name {
        case "FetchedProperty":
            return ["FetchedPropertyDescription(" + macro.arguments.map(\.source).joined(separator: ", ") + ")"]
        case "Unique":
            return lists.map { "Unique(\($0))" }
        case "Index":
            let labelled = macro.arguments.filter { $0.label != nil }.map { ", " + $0.source }.joined()
            var parts = lists.map { "Indexed(\($0)\(labelled))" }
            let elements = macro.arguments.filter { $0.label == nil && !$0.value.hasPrefix("[") }.compactMap { replaced($0.value) }
            if !elements.isEmpty { parts.append("Indexed(" + elements.joined(separator: ", ") + labelled + ")") }
            return parts
        default:
            return []
        }
    }

    /// The contents of the arguments that are array literals, with strings for key paths.
    private var lists: [String] {
        macro.arguments.filter { $0.label == nil && $0.value.hasPrefix("[") }.compactMap { replaced(String($0.value.dropFirst().dropLast())) }
    }

    private func replaced(_ source: String) -> String? { KeyPathLiteral.replacingKeyPaths(in: source) }
}

extension Argument {
    /// The argument as source, with its label.
    var source: String { label.map { "\($0): \(value)" } ?? value }
}
