import Foundation

/// The command `hornbeam-examples`: runs the examples with the names in its arguments, or all.
@main @MainActor enum Examples {
    /// The examples by name. Each returns the lines that it prints.
    static let all: [(name: String, run: @MainActor () async throws -> [String])] = [
        ("employee-directory", EmployeeDirectory.run), ("team-roster", TeamRoster.run), ("feed-import", FeedImport.run),
        ("media-shelf", MediaShelf.run), ("sensor-readings", SensorReadings.run),
    ]

    static func main() async throws {
        let names = CommandLine.arguments.dropFirst()
        if let unknown = names.first(where: { name in !all.contains { $0.name == name } }) {
            FileHandle.standardError.write(Data("There is no example “\(unknown)”. Examples: \(all.map(\.name).joined(separator: ", "))\n".utf8))
            exit(2)
        }
        for (name, run) in all where names.isEmpty || names.contains(name) {
            print("# \(name)")
            for line in try await run() { print(line) }
        }
    }
}
