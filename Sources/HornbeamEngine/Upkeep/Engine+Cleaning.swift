// The cleaner: moves live pages out of page files with many dead bytes, so that the files can be removed.
//
// A round empties a set of files in one walk over all trees. The walk has slices. A slice is a transaction that copies a dozen nodes into
// memory, so that other writers wait only for some tenths of a millisecond. After some slices, a checkpoint writes the nodes. An unfinished
// round continues after the next checkpoint. Files with unreadable pages are not changed. Most rounds run just before a checkpoint that is due
// anyway, so that they need no checkpoint of their own.

import HornbeamThreads

extension Engine {
    /// Called before a checkpoint for which no thread waits: moves pages out of the files that the policy will demand to empty, so that this checkpoint
    /// writes them. Each further checkpoint would write pages again that commits change meanwhile.
    func reclaimSpaceBeforeCheckpoint() throws(EngineError) {
        guard !isShortOfSpace, !core.isTurnRequested, cleaner.begin() else { return }
        defer { cleaner.end(isUnfinished: false) }
        if cleaner.round == nil {
            let excludedFiles = cleaner.excludedFiles
            let (files, replaced) = try core.space.cleanableAfterCheckpoint(readers: readersBeforePreviousCheckpoint)
            let victims = core.space.policy.victims(
                among: files.filter { !excludedFiles.contains($0.number) }, budget: cleaningBudget, unwritten: replaced)
            if victims.isEmpty { return }
            cleaner.round = try makeRound(victims)
        }
        if let round = cleaner.round { _ = try run(round, nodes: nodesPerCheckpoint) }
    }

    /// The live bytes that may be moved for one checkpoint: proportional to the size of the store.
    private var cleaningBudget: Int {
        let live = core.space.table.liveBytes
        assert(live >= 0, "Live bytes are a count.")
        return max(live / 4, 2 * core.space.policy.fileSizeLimit(live: live))
    }

    /// Called after a checkpoint: empties files as the policy demands, within a budget proportional to the size of the store. Then writes another
    /// checkpoint if only the preceding one still needs many files. The checkpoints of a round write to one file, so that merged files become one.
    /// `isAwaited`, `isThrottled`: as for `checkpoint`.
    func reclaimSpace(_ log: LogWriter, isAwaited: Bool = false, isThrottled: Bool = false) throws(EngineError) {
        guard cleaner.begin() else { return }
        var isUnfinished = false
        defer { cleaner.end(isUnfinished: isUnfinished) }
        var budget = cleaningBudget
        while !isShortOfSpace, !core.isTurnRequested {
            let continuesFile = cleaner.round != nil
            guard let round = try nextRound(budget: max(budget, 0)) else { break }
            guard budget > 0 else {
                isUnfinished = true
                break
            }
            let moved = try run(round, nodes: nodesPerCheckpoint)
            assert(moved >= 0, "A round moves nodes.")
            budget -= (moved + 1) * core.pool.pageSize / 2
            try checkpointer.run(log: log, isAwaited: isAwaited, isThrottled: isThrottled, continuesFile: continuesFile)
        }
        if isShortOfSpace { try reclaimSpaceOnFullDisk(log) }
        let kept = try checkpointer.bytesNeededOnlyByPrevious()
        if core.space.policy.isFollowUpDue(kept: kept, live: core.space.table.liveBytes) {
            try checkpointer.run(log: log, isForced: true, isAwaited: isAwaited, isThrottled: isThrottled)
        }
    }

    /// Empties files on a full disk, if their live bytes need at most a quarter of the free space. The copies need space until the second next
    /// checkpoint, and deletes need the rest. Runs one round only: files with checkpoints' own records would be sparse again at once.
    private func reclaimSpaceOnFullDisk(_ log: LogWriter) throws(EngineError) {
        let room = core.files.fileSystem.availableBytes(path) ?? .max
        guard room >= options.reserveSize / 2 else { return }
        guard let round = try nextRound(budget: room / 4, isDiskFull: true), core.space.liveBytes(in: round.files) <= room / 4 else { return }
        _ = try run(round, nodes: nodesPerCheckpoint)
        try checkpointer.run(log: log)
    }

    /// Empties all existing page files.
    func emptyAllFiles(_ log: LogWriter, _ progress: ProgressReport?) throws(EngineError) {
        cleaner.beginAfterOthers()
        defer { cleaner.end(isUnfinished: false) }
        let files = try core.space.cleanable(readers: [])
        guard !files.isEmpty else { return }
        let round = try makeRound(files)
        cleaner.round = round
        var continuesFile = false
        while let round = cleaner.round {
            _ = try run(round, nodes: nodesPerCheckpoint)
            try checkpointer.run(log: log, continuesFile: continuesFile)
            continuesFile = true
            let left = core.space.liveBytes(in: round.files)
            try progress?(WorkProgress(part: "moving pages", done: round.live - min(left, round.live), total: round.live))
        }
        if cleaner.excludedFiles.isDisjoint(with: round.files) { return }
        throw EngineError(
            .damaged, "Not all pages can be read, so the store cannot be compacted. Run a check, and salvage the readable objects.",
            path: path)
    }

