internal import Foundation

/// Results in an order of their sections, with the section of each.
struct PlacedResults<Object: ManagedObject> {
    private let all: [FetchedResultsSection<Object>]
    /// By section, the position of its first result.
    private var starts: [Int]
    /// The number of the section of each result.
    private(set) var sections: [Int] = []
    private(set) var identities: [UInt64] = []

    /// - Parameter order: The numbers of all sections in the order in which their results are placed.
    init(_ all: [FetchedResultsSection<Object>], order: [Int]) {
        self.all = all
        let count = all.reduce(0) { $0 + $1.count }
        starts = Array(repeating: 0, count: all.count)
        sections.reserveCapacity(count)
        identities.reserveCapacity(count)
        for number in order {
            starts[number] = sections.count
            identities += all[number].rows.identities
            sections += repeatElement(number, count: all[number].count)
        }
    }

    func object(_ position: Int) -> Object { all[sections[position]].rows.single(at: position - starts[sections[position]]) }

    func path(_ position: Int) -> IndexPath { [sections[position], position - starts[sections[position]]] }
}
