/// Merges objects at new places, in order, into the results that keep their order.
struct ResultMerge<Object: ManagedObject> {
    private let old: OrderedResults<Object>
    /// The positions of the old results that keep their order.
    private let remaining: [Int]
    private let isBySection: Bool
    /// The number of remaining results that are merged.
    private var kept = 0
    private var objects: [Object] = []
    private var numbers: [Int32] = []
    private var names: SectionNames
    private(set) var keys: ResultKeys
    /// The inserted objects at their new positions, ascending.
    private(set) var arrivals: [ListDifference.Place<ObjectIdentifier>] = []

    init(_ old: OrderedResults<Object>, _ keys: consuming ResultKeys, _ remaining: [Int], arriving: Int, bySection: Bool) {
        self.old = old
        self.remaining = remaining
        isBySection = bySection
        names = SectionNames(bySection ? old.sections.map(\.name) : [])
        self.keys = keys
        self.keys.reserve(remaining.count + arriving)
        objects.reserveCapacity(remaining.count + arriving)
        arrivals.reserveCapacity(arriving)
    }

    /// Inserts an object that does not precede those inserted before.
    mutating func insert(_ object: Object, _ objectKeys: ObjectOrder.Keys, _ order: ObjectOrder, sectionName: String?) throws {
        let objects = old.objects
        keep(upTo: try keys.place(of: objectKeys, in: remaining, from: kept, order) { objects[$0] })
        arrivals.append(.init(position: self.objects.count, element: ObjectIdentifier(object)))
        self.objects.append(object)
        keys.append(objectKeys)
        if let sectionName { numbers.append(names.number(sectionName)) }
    }

    /// Appends the results after the last inserted object.
    mutating func keepRest() {
        keep(upTo: remaining.count)
        keys.endMerge()
    }

    private mutating func keep(upTo end: Int) {
        while kept < end {
            // Neighbours are copied together.
            var last = kept
            while last + 1 < end, remaining[last + 1] == remaining[last] + 1 { last += 1 }
            let run = remaining[kept] ... remaining[last]
            objects += old.objects[run]
            keys.keep(run)
            if isBySection { numbers += old.numbers[run] }
            kept = last + 1
        }
    }

    /// The merged results.
    func results() throws -> OrderedResults<Object> {
        isBySection ? OrderedResults(objects, numbers: numbers, names.all) : try OrderedResults(objects, by: nil)
    }
}
