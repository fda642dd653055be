// Finds the page files that can be removed, the files that the cleaner may empty, and the files that only readers need.

import HornbeamThreads

extension SpaceAccount {
    /// Files without live bytes that only versions before `horizon` contain. Omits files that one of the `readers` needs, and the files in
    /// `needed`.
    func unneededFiles(
        horizon: TransactionNumber, readers: [TransactionNumber], needed: Set<PageFileNumber>
    ) -> [PageFileNumber] {
        let (table, born) = tableAndBirths
        return table.entries.filter { number, entry in
            entry.emptySince <= horizon.rawValue && !needed.contains(number)
                && !SpaceAccount.isNeeded(from: born[number] ?? .zero, until: entry.emptySince, by: readers)
        }.map(\.key).sorted()
    }

    /// Files with live pages. Omits files that a reader needs: the cleaner could not remove them.
    func cleanable(readers: [TransactionNumber]) throws(EngineError) -> [SpacePolicy.File] {
        let (table, born) = tableAndBirths
        return try files.files().compactMap { file in
            guard let entry = table.entries[file.number], entry.live > 0,
                !SpaceAccount.isNeeded(from: born[file.number] ?? .zero, until: .max, by: readers)
            else { return nil }
            return SpacePolicy.File(number: file.number, bytes: Int(file.bytes), live: Int(entry.live))
        }
    }

    /// The same as after a checkpoint of the newest version, without the pages that it will write, and the bytes of the replaced pages. They are about
    /// the bytes that it will write.
    func cleanableAfterCheckpoint(readers: [TransactionNumber]) throws(EngineError) -> (files: [SpacePolicy.File], replaced: Int) {
        let (replaced, sum) = replacedBytes
        let files = try cleanable(readers: readers).compactMap { file -> SpacePolicy.File? in
            var file = file
            file.live -= replaced[file.number] ?? 0
            return file.live > 0 ? file : nil
        }
        return (files, sum)
    }

    /// Live bytes in the given files.
    func liveBytes(in files: Set<PageFileNumber>) -> Int {
        table.entries.reduce(0) { $0 + (files.contains($1.key) ? Int(max($1.value.live, 0)) : 0) }
    }

    /// True if a reader's version is between `from`, after which the file was created, and `until`, from which on no version needs it.
    private static func isNeeded(from: TransactionNumber, until: UInt64, by readers: [TransactionNumber]) -> Bool {
        readers.contains { $0 > from && $0.rawValue < until }
    }

    /// The size of all files without live bytes that exist only because readers need them.
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
