import Foundation
import HornbeamModel
import HornbeamXcodeModels
import Testing

@Suite struct XcodeModelTests {
    /// A model that uses every element and most attributes of the format.
    static let shop = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="v2">
            <entity name="Item" representedClassName=".Item" isAbstract="YES" syncable="YES" codeGenerationType="class">
                <attribute name="id" attributeType="UUID" usesScalarValueType="NO"/>
                <attribute name="title" attributeType="String" minValueString="1" maxValueString="200" \
                    regularExpressionString="[^\\n]*" defaultValueString="-" elementID="name"/>
                <attribute name="searchTitle" optional="YES" attributeType="String" derived="YES" derivationExpression="canonical:(title)"/>
                <attribute name="created" attributeType="Date" defaultDateTimeInterval="0" minDateTimeInterval="-978307200"/>
                <uniquenessConstraints><uniquenessConstraint><constraint value="id"/></uniquenessConstraint></uniquenessConstraints>
                <userInfo><entry key="ui.icon" value="box"/></userInfo>
            </entity>
            <entity name="Book" representedClassName="Book" representedClassModule="Shop" parentEntity="Item" versionHashModifier="2">
                <attribute name="pages" attributeType="Integer 32" minValueString="1.0" maxValueString="20000" \
                    defaultValueString="1" usesScalarValueType="YES"/>
                <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="0.10" indexed="YES"/>
                <attribute name="cover" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
                <attribute name="tags" optional="YES" attributeType="Transformable" \
                    valueTransformerName="NSSecureUnarchiveFromData" customClassName="[String]"/>
                <attribute name="place" optional="YES" attributeType="Composite" composite="Point"/>
                <attribute name="isOpen" optional="YES" transient="YES" attributeType="Boolean" defaultValueString="YES"/>
                <relationship name="author" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Author" \
                    inverseName="books" inverseEntity="Author"/>
                <fetchedProperty name="reviews" optional="YES">
                    <fetchRequest name="fetchedPropertyFetchRequest" entity="Review" predicateString="bookID == $FETCH_SOURCE.id"/>
                </fetchedProperty>
                <fetchIndex name="byPages">
                    <fetchIndexElement property="pages" type="Binary" order="descending"/>
                    <fetchIndexElement property="place.lat" type="Binary" order="ascending"/>
                </fetchIndex>
                <compoundIndexes><compoundIndex><index value="pages"/><index value="price"/></compoundIndex></compoundIndexes>
            </entity>
            <entity name="Author" representedClassName="NSManagedObject">
                <attribute name="name" attributeType="String" preserveAfterDeletion="YES"/>
                <attribute name="bookCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="books.@count"/>
                <relationship name="books" optional="YES" toMany="YES" minCount="0" maxCount="50" ordered="YES" \
                    deletionRule="Cascade" destinationEntity="Book" inverseName="author" inverseEntity="Book"/>
            </entity>
            <entity name="Review">
                <attribute name="bookID" attributeType="UUID"/>
                <attribute name="stars" optional="YES" attributeType="Integer 16" minValueString="1" maxValueString="5"/>
            </entity>
            <composite name="Point">
                <attribute name="lat" attributeType="Double" defaultValueString="0.0"/>
                <attribute name="lon" attributeType="Double" defaultValueString="0.0"/>
            </composite>
            <fetchRequest name="booksByAuthorSince" entity="Book" predicateString="author.name LIKE[cd] $NAME AND created &gt; \
                $DATE" fetchLimit="20" returnDistinctResults="YES"/>
            <configuration name="Local"><memberEntity name="Review"/></configuration>
            <elements><element name="Item" positionX="0" positionY="0" width="128" height="100"/></elements>
        </model>
        """

    @Test("MDL-4: every element of the format is read")
    func everyElementIsRead() throws {
        let read = try XcodeModel(contents: Data(Self.shop.utf8))
        #expect(read.notes == [])
        let model = try ManagedObjectModel(read.definition)
        #expect(model.versionIdentifiers == ["v2"])
        let item = try model.entity(named: "Item")
        #expect(item.isAbstract && item.className == "Item" && item.userInfo == ["ui.icon": "box"])
        let title = try #require(item.attributesByName["title"]?.attribute)
        #expect(title.minimumLength == 1 && title.maximumLength == 200 && title.pattern == "[^\\n]*")
        #expect(title.defaultValue == "-" && title.renamingIdentifier == "name" && !title.isOptional)
        let created = try #require(item.attributesByName["created"]?.attribute)
        #expect(created.defaultValue == .date(Date(timeIntervalSinceReferenceDate: 0)))
        #expect(created.minimum == .date(Date(timeIntervalSince1970: 0)))
        #expect(item.attributesByName["searchTitle"]?.derivation == .text(.canonical, ["title"]))

        let book = try model.entity(named: "Book")
        #expect(book.className == "Shop.Book" && book.superentity == item && book.definition.versionHashModifier == "2")
        let pages = try #require(book.attributesByName["pages"]?.attribute)
        #expect(pages.minimum == 1 && pages.maximum == 20_000 && pages.defaultValue == 1 && pages.usesScalarValueType)
        #expect(book.attributesByName["price"]?.defaultValue == .decimal(Decimal(string: "0.1")!))
        #expect(book.attributesByName["cover"]?.attribute?.allowsExternalBinaryDataStorage == true)
        #expect(book.attributesByName["tags"]?.attribute?.valueTransformerName == "NSSecureUnarchiveFromData")
        #expect(book.attributesByName["place"]?.compositeElements.map(\.name) == ["lat", "lon"])
        #expect(book.attributesByName["isOpen"]?.isTransient == true)
        #expect(book.fetchIndexes.map(\.name) == ["indexed_price", "byPages", "compound_pages_price"])
        #expect(book.fetchIndexes[1].elements.map(\.path.description) == ["pages", "place.lat"])
        #expect(book.fetchedPropertiesByName["reviews"]?.request.predicate == "bookID == $FETCH_SOURCE.id")

        let books = try #require(model.entity(named: "Author").relationshipsByName["books"])
        #expect(books.isToMany && books.isOrdered && books.relationship?.maxCount == 50 && books.deleteRule == .cascade)
        #expect(books.inverse === book.relationshipsByName["author"])
        #expect(try model.entity(named: "Author").className == nil)
        #expect(try model.entity(named: "Author").attributesByName["bookCount"]?.derivation == .count(relationship: "books"))
        let template = try model.fetchRequestTemplate(forName: "booksByAuthorSince")
        #expect(template.fetchLimit == 20 && template.returnsDistinctResults && template.includesSubentities)
        #expect(try model.entities(forConfigurationName: "Local").map(\.name) == ["Review"])
    }

    /// The model with each text replaced by another.
    private func changed(_ changes: [(String, String)]) throws -> XcodeModel {
        var text = Self.shop
        for (old, new) in changes {
            #expect(text.contains(old), "\(old)")
            text = text.replacing(old, with: new)
        }
        return try XcodeModel(contents: Data(text.utf8), file: "Shop.xcdatamodel/contents")
    }

    @Test("MDL-11: the linter finds all problems that Xcode accepts in one run, with file, line and a hint")
    func linterFindsEverything() throws {
        let model = try changed([
            ("inverseName=\"books\" inverseEntity=\"Author\"", "inverseName=\"boks\" inverseEntity=\"Author\""),
            ("canonical:(title)", "canonical:(titel)"), ("parentEntity=\"Item\"", "parentEntity=\"Itme\""),
            ("attributeType=\"Integer 16\"", "attributeType=\"Integer16\""), ("memberEntity name=\"Review\"", "memberEntity name=\"Revue\""),
            ("maxCount=\"50\"", "maxCount=\"fifty\""), ("isAbstract=\"YES\"", "isAbstract=\"yes\" colour=\"red\""),
        ])
        #expect(
            model.lint().map(\.description).joined(separator: "\n") == """
                Shop.xcdatamodel/contents:6: error: “Item.searchTitle” is derived from “titel”, which “Item” does not have (did you mean “title”?).
                Shop.xcdatamodel/contents:11: error: The parent entity “Itme” of “Book” is not in the model (did you mean “Item”?).
                Shop.xcdatamodel/contents:18: error: “Book.author” has the inverse “boks”, which is not a relationship of “Author” \
                (did you mean “books”?).
                Shop.xcdatamodel/contents:31: error: “Author.books” has the inverse “Book.author”, which points to “boks” and not back: \
                name “books” there.
                Shop.xcdatamodel/contents:35: error: The type “Integer16” of “Review.stars” is not known (did you mean “Integer 16”?).
                Shop.xcdatamodel/contents:42: error: The configuration “Local” names the entity “Revue”, which is not in the model \
                (did you mean “Review”?).
                Shop.xcdatamodel/contents:3: warning: In the model file, the attribute “colour” of <entity> is not known and was ignored.
                Shop.xcdatamodel/contents:3: warning: In the model file, “isAbstract” is “yes”, which is neither YES nor NO, and was read as NO.
                Shop.xcdatamodel/contents:31: warning: In the model file, “maxCount” is “fifty”, which is not a whole number, and was ignored.
                """)
    }

    @Test("MDL-11: a sound model has warnings at most")
    func soundModelHasWarningsAtMost() throws {
        #expect(try changed([]).lint() == [])
        let oneWay = try changed([
            (" inverseName=\"books\" inverseEntity=\"Author\"", ""), (" inverseName=\"author\" inverseEntity=\"Book\"", ""),
            ("deletionRule=\"Cascade\"", "deletionRule=\"No Action\""), ("maxValueString=\"5\"", "maxValueString=\"5\" defaultValueString=\"9\""),
        ])
        #expect(
            oneWay.lint().map(\.description).joined(separator: "\n") == """
                Shop.xcdatamodel/contents:18: warning: “Book.author” has no inverse: deleted objects can leave dangling references, \
                so name one, or leave it out on purpose for a one-way relationship.
                Shop.xcdatamodel/contents:31: warning: “Author.books” has no inverse: deleted objects can leave dangling references, \
                so name one, or leave it out on purpose for a one-way relationship.
                Shop.xcdatamodel/contents:31: warning: “Author.books” has the delete rule “no action”: the other end keeps references to \
                deleted objects.
                Shop.xcdatamodel/contents:35: warning: “Review.stars” has a default value that is above its own maximum: \
                a new object cannot be saved with it.
                """)
        _ = try ManagedObjectModel(oneWay.definition)
    }

    @Test(
        "ATT-4: a default that is text of another type is read as Core Data reads it, and told",
        arguments: [
            ("Integer 16", "NO", .int(0)), ("Integer 32", "YES", .int(0)), ("Integer 64", "2.9", .int(2)), ("Integer 64", "-7 days", .int(-7)),
            ("Double", "NO", .double(0)), ("Float", "1.5 m", .double(1.5)), ("Boolean", "0.0", .bool(false)), ("Boolean", "1.0", .bool(true)),
            ("Boolean", "True", .bool(true)), ("Boolean", "no", .bool(false)), ("Boolean", "0.5", .bool(false)),
        ] as [(String, String, PropertyValue)])
    func defaultsOfAnotherTypeAreRead(_ type: String, _ text: String, _ value: PropertyValue) throws {
        let file = """
            <model><entity name="E"><attribute name="a" attributeType="\(type)" defaultValueString="\(text)"/></entity></model>
            """
        let read = try XcodeModel(contents: Data(file.utf8))
        let model = try ManagedObjectModel(read)
        let attribute = try model.entity(named: "E").property(named: "a")
        #expect(attribute.defaultValue == value)
        #expect(model.notes.count == 1 && model.notes == read.notes)
        #expect(model.notes[0].message.contains("“\(text)”") && model.notes[0].message.hasSuffix("as Core Data reads it."))
    }

    @Test("MOD-9: an index over a to-many is ignored with a warning, and the model is sound")
    func indexOverToManyIsIgnored() throws {
        let read = try changed([
            ("<attribute name=\"name\" attributeType=\"String\" preserveAfterDeletion=\"YES\"/>",
             "<attribute name=\"name\" attributeType=\"String\" preserveAfterDeletion=\"YES\"/>"
                + "<fetchIndex name=\"byBooks\"><fetchIndexElement property=\"books\" type=\"Binary\" order=\"ascending\"/></fetchIndex>"),
        ])
        let model = try ManagedObjectModel(read)
        #expect(try model.entity(named: "Author").fetchIndexes.isEmpty)
        #expect(read.lint().map(\.message) == [
            "The index “byBooks” of “Author” names “books”, a to-many relationship, and is ignored: the members of a to-many are indexed "
                + "anyway."
        ])
    }

    @Test("MOD-10: the old flag of an index is ignored for a transient attribute, with a note")
    func indexOfATransientAttributeIsIgnored() throws {
        let read = try changed([("<attribute name=\"isOpen\" ", "<attribute name=\"isOpen\" indexed=\"YES\" ")])
        #expect(try ManagedObjectModel(read).entity(named: "Book").fetchIndexes.map(\.name).contains("indexed_isOpen") == false)
        #expect(read.notes.map(\.message) == [
            "In the model file, the flag “indexed” of “Book.isOpen” was ignored: a transient property is not stored.",
        ])
    }

    @Test("ATT-4: a default number followed by other text is omitted and reported, not truncated", arguments: ["12abc", "1.2.3", "1e", "--1", ".", "12,5"])
    func cutNumbersAreReported(_ text: String) throws {
        let model = try changed([("defaultValueString=\"0.10\"", "defaultValueString=\"\(text)\"")])
        #expect(
            model.lint().map(\.description) == [
                "Shop.xcdatamodel/contents:13: warning: In the model file, “defaultValueString” of “Book.price” is “\(text)”, "
                    + "which is not of type decimal, and was ignored."
            ])
    }

    @Test(
        "A file that is no model says why, with its line",
        arguments: [
            ("", "“contents” cannot be read at line 1: it is not well-formed XML."),
            ("<model>\n<entity>\n</model>", "“contents” cannot be read at line 3: it is not well-formed XML."),
            ("<plist/>", "“contents” is not a model: its root element is <plist> and not <model>."),
            (
                String(repeating: "<a>\n", count: 70),
                "“contents” cannot be read at line 65: its elements are nested too deeply."
            ),
            (
                "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/hostname\">]>\n<model>&e;<entity/></model>", nil
            ),
        ])
    func fileThatIsNoModelSaysWhy(_ text: String, _ message: String?) throws {
        guard let message else {
            #expect(try XcodeModel(contents: Data(text.utf8)).definition.entities.count == 1)
            return
        }
        let error = #expect(throws: HornbeamError.self) { try XcodeModel(contents: Data(text.utf8)) }
        #expect(error?.message == message)
        #expect(error?.code == .malformedModelFile)
    }

    @Test("ATT-9: limits, patterns and defaults that the editor writes are rules of the model", arguments: [
        ("Book", "pages", .int(0), 1620), ("Book", "pages", .int(20_001), 1610), ("Review", "stars", .int(6), 1610),
        ("Book", "title", "", 1670), ("Book", "title", .string(String(repeating: "x", count: 201)), 1660),
        ("Book", "title", "two\nlines", 1680), ("Book", "created", .date(.distantPast), 1640), ("Author", "name", .null, 1570),
        ("Book", "pages", .int(1), nil), ("Book", "title", "fine", nil), ("Review", "stars", .null, nil),
    ] as [(String, String, PropertyValue, Int?)])
    func settingsOfTheEditorAreRules(entity: String, key: String, value: PropertyValue, code: Int?) throws {
        let property = try ManagedObjectModel(changed([]).definition).entity(named: entity).property(named: key)
        do {
            try property.validate(value)
            #expect(code == nil)
        } catch {
            #expect((error as? HornbeamError)?.code.rawValue == code)
        }
        #expect(entity != "Book" || key != "pages" || property.defaultValue == 1)
    }

    @Test("MDL-1 (1.29, 8): missing flags of a fetch request have the API's defaults, and a mixture is reported")
    func missingFlagsAreReported() throws {
        let some = try changed([("fetchLimit=\"20\"", "fetchLimit=\"20\" includeSubentities=\"NO\" returnObjectsAsFaults=\"YES\"")])
        let template = try #require(some.definition.fetchRequestTemplates.first)
        #expect(!template.includesSubentities && template.includesPropertyValues && template.includesPendingChanges)
        #expect(some.notes.map(\.message) == [
            "In the model file, the flags includePropertyValues, includesPendingChanges of a fetch request are not written and were taken as YES.",
        ])
    }

    @Test("MDL-12: the current version of a bundle is the one that is marked, else the first")
    func currentVersionIsTheMarkedOne() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).xcdatamodeld")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, entity) in [("Shop 10", "C"), ("Shop 2", "B"), ("Shop", "A")] {
            let version = folder.appending(path: "\(name).xcdatamodel")
            try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
            try Data("<model><entity name=\"\(entity)\"/></model>".utf8).write(to: version.appending(path: "contents"))
        }
        #expect(try XcodeModelBundle(contentsOf: folder).versionNames == ["Shop", "Shop 2", "Shop 10"])
        #expect(try ManagedObjectModel(xcodeModelAt: folder).entities.map(\.name) == ["A"])
        let marker = folder.appending(path: ".xccurrentversion")
        func mark(_ name: String) throws {
            let list = "<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>\(name)</string></dict></plist>"
            try Data(list.utf8).write(to: marker)
        }
        try mark("Shop 2.xcdatamodel")
        #expect(try ManagedObjectModel(xcodeModelAt: folder).entities.map(\.name) == ["B"])
        #expect(try XcodeModelBundle(contentsOf: folder).version(named: "Shop 10").definition.entities.map(\.name) == ["C"])
        try mark("Shop 3.xcdatamodel")
        let missing = #expect(throws: HornbeamError.self) { try XcodeModel(contentsOf: folder) }
        #expect(missing?.message.hasSuffix("is “Shop 3”, which does not exist. The versions are “Shop”, “Shop 2”, “Shop 10”.") == true)
        try Data("no list".utf8).write(to: marker)
        let broken = #expect(throws: HornbeamError.self) { try XcodeModel(contentsOf: folder) }
        #expect(broken?.message.contains("is not a property list") == true)
        let absent = #expect(throws: HornbeamError.self) { try XcodeModel(contentsOf: folder.appending(path: "x.xcdatamodel")) }
        #expect(absent?.code == .inputOutput)
    }

    @Test("MDL-12: a version is found whose folder has its name in another Unicode normalisation, as folders of a Mac have")
    func versionsInAnotherNormalisation() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).xcdatamodeld")
        defer { try? FileManager.default.removeItem(at: folder) }
        let (composed, decomposed) = ("Gr\u{F6}\u{DF}e", "Gro\u{308}\u{DF}e")
        for name in ["A", decomposed] {
            let version = folder.appending(path: "\(name).xcdatamodel")
            try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
            try Data("<model><entity name=\"\(name == "A" ? "A" : "B")\"/></model>".utf8).write(to: version.appending(path: "contents"))
        }
        let list = "<plist version=\"1.0\"><dict><key>_XCCurrentVersionName</key><string>\(composed).xcdatamodel</string></dict></plist>"
        try Data(list.utf8).write(to: folder.appending(path: ".xccurrentversion"))
        #expect(try ManagedObjectModel(xcodeModelAt: folder).entities.map(\.name) == ["B"])
        #expect(try XcodeModelBundle(contentsOf: folder).version(named: composed).definition.entities.map(\.name) == ["B"])
    }
}
