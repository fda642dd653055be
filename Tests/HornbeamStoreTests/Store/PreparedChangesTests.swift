import Foundation
import HornbeamModel
import Testing
@testable import HornbeamStore

/// The part of a save over several stores that one of them contains until the outcome is known. It is read from the store's file.
@Suite("Prepared changes")
struct PreparedChangesTests {
    private func changes(_ parts: [String: String]) throws -> ChangeSet {
        let members = ["inserts", "updates", "deletes", "links"].map { "\"\($0)\": [\(parts[$0] ?? "")]" }
        let identity = "\"decision\": \"\(UUID())\", \"decider\": \"\(UUID())\", \"deciderLocation\": \"x\""
        let prepared = try JSONDecoder().decode(PreparedChanges.self, from: Data("{\(([identity] + members).joined(separator: ", "))}".utf8))
        return try prepared.changeSet(for: Library().store)
    }

    @Test(
        "changes that no store can apply are damage",
        arguments: [
            ("inserts", #"{"entity": "Publication", "key": 1, "version": 0, "values": {}}"#),
            ("updates", #"{"entity": "Publication", "key": 1, "version": 1, "values": {}}"#),
            ("deletes", #"{"entity": "Publication", "key": 1, "version": 1, "values": {}}"#),
            ("updates", #"{"entity": "Book", "key": 1, "version": 1, "values": {"successor": {"object": {"_0": {"entity": "Publication", "key": 1}}}}}"#),
            ("links", #"{"entity": "Author", "relationship": "name", "owner": {"entity": "Author", "key": 1}, "added": [], "removed": []}"#),
            ("links", #"{"entity": "Author", "relationship": "friends", "owner": {"entity": "Publication", "key": 1}, "added": [], "removed": []}"#),
        ])
    func changesThatDoNotFit(_ part: String, _ json: String) throws {
        let error = #expect(throws: HornbeamError.self) { try changes([part: json]) }
        #expect(error?.code == .damaged)
    }

    @Test("a value of a property without a column is left out")
    func valuesWithoutColumn() throws {
        let found = try changes([
            "updates": #"{"entity": "Author", "key": 1, "version": 1, "values": {"friends": {"plain": {"_0": 1}}, "name": {"plain": {"_0": "Ada"}}}}"#
        ])
        #expect(found.updates.first?.values.map(\.0.name) == ["name"])
    }
}
