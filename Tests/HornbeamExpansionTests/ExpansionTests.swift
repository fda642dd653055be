import Testing

@testable import HornbeamExpansion

/// The exact output of the macros.
@Suite struct ExpansionTests {
    @Test func theExampleOfTheReadme() {
        let source = """
            @Entity final class Book: ManagedObject {
                #Index<Book>([\\.year])
                var title: String
                var year: Int?
                var author: Author?
                var rating: Rating = .unrated
                @Transient var draft = ""
            }
            """
        #expect(
            expand(source) == """
                static let title = Attribute<String>("title")
                static let year = Attribute<Int?>("year")
                static let author = TokenType.of(Author?.self).init("author")
                static let rating = TokenType.of(Rating.self).init("rating", default: .unrated)

                override class var tokens: [any PropertyToken] { super.tokens + [title, year, author, rating] }

                override class var entityDeclaration: EntityDeclaration? {
                    EntityDeclaration(Book.self, parent: super.entityDeclaration, tokens: [title, year, author, rating]) {
                        Indexed("year")
                    }
                }

                @discardableResult convenience init(in context: ManagedObjectContext, title: String, year: Int? = nil, author: Author? = nil, rating: Rating = .unrated) {
                    self.init(context: context)
                    self.title = title
                    self.year = year
                    self.author = author
                    self.rating = rating
                }
                """)
    }

    @Test("the initialiser has the lowest access of the class and of the properties that are its parameters", arguments: [
        ("public", "public var a: Int", "public convenience init"),
        ("open", "public var a: Int", "public convenience init"),
        ("public", "public var a: Int; private var b: Int = 0", "public convenience init"),
        ("public", "public var a: Int; var b: Int", "@discardableResult convenience init"),
        ("package", "public var a: Int", "package convenience init"),
        ("", "public var a: Int", "@discardableResult convenience init"),
    ])
    func initialisersHaveTheLowestAccess(access: String, properties: String, expected: String) {
        let source = "@Entity \(access) class Book: ManagedObject {\n\(properties.replacing("; ", with: "\n"))\n}"
        #expect(expand(source).contains(expected))
    }

    @Test func everythingThatAnEntityCanSay() {
        let source = """
            @Entity("Writer", abstract: true, renamedFrom: "Author", version: "2", userInfo: ["a": "b"])
            public class Person: ManagedObject {
                #Unique<Person>([\\.name, \\Person.born])
                #Index<Person>(.folded(\\.name), .descending(\\.born), name: "x", where: "born != nil")
                #FetchedProperty("reviews", entity: "Review", where: "a == $FETCH_SOURCE.id")
                public var name: String
                public var born: Date?
                @Relationship(inverse: nil) public var friend: Person?
            }
            """
        #expect(
            expand(source) == """
                public static let name = Attribute<String>("name")
                public static let born = Attribute<Date?>("born")
                public static let friend = ToOne<Person>("friend")

                public override class var entityName: String { "Writer" }

                public override class var tokens: [any PropertyToken] { super.tokens + [name, born, friend] }

                public override class var entityDeclaration: EntityDeclaration? {
                    EntityDeclaration(Person.self, parent: super.entityDeclaration, tokens: [name, born, friend], oneWay: ["friend"], abstract: true, renamedFrom: "Author", version: "2", userInfo: ["a": "b"]) {
                        Unique("name", "born")
                        Indexed(.folded("name"), .descending("born"), name: "x", where: "born != nil")
                        FetchedPropertyDescription("reviews", entity: "Review", where: "a == $FETCH_SOURCE.id")
                    }
                }
                """)
    }

    /// A declaration, and the token that it becomes.
    private static let tokens: [(String, String)] = [
        ("var a: Int = 3", #"a = Attribute<Int>("a", default: 3)"#),
        ("var a = 3", #"a = Attribute<Int>("a", default: 3)"#),
        ("var a = -3.5", #"a = Attribute<Double>("a", default: -3.5)"#),
        ("var a = \"x\"", #"a = Attribute<String>("a", default: "x")"#),
        ("var a = true", #"a = Attribute<Bool>("a", default: true)"#),
        ("var `default`: Bool", #"`default` = Attribute<Bool>("default")"#),
        ("var a: UUID = UUID()", #"a = Attribute<UUID>("a")"#),
        ("var a: Date = .now", #"a = Attribute<Date>("a")"#),
        ("var a: Date = .now + 60", #"a = Attribute<Date>("a")"#),
        ("var a: Date = (.now)", #"a = Attribute<Date>("a")"#),
        ("var a: Double = Date.now.timeIntervalSince1970", #"a = Attribute<Double>("a")"#),
        ("var a: Date? = nil", #"a = Attribute<Date?>("a")"#),
        ("var a: Foundation.Date", #"a = Attribute<Foundation.Date>("a")"#),
        ("var a: Swift.Optional<Int>", #"a = Attribute<Swift.Optional<Int>>("a")"#),
        ("@Attribute(default: Settings(), renamedFrom: \"b\") var a: Settings",
            #"a = TokenType.of(Settings.self).init("a", default: Settings(), renamedFrom: "b")"#),
        ("@Attribute(.unique, .indexed, .transient, .external, .preserved) var a: Data",
            #"a = Attribute<Data>("a", unique: true, indexed: true, transient: true, external: true, preserved: true)"#),
        ("@Attribute(type: .integer16, minimum: 1, maximum: 9) var a: Int",
            #"a = Attribute<Int>("a", type: .integer16, minimum: 1, maximum: 9)"#),
        ("@Attribute(minimumLength: 1, maximumLength: 9, pattern: \"a+\") var a: String",
            #"a = Attribute<String>("a", minimumLength: 1, maximumLength: 9, pattern: "a+")"#),
        ("@Attribute(derivation: \"books.@count\") var a: Int", #"a = Attribute<Int>("a", derivation: "books.@count")"#),
        ("@Attribute(merge: .sum) var a: Int = 0", #"a = Attribute<Int>("a", default: 0, merge: .sum)"#),
        ("@Attribute(composite: \"Place\") var a: [String: PropertyValue]",
            #"a = TokenType.of([String: PropertyValue].self).init("a", composite: "Place")"#),
        ("@Attribute(transformer: \"T\") var a: Data", #"a = Attribute<Data>("a", transformer: "T")"#),
        ("@Attribute(rules: [ValidationRule(\"SELF > 0\")], version: \"2\", userInfo: [\"a\": \"b\"]) var a: Int",
            #"a = Attribute<Int>("a").adding(rules: [ValidationRule("SELF > 0")], version: "2", userInfo: ["a": "b"])"#),
        ("var a: [String] = []", #"a = TokenType.of([String].self).init("a")"#),
        ("var a: [String] = [\"x\"]", #"a = TokenType.of([String].self).init("a", default: ["x"])"#),
        ("var a: Set<Book>", #"a = TokenType.of(Set<Book>.self).init("a")"#),
        ("var a: ManagedArray<Book>", #"a = TokenType.of(ManagedArray<Book>.self).init("a")"#),
        ("@Relationship(deleteRule: .cascade, inverse: \\Book.author) var a: Set<Book>",
            #"a = ToMany<Book>("a", inverse: "author", deleteRule: .cascade)"#),
        ("@Relationship(minCount: 1, maxCount: 3, inverse: \"x\") var a: [Book]",
            #"a = OrderedToMany<Book>("a", inverse: "x", minCount: 1, maxCount: 3)"#),
        ("@Relationship(optional: false, merge: .mine, inverse: \\Lib.Book.`in`, renamedFrom: \"b\") var a: Book?",
            #"a = ToOne<Book>("a", inverse: "in", optional: false, merge: .mine, renamedFrom: "b")"#),
        ("@Relationship(version: \"2\") var a: ManagedSet<Book>", #"a = ToMany<Book>("a").adding(version: "2")"#),
        ("private var a: Int = 60 * (2 + 1)", #"a = Attribute<Int>("a", default: 60 * (2 + 1))"#),
    ]

    @Test(arguments: tokens.indices)
    func eachPropertyBecomesOneToken(position: Int) {
        let (declaration, token) = Self.tokens[position]
        let expansion = expand("@Entity class A: ManagedObject {\n    \(declaration)\n}")
        let first = expansion.split(separator: "\n")[0]
        #expect(first.drop { $0 != "l" }.dropFirst(4) == token, "\(expansion)")
    }

    @Test func valuesThatAreCallsAreMadeForEachObject() {
        let expansion = expand("@Entity class A: ManagedObject { var id: UUID = UUID(); var at: Date = .now; var n: Int = 1 }")
        #expect(expansion.contains("""
            override func assignInitialValues() {
                super.assignInitialValues()
                self.id = UUID()
                self.at = .now
            }
            """))
        #expect(expansion.contains("init(in context: ManagedObjectContext, id: UUID = UUID(), at: Date = .now, n: Int = 1)"))
    }

    @Test func accessorsReadAndWriteByToken() {
        #expect(response("ManagedPropertyMacro", "accessor", "public var a: Int = 3")
            == "{\n    get { self[Self.a] }\n    set { self[Self.a] = newValue }\n}")
        #expect(response("ManagedPropertyMacro", "accessor", "@Attribute(derivation: \"now()\") var `in`: Date")
            == "{\n    get { self[Self.`in`] }\n}")
    }

    @Test(arguments: [
        ("var a: Int", "@ManagedProperty"), ("@Attribute(.unique) var a: Int", "@ManagedProperty"), ("var a = 3", "@ManagedProperty"),
        ("static var a: Int = 3", ""), ("var a: Int { 3 }", ""), ("@Transient var a = 3", ""), ("func a() {}", ""), ("let a: Int", ""),
        ("#Index<A>([\\.a])", ""), ("@ManagedProperty var a: Int", ""), ("init() {}", ""), ("var a: Int!", ""),
    ])
    func onlyWhatTheStoreKeepsGetsAccessors(source: String, attribute: String) {
        #expect(response("EntityMacro", "memberAttribute", source) == attribute)
    }

    @Test func marksExpandToNothing() {
        #expect(response("MarkerMacro", "peer", "var a: Int") == "")
        guard case .expansion("", let diagnostics, _) = Response(to: .expandFreestanding) else { return #expect(Bool(false)) }
        #expect(diagnostics.isEmpty)
    }

    @Test func accessFollowsTheClassAndTheProperty() {
        let expansion = expand("@Entity public final class A: ManagedObject { public var a: Int; var b: Int; private var c: Int; package var d: Int }")
        #expect(expansion.hasPrefix("""
            public static let a = Attribute<Int>("a")
            static let b = Attribute<Int>("b")
            private static let c = Attribute<Int>("c")
            package static let d = Attribute<Int>("d")
            """))
        #expect(expansion.contains("\n@discardableResult convenience init(in context: ManagedObjectContext, a: Int, b: Int, d: Int) {"))
        #expect(expand("@Entity private final class A: ManagedObject { var a: Int }").hasPrefix("static let a"))
    }

    @Test func membersThatTheClassDeclaresAreNotGenerated() {
        let expansion = expand("""
            @Entity final class A: ManagedObject {
                static let a = Attribute<Int>("a", minimum: 2)
                var a: Int
                init(in context: ManagedObjectContext, fast: Bool) { }
            }
            """)
        #expect(!expansion.contains("static let") && !expansion.contains("convenience init"))
        #expect(expansion.contains("tokens: [a]"))
    }

    @Test func aPropertyCalledContextDoesNotHideTheContext() {
        #expect(expand("@Entity class A: ManagedObject { var context: String }").contains("init(in _context: ManagedObjectContext, context: String)"))
    }
}
