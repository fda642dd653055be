// Finds the segments that a replay reads, and throws for missing, foreign and truncated segments.

extension LogReader {
    /// The segments that a replay reads, in order; the first one contains the mark. Verifies that no number is missing.
    func openSegments(
        from oldest: LogSegmentNumber, mark: LogMark, cleanlyClosed: Bool
    ) throws(EngineError) -> [LogSegment] {
        let numbers = try segments().filter { $0 >= oldest }
        guard let lowest = numbers.first else {
            if cleanlyClosed { return [] }
            throw missing(oldest, at: mark.position)
        }
        guard lowest == oldest || cleanlyClosed else { throw missing(oldest, at: mark.position) }
        for (index, number) in numbers.enumerated() {
            let expected = LogSegmentNumber(lowest.rawValue + UInt64(index))
            guard number == expected else { throw missing(expected, at: mark.position) }
        }
        var chain: [LogSegment] = []
        do throws(EngineError) { chain = try openBackwards(numbers, to: mark) } catch {
            // Reports the oldest segment that cannot be read.
            for number in numbers { chain.append(try open(number)) }
        }
        return try relevant(chain, mark, cleanlyClosed: cleanlyClosed)
    }

    /// Opens the segments from the one with the mark on. Those before it are not read.
    private func openBackwards(_ numbers: [LogSegmentNumber], to mark: LogMark) throws(EngineError) -> [LogSegment] {
        var chain: [LogSegment] = []
        for number in numbers.reversed() {
            let segment = try open(number)
            chain.append(segment)
            if let start = segment.start, start.position <= mark.position { break }
        }
        return chain.reversed()
    }

    /// Drops segments that end before the mark, and empty segments except those at the end. After a crash, the last segment may have no group, or
    /// an incomplete one; the writer then continues in a new segment, which begins at the same position.
    private func relevant(_ chain: [LogSegment], _ mark: LogMark, cleanlyClosed: Bool) throws(EngineError) -> [LogSegment] {
        guard let start = chain.lastIndex(where: { $0.start.map { $0.position <= mark.position } ?? false }) else {
            guard let first = chain.lazy.compactMap(\.start).first?.position else {
                if cleanlyClosed { return chain }
                throw .logDamaged(
                    from: mark.position, to: mark.position, "the first group of the oldest segment is damaged", path: chain[0].file.path)
            }
            throw .logDamaged(
                from: mark.position, to: first, "the log begins after the store's last checkpoint", path: chain[0].file.path)
        }
        var kept: [LogSegment] = []
        for segment in chain[start...] {
            if let first = segment.start?.position {
                kept.removeAll { $0.start == nil }
                if let last = kept.last?.start?.position, last >= first {
                    guard last == first else {
                        throw .logDamaged(from: first, to: last, "the segments of the log overlap", path: segment.file.path)
                    }
                    kept.removeLast()
                }
            }
            kept.append(segment)
        }
        return kept
    }

    /// Opens a segment and verifies its header.
    func open(_ number: LogSegmentNumber) throws(EngineError) -> LogSegment {
        let path = join(directory, number.fileName)
        let file = try fileSystem.open(path, .read)
        var block = [UInt8](repeating: 0, count: LogSegmentHeader.bytes)
        _ = unsafe try block.withMutableBytes { (buffer) throws(EngineError) in unsafe try file.read(into: buffer, at: 0) }
        let header: LogSegmentHeader
        do throws(LogFault) {
            header = unsafe try block.withBytes { (bytes) throws(LogFault) in try unsafe LogSegmentHeader(decoding: bytes) }
        } catch {
            throw refusal(error, path: path)
        }
        guard header.store == store else { throw damaged("the segment belongs to another store", path) }
        guard header.number == number else { throw damaged("the segment's name is not the number in its header", path) }
        guard try file.size() >= header.segmentBytes else { throw damaged("the segment was cut short", path) }
        return try LogSegment(file: file, header: header)
    }

    private func refusal(_ fault: LogFault, path: String) -> EngineError {
        switch fault {
        case .header(let field): damaged("the \(field) of the segment's header is wrong", path)
        case .newer(let version):
            EngineError(
                .newerFormat,
                "The log has format version \(version); this library reads version \(LogSegmentHeader.version). "
                    + "Open the store with a newer release.", path: path)
        }
    }

    private func damaged(_ why: String, _ path: String) -> EngineError {
        EngineError(
            .logDamaged,
            "A segment of the log cannot be read: \(why). Nothing was changed. Restore the store's folder as a whole "
                + "from a backup.", path: path)
    }

    private func missing(_ number: LogSegmentNumber, at position: LogPosition) -> EngineError {
        EngineError(
            .logDamaged,
            "The log segment \(number) is missing, with the commits after log position \(position.rawValue). Nothing was "
                + "changed. Restore the store's folder as a whole from a backup.",
            path: join(directory, number.fileName))
    }
}
