/// Matches the parts of two versions of a model by renaming identifier and by name (MOD-13).
struct RenameMatch {
    /// The name of a part and its identifier in older versions.
    struct Part {
        var name: String
        var identifier: String?
    }

    /// For each new part, the index of the old part; nil for a part without a predecessor.
    private(set) var matches: [Int?]
    /// New parts whose predecessor was already matched with another part: the indexes of the new and the old part.
    private(set) var duplicates: [(new: Int, old: Int)] = []
    private var assignedOld: Set<Int> = []

    init(old: [Part], new: [Part]) {
        matches = [Int?](repeating: nil, count: new.count)
        for (index, part) in new.enumerated() {
            guard let identifier = part.identifier else { continue }
            assign(old.firstIndex { $0.identifier == identifier } ?? old.firstIndex { $0.name == identifier }, for: index)
        }
        for (index, part) in new.enumerated() where matches[index] == nil {
            assignIfFree(old.firstIndex { $0.name == part.name }, for: index)
        }
        for (index, part) in new.enumerated() where matches[index] == nil && part.identifier == nil {
            assignIfFree(old.firstIndex { $0.identifier == part.name }, for: index)
        }
    }

    private mutating func assign(_ old: Int?, for new: Int) {
        guard let old else { return }
        if assignedOld.insert(old).inserted { matches[new] = old } else { duplicates.append((new, old)) }
    }

    private mutating func assignIfFree(_ old: Int?, for new: Int) {
        guard let old, assignedOld.insert(old).inserted else { return }
        matches[new] = old
    }

    /// The old parts that have no successor.
    func removed(of count: Int) -> [Int] { (0 ..< count).filter { !assignedOld.contains($0) } }
}

extension PropertyDescription {
    /// The declared renaming identifier; nil if none is declared.
    var declaredIdentifier: String? {
        switch kind {
        case .attribute(let attribute): attribute.renamingIdentifier
        case .relationship(let relationship): relationship.renamingIdentifier
        }
    }
}
