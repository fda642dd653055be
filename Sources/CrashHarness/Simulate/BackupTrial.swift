import HornbeamEngine

/// A workload with a backup at its end: a folder with the backup's name is complete, and an acknowledged backup stays.
struct BackupTrial {
    private static let path = "backup.hornbeam"
    /// The number of the backup among the acknowledged commits; no workload has so many transactions.
    private static let promise: UInt64 = 1 << 32

    let workload: SimulatedWorkload

    init(seed: UInt64) { workload = SimulatedWorkload(seed: seed, length: 4...12) }

    func perform(on fileSystem: any FileSystem, marking disk: SimulatedDisk) throws {
        var engine: Engine?
        try workload.perform(on: fileSystem, marking: disk, &engine)
        disk.mark(.submitted(Self.promise))
        try engine?.backup(to: Self.path)
        disk.mark(.acknowledged(Self.promise))
    }

    /// Judges the store as usual, and the backup if a folder with its name exists.
    func judge(_ image: CrashEnumerator.Image) throws {
        let newest = workload.newest
        try workload.oracle.judge(
            CrashEnumerator.Image(
                disk: image.disk, acknowledged: min(image.acknowledged, newest), submitted: min(image.submitted, newest),
                name: image.name, depth: image.depth))
        let isPromised = image.acknowledged == Self.promise
        guard try isPromised || image.disk.exists(Self.path) else { return }
        let backup = try Engine.open(Self.path, fileSystem: image.disk, options: workload.oracle.options)
        let found = try workload.oracle.newest(in: backup.snapshot())
        guard found == newest else { throw Finding("the backup ends with transaction \(found)") }
        try workload.oracle.expectSound(backup)
        try backup.close()
    }
}
