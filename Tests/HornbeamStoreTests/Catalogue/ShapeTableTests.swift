import HornbeamModel
import Testing
@testable import HornbeamStore

/// Objects that a store keeps for request shapes.
@Suite struct ShapeTableTests {
    private final class Kept: Sendable {}

    /// The shapes of requests that differ in their limits.
    private static func shapes(_ limits: Range<Int>) throws -> [RequestShape] {
        let model = try ManagedObjectModel(entities: [Entity("Book", attributes: [AttributeDescription("title", .string, optional: true)])])
        let shapes = RequestShapes()
        return try limits.map { limit in
            var request = FetchDescription(entityName: "Book")
            request.fetchLimit = limit
            return try #require(try ValidatedFetch(request, in: model, shapes).shape)
        }
    }

    @Test func objectsOfAllShapesAreFound() throws {
        let table = ShapeTable()
        let shapes = try Self.shapes(0..<RequestShapes.countMax)
        var kept: [(RequestShape, isCounting: Bool, Kept)] = []
        for shape in shapes { for isCounting in [false, true] { kept.append((shape, isCounting, Kept())) } }
        for (shape, isCounting, object) in kept { table.keep(object, for: shape, isCounting: isCounting) }
        for (shape, isCounting, object) in kept { #expect(table.object(for: shape, isCounting: isCounting) === object) }
    }

    @Test func theOldestObjectIsRemovedFirst() throws {
        let table = ShapeTable()
        let shapes = try Self.shapes(0..<ShapeTable.countMax + 1)
        let object = Kept()
        for shape in shapes { table.keep(object, for: shape, isCounting: false) }
        #expect(table.object(for: shapes[0], isCounting: false) == nil)
        for shape in shapes.dropFirst() { #expect(table.object(for: shape, isCounting: false) === object) }
        #expect(table.object(for: shapes[1], isCounting: true) == nil)
    }
}
