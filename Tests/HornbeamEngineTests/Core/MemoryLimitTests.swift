import Foundation
import Testing

@testable import HornbeamEngine

/// The memory limit of control groups, read from a folder that stands for the root of the file system.
@Suite struct MemoryLimitTests {
    /// Writes the files into a new folder and returns the limit that is read from it.
    private func limit(_ files: [String: String]) throws -> Int? {
        let root = FileManager.default.temporaryDirectory.appending(path: "hornbeam-limit-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (path, text) in files {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return MemoryLimit.ofControlGroups(root: root.path)
    }

    @Test func theSmallestLimitOfTheGroupsAboveCounts() throws {
        let found = try limit([
            "proc/self/cgroup": "0::/service/worker\n", "sys/fs/cgroup/service/worker/memory.max": "max\n",
            "sys/fs/cgroup/service/memory.max": "536870912\n", "sys/fs/cgroup/memory.max": "1073741824\n",
        ])
        #expect(found == 536_870_912)
    }

    @Test func version1IsReadAtItsController() throws {
        let found = try limit([
            "proc/self/cgroup": "9:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n", "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "268435456\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        ])
        #expect(found == 268_435_456)
    }

    @Test func aContainerThatSeesItsGroupAsTheTopmostHasItsLimit() throws {
        let found = try limit(["proc/self/cgroup": "4:memory:/docker/0123\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "67108864\n"])
        #expect(found == 67_108_864)
    }

    @Test(arguments: ["", "nonsense", "0::/\n", "0::/../..\n4:memory", "4:memory:/\n"])
    func withoutAReadableLimitThereIsNone(groups: String) throws {
        #expect(try limit(["proc/self/cgroup": groups, "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "-1\n"]) == nil)
        #expect(try limit([:]) == nil)
    }

    @Test func thePoolTakesAQuarterOfTheMemoryAtMost() {
        #expect(EngineOptions().poolBytes <= max(MemoryLimit.bytes / 4, 8 << 20))
    }
}
