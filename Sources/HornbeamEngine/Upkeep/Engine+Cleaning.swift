// Winning space back: live pages are moved out of sparse page files, so that the files can go.
//
// A round takes some files and walks all trees once, a slice at a time: a slice is a transaction that copies a
// dozen nodes into memory, so that writers wait for a few tenths of a millisecond, and the checkpoint after some slices writes
// them. A round that is not finished goes on after the next checkpoint. Files that cannot be read stay as they are.

import HornbeamThreads

extension Engine {
    /// After a checkpoint: empties sparse files as far as the policy asks for it, within a budget that follows what the
    /// checkpoint replaced, and lets go of what only the checkpoint before keeps.
    func winSpace(_ log: LogWriter, isPaced: Bool = false) throws(EngineError) {
        guard cleaner.begin() else { return }
        var isUnfinished = false
        defer { cleaner.end(isUnfinished: isUnfinished) }
        let live = core.space.table.liveBytes
        var budget = max(live / 4, 2 * core.space.policy.fileSizeLimit(live: live))
        while !isShortOfRoom(log), let round = try nextRound(budget: max(budget, 0)) {
            guard budget > 0 else {
                isUnfinished = true
                break
            }
            let moved = try carryOut(round, nodes: nodesPerCheckpoint)
            budget -= (moved + 1) * core.pool.pageSize / 2
            try checkpointer.run(log: log, isPaced: isPaced)
        }
        if isShortOfRoom(log) { try winSpaceWhenFull(log) }
        let kept = try checkpointer.bytesKeptByPrevious()
        if core.space.policy.isFollowUpDue(kept: kept, live: live) {
            try checkpointer.run(log: log, isForced: true, isPaced: isPaced)
        }
    }

    /// Empties sparse files of which all that is live fits into a part of the room: it takes room beside them until the checkpoint after
    /// the next, and deletes need the rest. One round at most for each commit: files that are sparse for the checkpoints' own blocks stay so.
    private func winSpaceWhenFull(_ log: LogWriter) throws(EngineError) {
        let room = core.files.fileSystem.availableBytes(path) ?? .max
        guard room >= options.reserveSize / 2 else { return }
        guard let round = try nextRound(budget: room / 4, isFull: true), core.space.liveBytes(in: round.files) <= room / 4 else { return }
        _ = try carryOut(round, nodes: nodesPerCheckpoint)
        try checkpointer.run(log: log)
    }

    /// Empties every page file there is now, whatever it holds.
    func moveEverything(_ log: LogWriter, _ progress: ProgressReport?) throws(EngineError) {
        cleaner.beginAfterOthers()
        defer { cleaner.end(isUnfinished: false) }
        let files = try core.space.cleanable(readers: [])
        guard !files.isEmpty else { return }
        let round = try makeRound(files)
        cleaner.round = round
        while let round = cleaner.round {
            _ = try carryOut(round, nodes: nodesPerCheckpoint)
            try checkpointer.run(log: log)
            let left = core.space.liveBytes(in: round.files)
            try progress?(WorkProgress(part: "moving pages", done: round.live - min(left, round.live), total: round.live))
        }
        if cleaner.barred.isDisjoint(with: round.files) { return }
        throw EngineError(
            .damaged, "Not all pages can be read, so the store cannot be compacted. Run a check, and salvage what can be saved.",
            path: path)
    }

    /// Nodes that are moved into memory before they are written: a part of the pool.
    private var nodesPerCheckpoint: Int { max(core.pool.capacity / 8, 8) }

    /// The round under way, or a new one if the policy asks for it.
    private func nextRound(budget: Int, isFull: Bool = false) throws(EngineError) -> Cleaner.Round? {
        if let round = cleaner.round { return round }
        let barred = cleaner.barred
        let files = try core.space.cleanable(readers: longReaders).filter {
            !barred.contains($0.number) && (!isFull || $0.live <= budget)
        }
        let victims = core.space.policy.victims(among: files, budget: budget, isFull: isFull)
        guard !victims.isEmpty else { return nil }
        let round = try makeRound(victims)
        cleaner.round = round
        return round
    }

    func makeRound(_ victims: [SpacePolicy.File]) throws(EngineError) -> Cleaner.Round {
        var hasBlobs = false
        for file in victims { if try core.files.mayHoldBlobs(file.number) { hasBlobs = true } }
        return Cleaner.Round(
            files: Set(victims.map(\.number)), hasBlobs: hasBlobs, live: victims.reduce(0) { $0 + $1.live })
    }

    /// Readers of states before the checkpoint before the last: they may stay for long.
    var longReaders: [TransactionNumber] {
        let horizon = checkpointer.previousTransaction
        return core.registry.live.filter { $0 < horizon }
    }

    /// Moves up to so many nodes; gives back how many. The round is gone when all trees were walked.
    func carryOut(_ round: Cleaner.Round, nodes: Int) throws(EngineError) -> Int {
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
            guard error.code == .damaged else { throw error }
            cleaner.giveUp()
        }
        return moved
    }

    private func nextTree(from id: TreeID) throws(EngineError) -> TreeID? {
        try snapshot(isPinned: true).version.trees.first { $0.id >= id }?.id
    }

    /// One transaction that moves what a slice may; puts the round where it has to go on.
    private func moveSlice(_ round: inout Cleaner.Round) throws(EngineError) -> Int {
        var moves = PageMoves(from: round.files, hasBlobs: round.hasBlobs, nodes: Cleaner.nodesPerSlice)
        let transaction = try begin()
        defer { transaction.abort() }
        if transaction.hasTree(round.tree) { try transaction.move(round.tree, &moves, from: round.key) }
        if let next = moves.next { round.key = next } else { (round.tree, round.key) = (round.tree.next, []) }
        if moves.moved > 0 { _ = try transaction.commit(.lazy(maxDelay: .seconds(1)), isUpkeep: true) }
        return moves.moved
    }

    func moveBlob(_ blob: PageReference, outOf files: Set<PageFileNumber>) throws(EngineError) -> PageReference {
        try core.files.copyBlob(blob, to: core.blobs, checkpoint: checkpointer.latest.checkpoint) { files.contains($0) }
    }
}

extension PageFiles {
    /// True unless the file's first record shows that only pages of trees are in it.
    func mayHoldBlobs(_ number: PageFileNumber) throws(EngineError) -> Bool {
        let file: any File
        do throws(EngineError) { file = try handle(number).file } catch {
            // It may have been emptied and removed by now.
            guard error.code == .damaged else { throw error }
            return true
        }
        return unsafe try withUnsafeTemporaryAllocation(byteCount: PageHeader.bytes, alignment: 8) { buffer throws(EngineError) in
            guard unsafe try file.read(into: buffer, at: 0) == buffer.count else { return true }
            guard case .success(let header) = unsafe PageHeader.decode(UnsafeRawBufferPointer(buffer)) else { return true }
            return header.heading.kind == .blobChunk || header.heading.kind == .blobIndex
        }
    }
}
