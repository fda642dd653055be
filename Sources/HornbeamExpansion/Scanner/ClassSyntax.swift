/// An argument of an attribute or a macro: `deleteRule: .cascade`.
struct Argument: Equatable {
    var label: String?
    /// The source of the value.
    var value: String
    /// The bytes of the value.
    var range: Range<Int>
}

/// An attribute of a declaration, or a freestanding macro: `@Attribute(.unique)`, `#Index<Book>([\.year])`.
struct AttributeSyntax: Equatable {
    /// The last name: `Attribute` of `@Hornbeam.Attribute`.
    var name: String
    var arguments: [Argument]
    /// The offset of `@` or `#`.
    var position: Int
    /// True for a macro inside `#if`.
    var isConditional = false

    /// The argument with a label; nil when there is no such argument.
    subscript(label: String) -> Argument? { arguments.first { $0.label == label } }

    /// The names in arguments without a label: `unique` of `.unique`.
    var options: [String] {
        arguments.filter { $0.label == nil && $0.value.hasPrefix(".") }.map { String($0.value.dropFirst()) }
    }
}

/// A modifier of a declaration: `public`, `private(set)`.
struct Modifier: Equatable {
    var name: String
    /// The text in parentheses: `set`.
    var detail: String?
    var position: Int
}

/// One property that a `var` or `let` declares.
struct PropertySyntax: Equatable {
    var attributes: [AttributeSyntax]
    var modifiers: [Modifier]
    var isLet: Bool
    /// The bytes of `var` or `let`.
    var keyword: Range<Int>
    /// Without backticks.
    var name: String
    var isQuoted: Bool
    /// The bytes of the name.
    var nameRange: Range<Int>
    var type: TypeSyntax?
    /// The bytes of the initial value.
    var initialValue: Range<Int>?
    /// The offset of the block of accessors; nil when there is no block.
    var accessors: Int?
    var hasObservers: Bool
    /// True when the declaration declares several properties.
    var isOneOfSeveral: Bool
    /// True for `var (a, b)`.
    var isPattern: Bool
    /// True inside `#if`.
    var isConditional: Bool

    func attribute(_ name: String) -> AttributeSyntax? { attributes.first { $0.name == name } }
    func has(_ modifier: String) -> Bool { modifiers.contains { $0.name == modifier && $0.detail == nil } }

    /// True for a property of the type instead of its instances.
    var isStatic: Bool { has("static") || has("class") }
    var isComputed: Bool { accessors != nil && !hasObservers }
    var isTransient: Bool { attribute("Transient") != nil }
    /// True for a property that is stored: not static, not computed and not `@Transient`.
    var isManaged: Bool { !isStatic && !isComputed && !isTransient }
}

/// An initialiser, with the parts that show whether it conflicts with the generated initialiser.
struct InitialiserSyntax: Equatable {
    var firstLabel: String?
    var isConvenience: Bool
}

/// The declaration of a class or another type.
struct ClassSyntax: Equatable {
    /// `class`, `struct`, `enum`, …
    var keyword: String
    var keywordRange: Range<Int>
    var attributes: [AttributeSyntax] = []
    var modifiers: [Modifier] = []
    var name: String
    var nameRange: Range<Int>
    /// The offset of `<`; nil when the class is not generic.
    var generics: Int?
    /// The types after the colon, as written.
    var inherited: [String] = []
    var properties: [PropertySyntax] = []
    /// The freestanding macros in the body.
    var macros: [AttributeSyntax] = []
    var initialisers: [InitialiserSyntax] = []
}
