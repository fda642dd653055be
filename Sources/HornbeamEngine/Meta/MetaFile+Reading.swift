// Reads the four blocks and chooses the newer valid copy of each slot. A block that the device cannot read is invalid. Different errors report a newer
// format, a damaged file, and a file that is not a meta file.

extension MetaFile {
    static func readSlots(of file: any File) throws(EngineError) -> [MetaBlock?] {
        var bytes = [UInt8](repeating: 0, count: slotCount * copyCount * MetaBlock.bytes)
        let readError = unsafe try bytes.withMutableBytes { (buffer) throws(EngineError) in unsafe try read(file, into: buffer) }
        var slots: [MetaBlock?] = [nil, nil]
        var faults: [MetaBlock.Fault] = []
        for index in 0..<slotCount * copyCount {
            let slot = index % slotCount
            switch decode(bytes, index: index, slot: slot) {
            case .success(let block):
                if block.state.checkpoint > slots[slot]?.state.checkpoint ?? 0 { slots[slot] = block }
            case .failure(let fault):
                faults.append(fault)
            }
        }
        if let refusal = refusal(faults, path: file.path) { throw refusal }
        let valid = slots.compactMap { $0 }
        guard !valid.isEmpty else { throw readError ?? unusable(faults, path: file.path) }
        return try validatedPair(slots, path: file.path)
    }

    /// Reads all blocks. If the device cannot, reads each block by itself, and returns the error.
    private static func read(_ file: any File, into buffer: UnsafeMutableRawBufferPointer) throws(EngineError) -> EngineError? {
        do throws(EngineError) { _ = unsafe try file.read(into: buffer, at: 0) } catch {
            guard error.code == .inputOutput else { throw error }
            for start in stride(from: 0, to: buffer.count, by: MetaBlock.bytes) {
                _ = unsafe try? file.read(into: buffer.part(start..<start + MetaBlock.bytes), at: UInt64(start))
            }
            return error
        }
        return nil
    }

    private static func decode(_ bytes: [UInt8], index: Int, slot: Int) -> Result<MetaBlock, MetaBlock.Fault> {
        let start = index * MetaBlock.bytes
        return unsafe bytes.withBytes { buffer in
            do throws(MetaBlock.Fault) {
                return .success(try unsafe MetaBlock(decoding: buffer.part(start..<start + MetaBlock.bytes), slot: slot))
            } catch {
                return .failure(error)
            }
        }
    }

    /// The error for a block of a newer format, which makes the whole file unusable even if other blocks are valid; nil if there is none.
    private static func refusal(_ faults: [MetaBlock.Fault], path: String) -> EngineError? {
        for fault in faults {
            switch fault {
            case .newer(let version):
                return EngineError(
                    .newerFormat,
                    "The store has format version \(version); this library reads version \(MetaBlock.version). "
                        + "Open it with a newer release.", path: path)
            case .features(let bits):
                return EngineError(
                    .newerFormat,
                    "The store uses features that this library does not know (bits \(String(bits, radix: 2))). "
                        + "Open it with a newer release.", path: path)
            case .notMeta, .damaged: continue
            }
        }
        return nil
    }

    private static func unusable(_ faults: [MetaBlock.Fault], path: String) -> EngineError {
        for case .damaged(let field) in faults {
            return EngineError(
                .damaged,
                "No copy of the store's meta block is valid: \(field) is wrong. Restore the store from a backup.", path: path)
        }
        return EngineError(
            .notAStore, "The file is not the meta file of a store. Check the path.", path: path)
    }

    /// Checks that two valid slots belong to one store. Discards the older state unless it is the direct predecessor of the newer one. After
    /// a torn write, one copy in its slot may contain a much older state. After another torn write, that state could be the only valid one.
    private static func validatedPair(_ slots: [MetaBlock?], path: String) throws(EngineError) -> [MetaBlock?] {
        guard let first = slots[0], let second = slots[1] else { return slots }
        let (older, newer) = first.state.checkpoint < second.state.checkpoint ? (first, second) : (second, first)
        let agree = older.state.store == newer.state.store && older.state.salt == newer.state.salt
            && older.state.pageSize == newer.state.pageSize
        guard agree, older.state.checkpoint != newer.state.checkpoint else {
            throw EngineError(
                .damaged,
                "The two slots of the meta file are not of one store. Restore the store's folder as a whole from a backup.",
                path: path)
        }
        if newer.previousCheck == older.check { return slots }
        return slots.map { $0?.check == newer.check ? $0 : nil }
    }
}
