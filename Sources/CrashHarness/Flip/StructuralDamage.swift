import HornbeamEngine
import HornbeamSimulation

/// The files of a store, with sources for damage: the same store at an earlier time, and another store of the same kind.
struct DamageSources {
    typealias Files = [String: [UInt8]]

    let files: Files
    /// The files of the same store after half of its transactions.
    let earlier: Files
    let other: Files
}

/// Damage that is larger than a bit: to sectors and blocks, to file lengths, or a combination of files that do not belong together.
struct StructuralDamage {
    let name: String
    private let change: (SimulatedDisk, DamageSources) -> Void

    func apply(to disk: SimulatedDisk, _ store: DamageSources) { change(disk, store) }

    static func all(of store: DamageSources) -> [StructuralDamage] {
        let paths = store.files.keys.sorted()
        var damages = paths.flatMap { path in
            [512, 4096].flatMap { pieceDamages($0, path, store) } + lengths(path, store)
        }
        damages += mixtures(store, with: store.earlier, "an earlier")
        damages += mixtures(store, with: store.other, "another store's")
        return damages + paths.map { path in
            StructuralDamage(name: "removed \(path)") { disk, _ in
                do { try disk.remove(path) } catch { preconditionFailure("\(error)") }
            }
        }
    }

    // MARK: Sectors and blocks

    private static func pieceDamages(_ bytes: Int, _ path: String, _ store: DamageSources) -> [StructuralDamage] {
        let content = store.files[path]!
        let count = content.count / bytes
        return (0..<count).flatMap { piece -> [StructuralDamage] in
            let range = piece * bytes..<(piece + 1) * bytes
            func make(_ kind: String, _ new: [UInt8]) -> StructuralDamage? {
                guard new.count == bytes, !new.elementsEqual(content[range]) else { return nil }
                return StructuralDamage(name: "\(kind) \(bytes) at \(range.lowerBound) of \(path)") { disk, _ in
                    disk.damage(path) { $0.replaceSubrange(range, with: new) }
                }
            }
            func part(_ index: Int, of content: [UInt8]) -> [UInt8] {
                Array(content.dropFirst(index * bytes).prefix(bytes))
            }
            var random = SimulationRandom(seed: UInt64(piece))
            let noise = (0..<bytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let next = (piece + 1) % count
            return [
                make("zeroed", [UInt8](repeating: 0, count: bytes)),
                make("garbage", noise),
                make("ones", [UInt8](repeating: 0xFF, count: bytes)),
                make("duplicated neighbour", part(next, of: content)),
                make("misdirected from far", part((piece + count / 2) % count, of: content)),
                store.earlier[path].flatMap { make("stale", part(piece, of: $0)) },
                store.other[path].flatMap { make("foreign", part(piece, of: $0)) },
                swapped(piece, next, bytes, path, content),
            ].compactMap { $0 }
        }
    }

    private static func swapped(_ one: Int, _ two: Int, _ bytes: Int, _ path: String, _ content: [UInt8]) -> StructuralDamage? {
        let (first, second) = (one * bytes..<(one + 1) * bytes, two * bytes..<(two + 1) * bytes)
        guard !content[first].elementsEqual(content[second]) else { return nil }
        return StructuralDamage(name: "swapped \(bytes) at \(first.lowerBound) and \(second.lowerBound) of \(path)") { disk, _ in
            disk.damage(path) { file in
                let copy = Array(file[first])
                file.replaceSubrange(first, with: Array(file[second]))
                file.replaceSubrange(second, with: copy)
            }
        }
    }

    // MARK: Lengths

    private static func lengths(_ path: String, _ store: DamageSources) -> [StructuralDamage] {
        let count = store.files[path]!.count
        let cuts = stride(from: 0, to: count, by: 512).map { length in
            StructuralDamage(name: "truncated to \(length) \(path)") { disk, _ in
                disk.damage(path) { $0.removeLast($0.count - length) }
            }
        }
        return cuts + [1, 512, 4096, 65_536].flatMap { more in
            [UInt8(0), 0xA5].map { fill in
                StructuralDamage(name: "extended by \(more) of \(fill) \(path)") { disk, _ in
                    disk.damage(path) { $0 += [UInt8](repeating: fill, count: more) }
                }
            }
        }
    }

    // MARK: Files that do not belong together

    /// Replaces files by those of another source: all subsets if there are few files, otherwise each file alone, and all files except one.
    private static func mixtures(
        _ store: DamageSources, with source: DamageSources.Files, _ whose: String
    ) -> [StructuralDamage] {
        let paths = Set(store.files.keys).union(source.keys).filter { store.files[$0] != source[$0] }.sorted()
        let masks: [Set<Int>] =
            paths.count <= 7
            ? (1..<max(1 << paths.count, 1)).map { mask in Set(paths.indices.filter { mask >> $0 & 1 == 1 }) }
            : paths.indices.flatMap { index in [[index], Set(paths.indices).subtracting([index])] }
        return masks.map { mask in
            let chosen = mask.sorted().map { paths[$0] }
            let names = chosen.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            return StructuralDamage(name: "\(whose) \(names.joined(separator: " "))") { disk, _ in
                for path in chosen { replace(path, with: source[path], on: disk) }
            }
        }
    }

    /// Replaces the content of a file. Nil removes the file.
    private static func replace(_ path: String, with content: [UInt8]?, on disk: SimulatedDisk) {
        do throws(EngineError) {
            guard let content else { return try disk.remove(path) }
            if try !disk.exists(path) { _ = try disk.open(path, .create) }
            disk.damage(path) { $0 = content }
        } catch { preconditionFailure("A simulated disk refused to be damaged: \(error)") }
    }
}
