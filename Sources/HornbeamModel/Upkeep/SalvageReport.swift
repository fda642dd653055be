/// The result of a salvage: the saved and the lost parts of a damaged store.
public struct SalvageReport: Sendable, Hashable, CustomStringConvertible {
    /// A part of a store that could not be read.
    public struct Loss: Sendable, Hashable, CustomStringConvertible {
        /// The entity of the lost objects, or the index or relationship of the lost entries.
        public var name: String
        /// The number of lost objects or entries.
        public var count: Int
        /// The number of these objects or entries that were found in pages outside the trees. If it is less than `count`, some of the
        /// found ones may be older than the newest state, or deleted in it.
        public var found: Int
        /// For objects: the range of their keys, both ends included. A key is the number in an ID's URI.
        public var keys: ClosedRange<UInt64>?
        /// A description of the damage.
        public var reason: String

        /// The loss of a number of objects or entries.
        public init(name: String, count: Int, found: Int = 0, keys: ClosedRange<UInt64>? = nil, reason: String) {
            self.name = name
            self.count = count
            self.found = found
            self.keys = keys
            self.reason = reason
        }

        public var description: String {
            let place = keys.map(Self.describe) ?? ""
            let rest = found == 0 ? "" : found == count ? ", all found elsewhere" : ", \(found) found elsewhere that may be older"
            return "\(name): \(count)\(place)\(rest). \(reason)"
        }

        /// An upper bound of `UInt64.max` means that the part is the last one of its table and has no known end.
        private static func describe(_ keys: ClosedRange<UInt64>) -> String {
            guard keys.upperBound < .max else { return keys.lowerBound == 0 ? "" : " with keys from \(keys.lowerBound) on" }
            return " with keys from \(keys.lowerBound) to \(keys.upperBound)"
        }
    }

    /// Objects saved, by entity.
    public var objects: [String: Int] = [:]
    /// Members of to-many relationships saved.
    public var links = 0
    /// Objects that could not be read.
    public var losses: [Loss] = []
    /// Lost large values of saved objects. They are null now.
    public var lostValues = 0
    /// References of saved objects to lost ones; they are null now.
    public var clearedReferences = 0
    /// Lost links between saved objects.
    public var lostLinks = 0
    /// Describes the commits that are missing because the newest state could not be opened.
    public var openingLoss: String?

    /// An empty report.
    public init() {}

    /// The number of objects saved, over all entities.
    public var savedObjects: Int { objects.values.reduce(0, +) }
    /// The number of objects that were neither read nor found elsewhere.
    public var lostObjects: Int { losses.reduce(0) { $0 + max($1.count - $1.found, 0) } }

    /// True when everything was saved.
    public var isComplete: Bool {
        losses.allSatisfy { $0.found == $0.count } && lostValues == 0 && lostLinks == 0 && openingLoss == nil
    }

    public var description: String {
        var lines = ["\(savedObjects) objects and \(links) links saved, \(isComplete ? "nothing" : "\(lostObjects) objects") lost"]
        if let openingLoss { lines.append(openingLoss) }
        lines += losses.map(\.description)
        if lostValues > 0 { lines.append("\(lostValues) large values of saved objects could not be read and are null.") }
        if clearedReferences > 0 { lines.append("\(clearedReferences) references to lost objects are null.") }
        if lostLinks > 0 { lines.append("\(lostLinks) links of relationships are lost.") }
        return lines.joined(separator: "\n  ")
    }
}