    /// The number of nodes to move between two checkpoints: an eighth of the buffer pool.
    private var nodesPerCheckpoint: Int { max(core.pool.capacity / 8, 8) }

    /// The current round, or a new one if the policy demands it.
    private func nextRound(budget: Int, isDiskFull: Bool = false) throws(EngineError) -> Cleaner.Round? {
        if let round = cleaner.round { return round }
        let excludedFiles = cleaner.excludedFiles
        let files = try core.space.cleanable(readers: readersBeforePreviousCheckpoint).filter {
            !excludedFiles.contains($0.number) && (!isDiskFull || $0.live <= budget)
        }
        let victims = core.space.policy.victims(among: files, budget: budget, isDiskFull: isDiskFull)
        guard !victims.isEmpty else { return nil }
        let round = try makeRound(victims)
        cleaner.round = round
        return round
    }

    func makeRound(_ victims: [SpacePolicy.File]) throws(EngineError) -> Cleaner.Round {
        var hasBlobs = false
        for file in victims { if try core.files.mayContainBlobs(file.number) { hasBlobs = true } }
        assert(!victims.isEmpty && victims.allSatisfy { $0.live >= 0 }, "A round empties files.")
        return Cleaner.Round(
            files: Set(victims.map(\.number)), hasBlobs: hasBlobs, live: victims.reduce(0) { $0 + $1.live })
    }

    /// The live versions that are older than the preceding checkpoint.
    var readersBeforePreviousCheckpoint: [TransactionNumber] {
        let horizon = checkpointer.previousTransaction
        return core.registry.live.filter { $0 < horizon }
    }

    /// Moves about `nodes` nodes and returns their number. The round ends after the last tree, and at a damaged page.
    func run(_ round: Cleaner.Round, nodes: Int) throws(EngineError) -> Int {
        assert(nodes > 0 && !round.files.isEmpty, "A round moves nodes out of files.")
        var round = round
        var moved = 0
        do throws(EngineError) {
            while moved < nodes {
                guard let tree = try nextTree(from: round.tree) else {
                    cleaner.round = nil
                    return moved
                }
                if tree != round.tree { (round.tree, round.key) = (tree, []) }
                moved += try moveSlice(&round)
                cleaner.round = round
            }
        } catch {
            guard error.isUnreadable else { throw error }
            cleaner.abandonRound()
        }
        return moved
    }

    private func nextTree(from id: TreeID) throws(EngineError) -> TreeID? {
        try snapshot(isPinned: true).version.trees.first { $0.id >= id }?.id
    }

    /// Moves one slice in a transaction, and records the tree and the key at which the round continues.
    private func moveSlice(_ round: inout Cleaner.Round) throws(EngineError) -> Int {
        var moves = PageMoves(from: round.files, hasBlobs: round.hasBlobs, nodes: Cleaner.nodesPerSlice)
        let transaction = try beginInTurn()
        defer { transaction.abort() }
        assert(transaction.ended.isEmpty, "A slice is a transaction of its own.")
        if transaction.hasTree(round.tree) { try transaction.move(round.tree, &moves, from: round.key) }
        if let next = moves.next { round.key = next } else { (round.tree, round.key) = (round.tree.next, []) }
        if moves.moved > 0 { _ = try transaction.commit(.lazy(maxDelay: .seconds(1)), isUpkeep: true) }
        return moves.moved
    }

    func moveBlob(_ blob: PageReference, outOf files: Set<PageFileNumber>) throws(EngineError) -> PageReference {
        try core.files.copyBlob(blob, to: core.blobs, version: latest) { files.contains($0) }
    }
}

extension PageFiles {
    /// False if the file's first record is a tree page: a file contains either tree pages or blobs.
    func mayContainBlobs(_ number: PageFileNumber) throws(EngineError) -> Bool {
        let file: any File
        do throws(EngineError) { file = try handle(number).file } catch {
            // The file may have been removed meanwhile.
            guard error.code == .damaged else { throw error }
            return true
        }
        return unsafe try withUnsafeTemporaryAllocation(byteCount: PageHeader.bytes, alignment: 8) { buffer throws(EngineError) in
            // A file that cannot be read is treated like one with blobs; its pages are found damaged.
            guard let count = unsafe try? file.read(into: buffer, at: 0), count == buffer.count else { return true }
            guard case .success(let header) = unsafe PageHeader.decode(UnsafeRawBufferPointer(buffer)) else { return true }
            return header.heading.kind == .blobChunk || header.heading.kind == .blobIndex
        }
    }
}
