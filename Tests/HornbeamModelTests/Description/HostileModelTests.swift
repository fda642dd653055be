import Foundation
import HornbeamModel
import Testing

/// Models come from untrusted files: none of them may end the process.
@Suite struct HostileModelTests {
    @Test("A damaged model is a model or an error, never a trap", arguments: [UInt64(1), 2, 3, 4])
    func damagedModelIsAnError(_ seed: UInt64) throws {
        let good = try ManagedObjectModel(ModelJSONTests.rich()).encoded()
        var random = Sequence64(state: seed)
        var refusals = 0
        for _ in 0..<400 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...3, using: &random) { damage(&bytes, &random) }
            do {
                _ = try ManagedObjectModel(decoding: bytes)
            } catch let error as HornbeamError {
                refusals += 1
                #expect(!error.message.isEmpty, "seed \(seed)")
            }
        }
        #expect(refusals > 100, "seed \(seed)")
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout Sequence64) {
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(contentsOf: Array("[{\"".utf8), at: place)
        case 3: bytes.removeSubrange(place..<min(place + 40, bytes.count))
        default:
            let other = Int.random(in: bytes.indices, using: &random)
            bytes.insert(contentsOf: bytes[other..<min(other + 60, bytes.count)], at: place)
        }
    }

    @Test("Deep nesting is an error")
    func deepNestingIsAnError() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let text = String(repeating: open, count: 100_000) + "1" + String(repeating: close, count: 100_000)
            #expect(throws: HornbeamError.self) { try ManagedObjectModel(json: Data(text.utf8)) }
        }
        let value = String(repeating: "[", count: 400) + String(repeating: "]", count: 400)
        let model = "{\"hornbeamModel\":1,\"entities\":[{\"name\":\"E\",\"attributes\":[{\"name\":\"a\",\"type\":\"string\",\"default\":\(value)}]}]}"
        #expect(throws: HornbeamError.self) { try ManagedObjectModel(json: Data(model.utf8)) }
    }

    @Test("Composites in composites are counted, not followed without end", .timeLimit(.minutes(20)), arguments: [(3000, 1), (40, 2)])
    func nestedCompositesAreBounded(count: Int, width: Int) {
        let composites = (0..<count).map { number in
            CompositeDescription("C\(number)", (0..<width).map { place in
                number + 1 == count
                    ? AttributeDescription("e\(place)", .integer64)
                    : AttributeDescription("e\(place)", .composite, composite: "C\(number + 1)")
            })
        }
        let entity = Entity("E", attributes: [AttributeDescription("a", .composite, composite: "C0")])
        #expect(throws: HornbeamError.self) { try ManagedObjectModel(ModelDefinition(entities: [entity], composites: composites)) }
    }

    @Test("A large model is checked in well under a second", .timeLimit(.minutes(20)))
    func largeModelIsCheckedQuickly() throws {
        let entities = (0..<500).map { number in
            Entity(
                "E\(number)", parent: number % 10 == 0 ? nil : "E\(number - 1)",
                attributes: (0..<20).map { AttributeDescription("a\(number)_\($0)", .string, optional: true) },
                relationships: [
                    RelationshipDescription("to\(number)", to: "E\((number + 1) % 500)", inverse: "from\((number + 1) % 500)"),
                    RelationshipDescription("from\(number)", to: "E\((number + 499) % 500)", inverse: "to\((number + 499) % 500)"),
                ])
        }
        var model: ManagedObjectModel?
        let time = try processorTime { model = try ManagedObjectModel(entities: entities) }
        #expect(model?.entities.count == 500)
        #expect(time < .seconds(5))
    }
}

/// Numbers derived from a seed.
struct Sequence64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
