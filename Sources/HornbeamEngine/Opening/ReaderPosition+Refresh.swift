// Refreshes an engine that was opened for reading: continues in the log, or starts again from a newer checkpoint.

import HornbeamThreads

extension ReaderPosition {
    /// Changes an engine to the newest durable version. False if there is no newer one.
    func refresh(_ engine: Engine) throws(EngineError) -> Bool {
        try place.withLock { (place) throws(EngineError) in
            if place.isWriting { return false }
            let recovery = engine.recovery
            let newest = engine.latest
            let states = try recovery.retryingBesideWriter { () throws(EngineError) in
                try MetaFile.open(recovery.metaPath, fileSystem: recovery.fileSystem, readOnly: true).states
            }
            if place.mustRestart || states[0] != place.state {
                engine.beginReadingOthers()
                try restart(engine, &place)
            } else {
                let durable = try recovery.retryingBesideWriter { () throws(EngineError) in
                    try recovery.durablePosition(place.state.store, isWritten: try recovery.fileSystem.isLocked(recovery.metaPath))
                }
                if durable > place.end.position {
                    engine.beginReadingOthers()
                    do throws(EngineError) { try continueReplay(engine, &place, to: durable) } catch { try restart(engine, &place) }
                }
            }
            engine.recordProgress(place)
            let isNew = engine.latest != newest
            guard let follower = engine.follower, engine.latest != place.followed else { return isNew }
            let known = place.followed
            place.followed = engine.latest
            try follower(Engine.Followed(after: known, hasTurn: false))
            return true
        }
    }

    /// Replays the log up to a durable position. `listing` contains the names in the folder, if this process has the turn; then no other one
    /// changes the folder and `meta`.
    func continueReplay(
        _ engine: Engine, _ place: inout Place, to durable: LogPosition, listing: [String]? = nil
    ) throws(EngineError) {
        let recovery = engine.recovery
        try engine.core.files.openAllFiles(listing, againFrom: place.state.nextPageFile)
        if listing == nil { try recovery.requireStateInMeta(place.state) }
        place.mustRestart = true
        place.end = try recovery.replay(from: place.state, place.end, engine, reaching: durable, upTo: durable, listing: listing).mark
        place.mustRestart = false
    }

    /// Opens the store again at the newest checkpoint, with a new pool. The new version is not older than the current one. Snapshots of the old
    /// pool remain readable.
    func restart(_ engine: Engine, _ place: inout Place) throws(EngineError) {
        let fresh = try engine.recovery.openForReading(from: place.end.position)
        guard let readerPosition = fresh.readerPosition else { preconditionFailure("An engine that was opened for reading has a position.") }
        let followed = place.followed
        place = readerPosition.place.withLock { $0 }
        place.followed = followed
        engine.replaceParts(with: fresh)
    }
}
