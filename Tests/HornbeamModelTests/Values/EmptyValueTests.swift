import Foundation
import Testing

@testable import HornbeamModel

/// The empty values that getters of coded attributes return.
@Suite struct EmptyValueTests {
    struct Size: Codable, Sendable, Equatable {
        var width: Double
        var unit: String
        var note: String?
        var parts: [Int]
        var names: [String: Int]
        var made: Date
        var page: URL
        var id: UUID
        var price: Decimal
        var image: Data
    }

    enum Colour: String, Codable, CaseIterable, Sendable { case red, green }
    enum Shape: Codable, Sendable { case circle(Double) }
    struct Nested: Codable, Sendable, Equatable {
        var colour: Colour
        var sizes: [Size]
        var inner: Inner
        struct Inner: Codable, Sendable, Equatable { var depth: Int }
    }

    struct Vector: Codable, Sendable, Equatable {
        var x: Double
        var y: Double
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            x = try list.decode(Double.self)
            y = try list.decode(Double.self)
        }
    }

    struct Endless: Codable, Sendable {
        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            while true { _ = try list.decode(Int.self) }
        }
    }

    final class Chain: Codable, Sendable {
        let next: Chain
    }

    @Test func plainTypesAreZeroOrEmpty() {
        #expect(Coded<Int>.unsetValue.value == 0 && Coded<String>.unsetValue.value == "" && !Coded<Bool>.unsetValue.value)
        #expect(Coded<[String]>.unsetValue.value.isEmpty && Coded<[String: Int]>.unsetValue.value.isEmpty)
        #expect(Coded<Int?>.unsetValue.value == nil && Coded<Set<Int>>.unsetValue.value.isEmpty)
    }

    @Test func structsHaveEmptyMembers() {
        let size = Coded<Size>.unsetValue.value
        #expect(size.width == 0 && size.unit == "" && size.note == nil && size.parts == [] && size.names == [:])
        #expect(size.made == Date(timeIntervalSinceReferenceDate: 0) && size.price == 0 && size.image == Data())
        #expect(size.id == UUID.unsetValue && size.page == URL.unsetValue)
        let nested = Coded<Nested>.unsetValue.value
        #expect(nested.colour == .red && nested.sizes == [] && nested.inner.depth == 0)
        #expect(Coded<Vector>.unsetValue.value.x == 0)
    }

    @Test func typesThatAcceptNoZerosHaveNone() {
        #expect(!Coded<Shape>.hasUnsetValue && !Coded<Endless>.hasUnsetValue && !Coded<Chain>.hasUnsetValue)
        #expect(Coded<Size>.hasUnsetValue && Coded<Shape?>.hasUnsetValue)
    }
}
