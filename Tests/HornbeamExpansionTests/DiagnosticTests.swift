import Testing

@testable import HornbeamExpansion

/// Refused declarations, with their places and the offered changes.
@Suite struct DiagnosticTests {
    /// The body of a class, and the diagnostics.
    private static let refused: [(String, String)] = [
        ("let a: Int", "2:1: “a” must be a `var`: the store fills it in after the object was made. [Make it a var → var]"),
        ("var (a, b): (Int, Int)", "2:5: A tuple of properties cannot be stored: declare each property by itself."),
        ("var a: Int, b: Int",
            """
            2:1: “a” must have a declaration of its own: one `var` for each property of an entity.
            2:1: “b” must have a declaration of its own: one `var` for each property of an entity.
            """),
        ("var a: Int = 0 { didSet { print(a) } }",
            "2:16: “a” cannot have observers: its value lies in the store. Override `willSave` or `awakeFromFetch`, or mark the property @Transient."),
        ("#if DEBUG\nvar a: Int\n#endif",
            "3:5: “a” is inside #if, so that the model would differ between builds. Move it out, or mark it @Transient."),
        ("lazy var a: Int = 3", "2:1: A lazy property cannot be stored: mark it @Transient to keep it in memory only. [Mark it @Transient → @Transient ]"),
        ("public weak var a: A?", "2:8: A weak property cannot be stored: mark it @Transient to keep it in memory only. [Mark it @Transient → @Transient ]"),
        ("override var a: Int", "2:1: “a” is inherited: an entity's property cannot be declared again."),
        ("var objectID: Int", "2:5: “objectID” is the name of a member of every managed object. Choose another name."),
        ("var isFailed: Bool", "2:5: “isFailed” is the name of a member of every managed object. Choose another name."),
        ("var tokens: Int", "2:5: “tokens” is the name of a member of every managed object. Choose another name."),
        ("var a", "2:5: “a” needs a type: the model is made from it. [Add a type → : <#Type#>]"),
        ("var a = make()", "2:5: “a” needs a type: the model is made from it. [Add a type → : <#Type#>]"),
        ("var a: Int!", "2:11: “a” cannot be implicitly unwrapped: make it optional or not optional. [Make it optional → ?]"),
        ("var a: (Int, Int)", "2:8: “a” cannot be stored: its type is a tuple."),
        ("var a: (Int) -> Int", "2:8: “a” cannot be stored: its type is a function."),
        ("var a: any Codable", "2:8: “a” cannot be stored: its type is a type with “any”."),
        ("var a: Int??", "2:8: “a” is optional twice; the store has only one kind of nil."),
        ("var a: UInt64", "2:8: UInt64 is not a type of the store, which has signed integers of 64 bits. Use Int, Decimal or String."),
        ("@Attribute(derivation: \"now()\") var a: Date = .now",
            "2:47: “a” is derived: the store computes it, so that it has no initial value."),
        ("@Attribute(default: 3) var a: Int = 4", "2:21: “a” has an initial value and a default. Give one of them."),
        ("@Attribute @Relationship var a: A?", "2:1: “a” is an attribute or a relationship, not both."),
        ("@Relationship var a: String", "2:22: A relationship leads to objects of an entity, not to String."),
        ("@Relationship var a: Set<A>?", "2:28: A relationship to many objects is not optional: without objects it is empty. [Remove ? → ]"),
        ("@Relationship var a: A",
            "2:22: A relationship to one object is optional in Swift, since the object can be deleted. Write "
                + "`@Relationship(optional: false)` if each saved object must have one. [Make it optional → ?]"),
        ("@Relationship var a: [String: A]", "2:22: A relationship is to one object, a set or an array, not a dictionary."),
        ("@Relationship var a: [A?]", "2:23: A relationship to many objects has elements of an entity's class."),
        ("@Relationship(inverse: \\A.b.c) var a: A?",
            "2:24: The inverse is a key path to one property of the destination, such as `\\Book.author`, its name as a text, or nil."),
        ("@Relationship(minCount: 1) var a: A?", "2:25: minCount is for relationships to many objects; write `optional: false` instead."),
        ("@Relationship(merge: .mine) var a: [A]",
            "2:22: Relationships to many objects are always merged member by member; leave `merge` out."),
        ("@Relationship var a: [A] = [x]", "2:28: A relationship starts without objects: it has no initial value."),
        ("@Attribute(.unique) static var a = 3", "2:1: @Attribute is for stored properties of objects: “a” is static."),
        ("@Attribute var a: Int { 3 }", "2:1: @Attribute is for stored properties of objects: “a” is computed."),
        ("@Attribute @Transient var a = 3",
            "2:1: “a” is both @Attribute and @Transient. Write @Attribute(.transient) for an attribute that is tracked and not stored, or "
                + "@Transient alone for a property that the model does not know."),
        ("@Attribute(AttributeOption.unique) var a: Int",
            "2:12: @Attribute reads its options from the source: write .unique, .indexed, .transient, .external or .preserved."),
        ("#if DEBUG\n@Attribute(.unique)\n#endif\nvar a: Int\nvar b: Int",
            "5:5: “a” is inside #if, so that the model would differ between builds. Move it out, or mark it @Transient."),
        ("var a: Rating = Rating.good\n#if DEBUG\n    .next\n#endif\nvar b: Int",
            "2:5: “a” is inside #if, so that the model would differ between builds. Move it out, or mark it @Transient."),
        ("#Index<A>()", "2:1: #Index names no property."),
        ("#if DEBUG\n#Index<A>([\\.a])\n#else\n#Unique<A>([\\.a])\n#endif\nvar a: Int\n#Index<A>([\\.a])",
            """
            3:1: #Index is inside #if, so that the model would differ between builds. Move it out.
            5:1: #Unique is inside #if, so that the model would differ between builds. Move it out.
            """),
        ("#Unique<A>([\\.a[0]!, \\.])", "2:12: #Unique takes key paths over named properties, such as `\\.year`."),
    ]

    @Test(arguments: refused.indices)
    func propertiesThatCannotBeStoredAreRefusedAtTheirPosition(position: Int) {
        let (body, expected) = Self.refused[position]
        #expect(expand("@Entity class A: ManagedObject {\n\(body)\n}") == expected)
    }

    @Test(arguments: [
        ("@Entity struct A { var a: Int }",
            "1:9: @Entity is for classes: objects have an identity, which a value of struct “A” does not have."),
        ("@Entity class A<T>: ManagedObject { }", "1:16: An entity's class cannot be generic: each entity has one class."),
        ("@Entity class A { }",
            "1:15: “A” must inherit from ManagedObject, or from another entity's class. [Inherit from ManagedObject → : ManagedObject]"),
        ("@Entity func a() {}", "1:9: @Entity is for classes."),
        ("@Entity class A: B { var a = \"", "1:30: A bracket or text begins or ends here without its counterpart."),
    ])
    func otherDeclarationsAreRefused(source: String, expected: String) { #expect(expand(source) == expected) }

    @Test func everyProblemOfAClassIsReportedInItsOrder() {
        let lines = expand("@Entity class A: ManagedObject {\n    let a: Int\n    var ok: Int\n    var b: Int!\n    var c\n}").split(separator: "\n")
        #expect(lines.map { $0.prefix { $0 != " " } } == ["2:5:", "4:15:", "5:9:"])
    }
}
