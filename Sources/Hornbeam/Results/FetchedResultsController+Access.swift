public import Foundation
internal import HornbeamModel

extension FetchedResultsController {
    /// The object at a section and position: `[0, 3]`. A path outside the results is a programmer error (FRC-3).
    public func object(at path: IndexPath) -> Object {
        let sections = sections
        guard path.count == 2, sections.indices.contains(path[0]), path[1] >= 0, path[1] < sections[path[0]].count else {
            misuse("There is no result at the path \(Array(path)). Paths are a section and a position in it, as of the last change of the results.")
        }
        return sections[path[0]][path[1]]
    }

    /// The path of an object; nil if it is not a result (FRC-3). O(results).
    public func indexPath(for object: Object) -> IndexPath? {
        for (number, section) in sections.enumerated() {
            if let position = section.rows.position(of: object) { return [number, position] }
        }
        return nil
    }

    /// The index titles of the sections, each once (FRC-5).
    public var sectionIndexTitles: [String] {
        var titles: [String] = []
        var seen: Set<String> = []
        for title in sections.compactMap({ sectionIndexTitle($0.name) }) where seen.insert(title).inserted { titles.append(title) }
        return titles
    }

    /// The first section with an index title; nil if there is none (FRC-5).
    public func section(forIndexTitle title: String) -> Int? {
        sections.firstIndex { sectionIndexTitle($0.name) == title }
    }

    /// The names of the sections and the IDs of the results, as a `Sendable` value (FRC-13).
    public var snapshot: FetchedResultsSnapshot {
        FetchedResultsSnapshot(sections)
    }
}
