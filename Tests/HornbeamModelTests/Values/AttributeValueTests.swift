import Foundation
import HornbeamModel
import Testing

private enum Priority: Int16, CaseIterable, AttributeValue { case low = 1, high = 2 }
private enum Color: String, CaseIterable, AttributeValue { case none = "", red, blue }
private struct Flags: OptionSet, AttributeValue {
    let rawValue: Int
    static let bold = Flags(rawValue: 1)
}
private struct Point: Codable, Hashable, Sendable { var x: Double; var y: Double }

@Suite struct AttributeValueTests {
    private func returns<Value: AttributeValue & Equatable>(_ value: Value, _ type: AttributeType) -> Bool {
        Value.attributeType == type && Value(propertyValue: value.propertyValue) == value
    }

    @Test("ATT-1: every Swift type has its attribute type and comes back from a value")
    func typesComeBack() {
        #expect(returns("é", .string) && returns(true, .boolean) && returns(1.5, .double) && returns(Float(1.5), .float))
        #expect(returns(Int.min, .integer64) && returns(Int64.max, .integer64) && returns(Int32.min, .integer32))
        #expect(returns(Int16.max, .integer16) && returns(Int8.min, .integer16) && returns(UInt8.max, .integer16))
        #expect(returns(UInt16.max, .integer32) && returns(UInt32.max, .integer64))
        #expect(returns(Date(timeIntervalSince1970: 1), .date) && returns(Data([1]), .binary) && returns(UUID(), .uuid))
        #expect(returns(URL(string: "a:b")!, .uri) && returns(Decimal(1.5), .decimal))
        #expect(returns(Priority.high, .integer16) && returns(Color.red, .string) && returns(Flags.bold, .integer64))
        #expect(returns(Optional("a"), .string) && returns(Int?.none, .integer64) && returns(Priority?.none, .integer16))
        #expect(returns(Coded(Point(x: 1, y: .infinity)), .transformable) && returns(Coded(["a"]), .transformable))
        #expect(returns(PropertyValue.int(1), .undefined))
    }

    @Test("A value of another kind or out of range converts to nil")
    func strangersGiveNothing() {
        #expect(String(propertyValue: 1) == nil && Int(propertyValue: "1") == nil && Int16(propertyValue: 40_000) == nil)
        #expect(Int(propertyValue: 1.5) == nil && Int(propertyValue: .null) == nil && Priority(propertyValue: 3) == nil)
        #expect(Int??(propertyValue: .null) == .some(.none) && Coded<Point>(propertyValue: .data(Data([1]))) == nil)
        #expect(UInt8(integerCell: -1) == nil && Priority(integerCell: 9) == nil && String(integerCell: 1) == nil)
    }

    @Test("Cells are read without boxing")
    func cellsAreRead() {
        #expect(Int.cellForm == .integer && Bool(integerCell: 1) == true && Priority(integerCell: 2) == .high)
        #expect(Double.cellForm == .double && Float(doubleCell: 0.5) == 0.5)
        #expect(Date.cellForm == .double && Date(doubleCell: 0) == Date(timeIntervalSinceReferenceDate: 0))
        #expect(String.cellForm == .string && Color(stringCell: "blue") == .blue && Color?(stringCell: "green") == nil)
        #expect(UUID.cellForm == .other && Int?.cellForm == .integer)
        #expect(Int.nullCell == nil && Int?.nullCell == .some(.none))
    }

    @Test("A required attribute that is not set reads as zero, empty or the first case")
    func unsetReadsAsZero() {
        #expect(String.unsetValue == "" && Int.unsetValue == 0 && Bool.unsetValue == false && Double?.unsetValue == nil)
        #expect(Priority.unsetValue == .low && Color.unsetValue == Color.none && Flags.unsetValue == [])
        #expect(Coded<[Int]>.unsetValue.value == [] && Coded<[String: Int]>.unsetValue.value == [:])
        #expect(ManagedObjectID.unsetValue.isTemporaryID && URL.unsetValue.absoluteString == "about:blank")
    }

    @Test("ATT-3: a token describes its attribute by its Swift type")
    func tokenDescribesItsAttribute() throws {
        let model = try ManagedObjectModel {
            Entity("Book") {
                Attribute<String>("title")
                Attribute<Int?>("pages", type: .integer32, minimum: 1)
                Attribute<Priority>("priority", default: .high)
                Attribute<Double>("price", default: 1, indexed: true)
                Attribute("isbn", .string, optional: true, unique: true)
                ToMany<Book>("sequels", inverse: "prequel")
                ToOne<Book>("prequel", inverse: "sequels")
            }
        }
        let book = try model.entity(named: "Book")
        #expect(book.properties.map(\.description) == [
            "Book.title: string", "Book.pages: integer32?", "Book.priority: integer16", "Book.price: double", "Book.isbn: string?",
            "Book.sequels: to many Book", "Book.prequel: to one Book",
        ])
        #expect(book.propertiesByName["pages"]?.attribute?.minimum == 1)
        #expect(book.propertiesByName["priority"]?.defaultValue == 2)
        #expect(book.propertiesByName["price"]?.defaultValue == .double(1))
        #expect(book.uniquenessConstraints.map { $0.properties.map(\.name) } == [["isbn"]])
        #expect(book.fetchIndexes.map(\.name) == ["by_price"])
    }

    private struct Book {}
}
