/// Events that are made some at a time, without memory for all. Measures the time that making them takes.
final class EventSource: Sequence, IteratorProtocol {
    private var generator: EventGenerator
    private var made: ArraySlice<EventGenerator.Event> = []
    private let end: Int
    /// The number of the next event.
    private(set) var number: Int
    /// The seconds that were spent on making events.
    private(set) var seconds = 0.0
    /// The number of events until the sequence pauses: `next` then returns nil until this is set again.
    var bound = Int.max

    private static let madeAtOnce = 1_000

    init(_ count: Int, from first: Int = 0) {
        end = count == .max ? .max : first + count
        number = first
        generator = EventGenerator(count: end)
        generator.skip(to: first)
    }

    var rest: Int { end - number }

    func next() -> EventGenerator.Event? {
        guard bound > 0, number < end else { return nil }
        if made.isEmpty { seconds += timed { made = Array(generator.next(Self.madeAtOnce))[...] }.seconds }
        bound -= 1
        number += 1
        return made.popFirst()
    }
}
