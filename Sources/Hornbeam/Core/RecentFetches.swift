internal import HornbeamModel
internal import HornbeamStore

/// The shape of a request that a context has executed, with the direct fetches of the shape in the context's snapshot.
final class RecentFetch {
    private enum Direct {
        /// The number of times that none was found. The first execution of a shape in the general path may keep a plan.
        case missing(times: Int)
        case made(DirectFetch)

        static var unknown: Direct { .missing(times: 0) }
        static let triesMax = 2
    }

    let shape: RequestShape
    /// True if a fetch returns faults without further work.
    let returnsPlainFaults: Bool
    private var fetch = Direct.unknown
    private var count = Direct.unknown

    init(_ shape: RequestShape, _ request: FetchDescription) {
        self.shape = shape
        returnsPlainFaults = request.resultType == .objects && request.returnsObjectsAsFaults && request.includesPropertyValues
            && !request.shouldRefreshRefetchedObjects
    }

    /// The direct fetch of the shape in a snapshot, which must be the one of the calls before; nil if there is none.
    func directFetch(in snapshot: StackSnapshot, counting: Bool) throws -> DirectFetch? {
        switch counting ? count : fetch {
        case .made(let direct): return direct
        case .missing(let times):
            if times == Direct.triesMax { return nil }
            let made = try snapshot.directFetch(of: shape, counting: counting)
            set(made.map { .made($0) } ?? .missing(times: times + 1), counting: counting)
            return made
        }
    }

    /// Called when a request must be planned again, and when the context switches to another snapshot.
    func forgetDirectFetches() {
        fetch = .unknown
        count = .unknown
    }

    private func set(_ direct: Direct, counting: Bool) {
        if counting { count = direct } else { fetch = direct }
    }
}

/// The last fetches of a context. A request of one of their shapes needs no validation, no hash and no lock.
struct RecentFetches {
    private static let countMax = 8
    /// Those that were found often are at the beginning.
    private var fetches: [RecentFetch] = []

    /// The fetch with the shape of a request; nil if it is not among the last ones.
    mutating func find(_ request: FetchDescription) -> RecentFetch? {
        for place in fetches.indices where fetches[place].shape.isShape(of: request) {
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
