import Foundation

/// Model files of real apps, stored beside the package, with the content that an independent reader found in each.
enum CaseModels {
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "../shared/cases/models").standardizedFileURL

    /// One line of the index.
    struct Finding: Decodable, Sendable {
        struct Configuration: Decodable, Sendable {
            let name: String
            let members: [String]
        }
        struct EntityFinding: Decodable, Sendable {
            let parent: String?
            let abstract: Bool
            let allAttributes: Int
            let attributeTypes: [String: Int]
            let relationships: [String: Relationship]
            let unique: [[String]]
        }
        struct Relationship: Decodable, Sendable {
            let destination: String
            let count: String
            let inverse: String?
            let deleteRule: String
            let isOrdered: Bool

            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                destination = try list.decode(String.self)
                count = try list.decode(String.self)
                inverse = try list.decodeIfPresent(String.self)
                deleteRule = try list.decode(String.self)
                isOrdered = try list.decode(Bool.self)
            }
        }
        let model: String
        let entities: Int
        let attributes: Int
        let relationships: Int
        let fetchedProperties: Int
        let indexes: Int
        let uniquenessConstraints: Int
        let configurations: [Configuration]
        let cloudKit: Bool
        let versionIdentifier: String
        let entityDetails: [String: EntityFinding]
    }

    static let findings: [Finding] = {
        guard let text = try? String(contentsOf: folder.appending(path: "index.jsonl"), encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { try? JSONDecoder().decode(Finding.self, from: Data($0.utf8)) }
    }()

    static let lineCount: Int = {
        let text = (try? String(contentsOf: folder.appending(path: "index.jsonl"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").count
    }()
}
