/// A contestant with events: a table with a unique index on `uid`. Each call is a whole loop.
protocol EventReader: AnyObject {
    static var contestant: Contestant { get }

    /// - Parameter poolBytes: The memory for pages that the store may use, if it has such a setting.
    init(path: String, poolBytes: Int) throws
    /// Inserts all events in one transaction, durable at the end. The n-th event gets key n + 1.
    func load(_ events: [EventGenerator.Event]) throws
    /// Reads latitude and name of events by uid; returns the sum of `eventDigest`.
    func get(uids: [String]) throws -> UInt64
    /// Makes what the store calls the keys, before the measurement, because the other contestants receive their keys too.
    func prepare(keys: [UInt64]) throws
    /// Reads latitude and name of events by key; returns the sum of `eventDigest`.
    func get(keys: [UInt64]) throws -> UInt64
    /// Counts events with longitude > 37.
    func countEast() throws -> UInt64
    /// Reads latitude and name of all events with longitude > 37.
    func readEast() throws -> UInt64
    /// Like `readEast`, but reads the name in place, without a copy, if the store supports that.
    func borrowEast() throws -> UInt64
    /// Counts events with magnitude > 5 and a name that ends in "7".
    func countSevens() throws -> UInt64
    /// The sum of the 20 smallest longitudes; nil if the store has no query layer to sort with.
    func firstByLongitude() throws -> UInt64?
    /// Commits one new event durably.
    func insertOne(_ event: EventGenerator.Event) throws
    /// A reader of the same store for another thread.
    func reader() throws -> any EventReader
    /// Closes the result of `reader`, if it is not this store itself.
    func closeReader() throws
    func close() throws
}

extension EventReader {
    init(path: String) throws { try self.init(path: path, poolBytes: 1 << 30) }

    func prepare(keys: [UInt64]) throws {}
    func borrowEast() throws -> UInt64 { try readEast() }
    func reader() throws -> any EventReader { self }
    func closeReader() throws {}
}

/// A contestant that also changes many events in one call.
protocol EventContestant: EventReader {
    /// Adds 1 to the magnitude of all events with longitude > 37, durably; returns their number.
    func updateEast() throws -> UInt64
    /// Deletes all events with longitude > 37, durably; returns their number.
    func deleteEast() throws -> UInt64
}

/// The value that a loop computes from two attributes, so that it must read both.
@inline(__always)
func eventDigest(_ latitude: Double, _ name: UnsafeRawBufferPointer) -> UInt64 {
    latitude.bitPattern &+ UInt64(name.count) &+ UInt64(name.last ?? 0)
}

/// One thread inserts single events while another counts events. Returns the inserts and the counts per second.
func savesBesideCounts(
    _ store: any EventReader, _ fresh: ArraySlice<EventGenerator.Event>, seconds: Double
) throws -> (saves: Double, counts: Double) {
    let start = now()
    let end = start + seconds
    let reader = try store.reader()
    // The counts of both threads in one number: saves below, scans above.
    let sum = try onThreads(2) { thread in
        var done: UInt64 = 0
        while now() < end {
            if thread == 0 {
                guard done < UInt64(fresh.count) else { throw BenchmarkError("The writer ran out of events.") }
                try store.insertOne(fresh[fresh.startIndex + Int(done)])
            } else {
                _ = try reader.countEast()
            }
            done += 1
        }
        return thread == 0 ? done : done << 32
    }
    let taken = now() - start
    if reader !== store { try reader.closeReader() }
    return (Double(sum & 0xFFFF_FFFF) / taken, Double(sum >> 32) / taken)
}
