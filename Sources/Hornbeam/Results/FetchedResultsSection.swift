internal import HornbeamModel

/// A section: the results with one section name.
public struct FetchedResultsSection<Object: ManagedObject> {
    /// The value of the section's key path as text; empty for nil, and for the only section of a controller without a key path.
    public let name: String
    /// The rows of the section, in order.
    var rows: ResultRows<Object>

    /// The objects of the section, in order. For a request with a batch size, this creates all of them.
    public var objects: [Object] { rows.objects }
    /// The number of objects in the section.
    public var count: Int { rows.count }
    /// The object at a position. For a request with a batch size, this creates the objects of its batch only. A position outside the section is a
    /// programmer error.
    public subscript(position: Int) -> Object { rows[position] }
}

/// Results in the order of a fetch, with the section of each.
struct OrderedResults<Object: ManagedObject> {
    private(set) var objects: [Object]
    /// The results by section: objects with equal names in one section, in the order of their first objects (FRC-4).
    private(set) var sections: [FetchedResultsSection<Object>]
    /// The number of the section of each object; empty without a key path.
    private(set) var numbers: [Int32]

    /// Reads the section names of all objects.
    ///
    /// - Throws: `unknownKey` for a key path that the objects do not have.
    init(_ objects: [Object], by keyPath: String?) throws {
        guard let keyPath else {
            self.init(objects: objects, sections: objects.isEmpty ? [] : [FetchedResultsSection(name: "", rows: .objects(objects))], numbers: [])
            return
        }
        var names = SectionNames()
        self.init(objects, numbers: try objects.map { names.number(try $0.sectionName(forKeyPath: keyPath)) }, names.all)
    }

    /// - Parameters:
    ///   - numbers: For each object, the index of its section's name.
    ///   - names: The names; some may be unused.
    init(_ objects: [Object], numbers: [Int32], _ names: [String]) {
        var sections: [(name: String, objects: [Object])] = []
        var places = [Int32](repeating: -1, count: names.count)
        var renumbered = numbers
        var start = 0
        while start < objects.count {
            let number = Int(numbers[start])
            var end = start + 1
            while end < objects.count, numbers[end] == numbers[start] { end += 1 }
            if places[number] < 0 {
                places[number] = Int32(sections.count)
                sections.append((names[number], []))
            }
            sections[Int(places[number])].objects += objects[start ..< end]
            for position in start ..< end { renumbered[position] = places[number] }
            start = end
        }
        let finished = sections.map { FetchedResultsSection(name: $0.name, rows: .objects($0.objects)) }
        self.init(objects: objects, sections: finished, numbers: renumbered)
    }

    /// Results whose sections follow one another, with the names and sizes of the sections.
    init?(_ objects: [Object], sections: [(name: String, count: Int)]) {
        guard sections.allSatisfy({ $0.count > 0 }), sections.reduce(0, { $0 + $1.count }) == objects.count else { return nil }
        let numbers = sections.enumerated().flatMap { Array(repeating: Int32($0.offset), count: $0.element.count) }
        self.init(objects, numbers: numbers, sections.map(\.name))
        guard self.sections.count == sections.count else { return nil }
    }

    private init(objects: [Object], sections: [FetchedResultsSection<Object>], numbers: [Int32]) {
        self.objects = objects
        self.sections = sections
        self.numbers = numbers
    }

    /// True if the objects of each section follow one another in the order of the fetch.
    var isGrouped: Bool {
        var count = 0
        for position in numbers.indices where position == 0 || numbers[position] != numbers[position - 1] { count += 1 }
        return count == sections.count
    }
}

/// Numbers for the names of sections.
struct SectionNames {
    private(set) var all: [String] = []
    private var numbers: [String: Int32] = [:]
    /// The last result of `number`.
    private var last: Int32 = -1

    init() {}

    init(_ names: [String]) { for name in names { _ = number(name) } }

    mutating func number(_ name: String) -> Int32 {
        // Neighbouring objects usually have one name.
        if last >= 0, all[Int(last)] == name { return last }
        if let number = numbers[name] {
            last = number
        } else {
            last = Int32(all.count)
            numbers[name] = last
            all.append(name)
        }
        return last
    }
}

extension ManagedObject {
    /// The name of the object's section.
    final func sectionName(forKeyPath keyPath: String) throws -> String {
        try value(forKeyPath: keyPath).sectionName
    }
}

extension PropertyValue {
    /// The name of the section of objects with this value.
    var sectionName: String {
        switch self {
        case .null: ""
        case .string(let text): text
        case .int(let number): "\(number)"
        case .bool(let truth): truth ? "1" : "0"
        default: description
        }
    }
}
