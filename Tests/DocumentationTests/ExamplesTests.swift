import Testing

@testable import Examples

/// The lines of each example under `Sources/Examples`.
@Suite struct ExamplesTests {
    private static let expected = [
        "employee-directory": """
            Saved: true
            Saved again: false
            Found: Ada, Alan
            Compilers: Grace
            Engines: Ada, Alan
            Not saved: “Employee.name” has 0 characters and needs at least 1.
            Employees: 3
            """,
        "team-roster": """
            Number 7: Mia
            : Ann 0, Mia 1
            Goals of 9: 2
            Background saved: true
            : Ann 2
            """,
        "feed-import": """
            2 new, 0 changed, 0 unchanged, 0 deleted, 1 refused
            1 new, 0 changed, 1 unchanged, 1 deleted, 0 refused
            1 One 5
            4 Four 0
            1 One 5
            Has “one”: true
            After the reset: 0 feeds
            """,
        "media-shelf": """
            Emma, 474 pages
            Metropolis, 153 minutes
            Not saved: A medium needs a title.
            Edited: true
            Emma, 474 pages
            Metropolis, 153 minutes
            Old: Emma
            Opened again: 2 media
            """,
        "sensor-readings": """
            Known: 0
            Known: 3
            Marked: 1
            1: 0.5, stale
            2: 1.0
            3: 1.5
            Progress: 1.0
            Left: 2
            """,
    ]

    @Test @MainActor func everyExampleHasExpectedLines() { #expect(Set(Examples.all.map(\.name)) == Set(Self.expected.keys)) }

    @Test(arguments: expected.keys.sorted()) @MainActor func linesAreAsExpected(name: String) async throws {
        let example = try #require(Examples.all.first { $0.name == name })
        #expect(try await example.run().joined(separator: "\n") == Self.expected[name])
    }
}
