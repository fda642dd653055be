/// What a salvage saved from a damaged store, and what is lost.
public struct SalvageReport: Sendable, Hashable, CustomStringConvertible {
    /// A part of a store that could not be read.
    public struct Loss: Sendable, Hashable, CustomStringConvertible {
        /// The entity whose objects, or the index or relationship whose entries, were there.
        public var name: String
        /// How many were there.
        public var count: Int
        /// How many of them were found in pages that nothing led to; where this is not `count`, some of those may be older
        /// than the state, or may have been deleted.
        public var found: Int
        /// Of objects: the keys between which they had theirs, both ends included. A key is the number in an ID's URI.
        public var keys: ClosedRange<UInt64>?
        /// The damage that prevented reading, in words.
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

        /// The last part of a table has no end: its keys go up to the largest that there is.
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
    /// Values of saved objects that lay in pages of their own, could not be read and are null now.
    public var lostValues = 0
    /// References of saved objects to lost ones; they are null now.
    public var clearedReferences = 0
    /// Links of saved objects that nothing tells of any more.
    public var lostLinks = 0
    /// What is missing because not even the newest state could be opened, in words.
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
