internal import HornbeamModel
internal import HornbeamStore

/// The shape of a request that a context has executed, with the direct fetches of the shape in the context's snapshot.
final class RecentFetch {
    private enum Direct<Fetch> {
        private static var triesMax: Int { 2 }
        /// The number of times that none was found. The first execution of a shape in the general path may keep a plan.
        case missing(times: Int)
        case made(Fetch)

        static var unknown: Direct { .missing(times: 0) }

        mutating func find(_ make: () throws -> Fetch?) rethrows -> Fetch? {
            switch self {
            case .made(let fetch): return fetch
            case .missing(let times):
                if times == Self.triesMax { return nil }
                let made = try make()
                self = made.map { .made($0) } ?? .missing(times: times + 1)
                return made
            }
        }
    }

    let shape: RequestShape
    /// The rare settings of the last request of the shape, of which a program often makes copies.
    private var rareSettings: RareFetchSettings?
    /// True if a fetch returns faults without further work.
    let returnsPlainFaults: Bool
    private var fetch = Direct<DirectFetch>.unknown
    private var count = Direct<DirectFetch>.unknown
    private var dictionaries = Direct<DirectDictionaries>.unknown

    init(_ shape: RequestShape, _ request: FetchDescription) {
        self.shape = shape
        rareSettings = request.rare
        returnsPlainFaults = request.resultType == .objects && request.returnsObjectsAsFaults && request.includesPropertyValues
            && !request.shouldRefreshRefetchedObjects
    }

    /// True for a request of the shape. Remembers its rare settings.
    func matches(_ request: FetchDescription) -> Bool {
        guard shape.isShape(of: request, known: rareSettings) else { return false }
        rareSettings = request.rare
        return true
    }

    /// The direct fetch of the shape in a snapshot, which must be the one of the calls before; nil if there is none.
    func directFetch(in snapshot: StackSnapshot, counting: Bool) throws -> DirectFetch? {
        if counting { return try count.find { try snapshot.directFetch(of: shape, counting: true) } }
        return try fetch.find { try snapshot.directFetch(of: shape, counting: false) }
    }

    /// Likewise for a request of the shape with dictionaries as results.
    func directDictionaries(of request: FetchDescription, in snapshot: StackSnapshot) throws -> DirectDictionaries? {
        guard request.resultType == .dictionaries else { return nil }
        return try dictionaries.find { try snapshot.directDictionaries(of: ValidatedFetch(request, of: shape)) }
    }

    /// Called when a request must be planned again, and when the context switches to another snapshot.
    func forgetDirectFetches() {
        fetch = .unknown
        count = .unknown
        dictionaries = .unknown
    }
}

/// The last fetches of a context. A request of one of their shapes needs no validation, no hash and no lock.
struct RecentFetches {
    private static let countMax = 8
    /// Those that were found often are at the beginning.
    private var fetches: [RecentFetch] = []

    /// The fetch with the shape of a request; nil if it is not among the last ones.
    mutating func find(_ request: FetchDescription) -> RecentFetch? {
        for place in fetches.indices where fetches[place].matches(request) {
            let found = fetches[place]
            if place > 0 { fetches.swapAt(place, place - 1) }
            return found
        }
        return nil
    }

    mutating func add(_ shape: RequestShape, _ request: FetchDescription) {
        if fetches.count == Self.countMax { fetches.removeLast() }
        fetches.append(RecentFetch(shape, request))
    }

    /// Called when the context switches to another snapshot.
    func forgetDirectFetches() {
        for fetch in fetches { fetch.forgetDirectFetches() }
    }
}
