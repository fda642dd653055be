// Which page files can go, which could be emptied, and which are kept for readers only.

import HornbeamThreads

extension SpaceAccount {
    /// Files of which nothing is live, and that nobody needs but states before `horizon`: neither a reader nor, as
    /// the caller knows, a catalogue (`needed`).
    func disposable(
        horizon: TransactionNumber, readers: [TransactionNumber], needed: Set<PageFileNumber>
    ) -> [PageFileNumber] {
        let (table, born) = tableAndBirths
        return table.entries.filter { number, entry in
            entry.emptySince <= horizon.rawValue && !needed.contains(number)
                && !SpaceAccount.isNeeded(from: born[number] ?? .zero, until: entry.emptySince, by: readers)
        }.map(\.key).sorted()
    }

    /// Files with live pages, those left out that a reader keeps whole: emptying them would win nothing.
    func cleanable(readers: [TransactionNumber]) throws(EngineError) -> [SpacePolicy.File] {
        let (table, born) = tableAndBirths
        return try files.files().compactMap { file in
            guard let entry = table.entries[file.number], entry.live > 0,
                !SpaceAccount.isNeeded(from: born[file.number] ?? .zero, until: .max, by: readers)
            else { return nil }
            return SpacePolicy.File(number: file.number, bytes: Int(file.bytes), live: Int(entry.live))
        }
    }

    /// Live bytes in some files.
    func liveBytes(in files: Set<PageFileNumber>) -> Int {
        table.entries.reduce(0) { $0 + (files.contains($1.key) ? Int(max($1.value.live, 0)) : 0) }
    }

    /// True if a reader is of a version after `from`, when the file got its pages, and before `until`.
    private static func isNeeded(from: TransactionNumber, until: UInt64, by readers: [TransactionNumber]) -> Bool {
        readers.contains { $0 > from && $0.rawValue < until }
    }

    /// Bytes of files in which nothing is live and which only readers keep.
    func pinnedBytes(readers: [TransactionNumber], horizon: TransactionNumber) throws(EngineError) -> Int {
        let (table, born) = tableAndBirths
        return try files.files().reduce(0) { sum, file in
            guard let entry = table.entries[file.number], entry.emptySince <= horizon.rawValue,
                SpaceAccount.isNeeded(from: born[file.number] ?? .zero, until: entry.emptySince, by: readers)
            else { return sum }
            return sum + Int(file.bytes)
        }
    }
}
