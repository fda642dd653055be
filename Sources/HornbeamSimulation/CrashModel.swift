// The possible contents of a simulated disk after a crash: all durable operations, and any choice of the unsynced pieces. The model applies
// the operations of a journal in order. An image results from a fate for each unsynced piece.

internal import HornbeamEngine

/// The durable state and the unsynced pieces at one crash point.
struct CrashModel {
    static let sectorBytes = 512
    static let blockBytes = 4096
    /// The largest number of pieces of a write. A write with more blocks has larger pieces.
    static let piecesOfWriteMax = 16

    /// An unsynced operation or a part of it, which a crash may preserve or lose.
    enum Piece {
        /// `isLost`: a failed sync dropped the piece, and no later sync makes it durable.
        case data(DiskState.NodeID, offset: Int, ArraySlice<UInt8>, isLost: Bool)
        case entry(DiskState.EntryChange)

        /// Whether the piece is unsynced data of exactly this range of a file.
        func covers(_ range: Range<Int>, of other: DiskState.NodeID) -> Bool {
            guard case .data(let node, let offset, let bytes, false) = self else { return false }
            return node == other && offset == range.lowerBound && bytes.count == range.count
        }

        var node: DiskState.NodeID? {
            if case .data(let node, _, _, _) = self { node } else { nil }
        }
    }

    /// The fate of a piece in a crash.
    package enum Fate: Hashable {
        case kept
        case dropped
        /// Only the sectors before the middle of the piece are written, or only those after it.
        case firstHalf
        case secondHalf
        /// The file has its new length, but contains zeros in place of the data.
        case zeros
        case garbage(UInt64)
    }

    private(set) var durable: DiskState
    private(set) var pieces: [Piece] = []

    /// The model at the beginning of a journal.
    init(_ journal: SimulatedDisk.Journal) {
        durable = journal.base
        pieces = journal.pieces
    }

    /// Applies an operation. Returns the number of new pieces at the end of the list; nil when earlier pieces have changed too.
    @discardableResult
    mutating func apply(_ operation: SimulatedDisk.Operation) -> Int? {
        let before = pieces.count
        switch operation {
        case .create(let change, let node, let isDirectory):
            durable.insert(node, isDirectory: isDirectory)
            pieces.append(.entry(change))
        case .change(let change):
            pieces.append(.entry(change))
        case .write(let node, let offset, let bytes):
            // The cache has one version of a block: a newer write replaces an unsynced one.
            let range = offset..<offset + bytes.count
            pieces.removeAll { $0.covers(range, of: node) }
            let kept = pieces.count
            pieces += CrashModel.split(node, offset, bytes)
            return pieces.count - kept
        case .sync(let node):
            sync(node)
            return nil
        case .syncDirectory(let node):
            syncDirectory(node)
            return nil
        case .failedSync(let node):
            lose(node)
            return nil
        }
        return pieces.count - before
    }

    /// Divides a write into blocks, or into longer pieces if it has many blocks.
    private static func split(_ node: DiskState.NodeID, _ offset: Int, _ bytes: [UInt8]) -> [Piece] {
        let blocks = (bytes.count + blockBytes - 1) / blockBytes
        let run = blockBytes * max(1, (blocks + piecesOfWriteMax - 1) / piecesOfWriteMax)
        var pieces: [Piece] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, (offset + start + run) / blockBytes * blockBytes - offset)
            pieces.append(.data(node, offset: offset + start, bytes[start..<end], isLost: false))
            start = end
        }
        return pieces
    }

    private mutating func sync(_ node: DiskState.NodeID) {
        var synced: [Range<Int>] = []
        var rest: [Piece] = []
        for piece in pieces {
            if case .data(node, let offset, let bytes, false) = piece {
                durable.write(bytes, to: node, at: offset)
                synced.append(offset..<offset + bytes.count)
            } else {
                rest.append(piece)
            }
        }
        // Bytes that a failed sync dropped cannot reappear over bytes that became durable later.
        pieces = rest.filter { piece in
            guard case .data(node, let offset, let bytes, true) = piece else { return true }
            return !synced.contains { $0.overlaps(offset..<offset + bytes.count) }
        }
    }

    private mutating func syncDirectory(_ directory: DiskState.NodeID) {
        var rest: [Piece] = []
        for piece in pieces {
            if case .entry(let change) = piece, change.directory == directory {
                durable.apply(change)
            } else {
                rest.append(piece)
            }
        }
        pieces = rest
    }

    private mutating func lose(_ node: DiskState.NodeID) {
        pieces = pieces.map { piece in
            guard case .data(node, let offset, let bytes, _) = piece else { return piece }
            return .data(node, offset: offset, bytes, isLost: true)
        }
    }

    /// The disk after a crash with these fates.
    func image(_ fates: [Fate]) -> DiskState {
        var state = durable
        for (piece, fate) in zip(pieces, fates) {
            switch piece {
            case .entry(let change): if fate != .dropped { state.apply(change) }
            case .data(let node, let offset, let bytes, _): CrashModel.write(bytes, to: node, at: offset, fate, &state)
            }
        }
        return state
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>, to node: DiskState.NodeID, at offset: Int, _ fate: Fate, _ state: inout DiskState
    ) {
        // The middle of the piece, rounded to a sector of the file.
        let middle = (offset + bytes.count / 2 + sectorBytes - 1) / sectorBytes * sectorBytes - offset
        let cut = min(middle, bytes.count)
        switch fate {
        case .kept: state.write(bytes, to: node, at: offset)
        case .dropped: break
        case .firstHalf: state.write(bytes.prefix(cut), to: node, at: offset)
        case .secondHalf: state.write(bytes.dropFirst(cut), to: node, at: offset + cut)
        case .zeros: state.write([UInt8](repeating: 0, count: bytes.count)[...], to: node, at: offset)
        case .garbage(let seed):
            var random = SimulationRandom(seed: seed)
            state.write(bytes.indices.map { _ in UInt8(truncatingIfNeeded: random.next() >> 17) }[...], to: node, at: offset)
        }
    }
}

/// A pseudo-random number generator with a seed (SplitMix64).
package struct SimulationRandom: RandomNumberGenerator {
    private var state: UInt64
    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state = state &+ 0x9E37_79B9_7F4A_7C15
        return PageHeader.mixed(state)
    }
}
