import Testing
@testable import HornbeamEngine
@testable import HornbeamSimulation

/// Damage to pages: every flipped bit, and everything that is out of place, is an error that names file and offset.
@Suite struct PageDamageTests {
    static let path = "s/pages-0000000000000001"

    func makeDisk(_ payloads: [[UInt8]]) throws -> (SimulatedDisk, [PageReference]) {
        let disk = SimulatedDisk()
        let bench = try PageBench(on: disk)
        let appender = bench.files.makeAppender()
        let references = try payloads.map { try bench.append($0, to: appender) }
        try appender.sync()
        return (disk, references)
    }

    @Test(arguments: [false, true])
    func everyFlippedBitIsNoticed(compressible: Bool) throws {
        let payload = PageBench.payload(1, count: 400, compressible: compressible)
        let (disk, references) = try makeDisk([payload])
        for bit in 0..<references[0].recordBytes * 8 {
            disk.damage(Self.path) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
            let bench = try PageBench(on: disk)
            do {
                let bytes = try bench.read(references[0]).bytes
                // The padding behind the payload means nothing.
                #expect(bytes == payload && bit / 8 >= references[0].recordBytes - 7, "bit \(bit)")
            } catch let error as EngineError {
                #expect(error.code == .damaged && error.message.contains("offset 0 of pages-0000000000000001"), "bit \(bit)")
            }
            disk.damage(Self.path) { $0[bit / 8] ^= 1 << UInt8(bit % 8) }
        }
    }

    func text(_ disk: SimulatedDisk, _ reference: PageReference, salt: UInt64 = 7, expecting: PageKind? = nil) throws -> String {
        let bench = try PageBench(on: disk, salt: salt)
        return message { try bench.read(reference, expecting: expecting) }
    }

    @Test func theErrorSaysWhatIsWrong() throws {
        let (disk, references) = try makeDisk([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        let second = references[1]
        func damaged(_ offset: Int, _ byte: UInt8) throws -> String {
            let copy = disk.copy()
            copy.damage(Self.path) { $0[Int(second.offset) + offset] = byte }
            return try text(copy, second)
        }
        #expect(try damaged(0, 0xFF) == """
            damaged: The page at offset 40 of pages-0000000000000001 is damaged: the magic number is wrong. Run a check, \
            and restore the store from a backup. [s/pages-0000000000000001]
            """)
        #expect(try damaged(2, 77).contains("the kind is unknown"))
        #expect(try damaged(3, 9).contains("the codec is unknown"))
        #expect(try damaged(5, 9).contains("the stored size differs from the size in its reference"))
        #expect(try damaged(33, 9).contains("the checksum does not match"))

        let cut = disk.copy()
        cut.damage(Self.path) { $0.removeLast(50) }
        #expect(try text(cut, references[2]).contains("the file ends before the record does"))
        #expect(try text(disk, second, salt: 8).contains("the checksum does not match"))
        #expect(try text(disk, second, expecting: .inner).contains("the kind is not the expected one"))
        #expect(try text(disk, .empty).contains("the reference's address names no page"))
        var stale = second
        stale.stamp ^= 1 << 50
        #expect(try text(disk, stale).contains("the checksum differs from the checksum in its reference"))
        var missing = second
        missing.address += 1 << 32
        #expect(try text(disk, missing) == """
            damaged: The page file pages-0000000000000002 is missing. Restore the store's folder as a whole from a backup. \
            [s/pages-0000000000000002]
            """)
    }

    @Test func recordsOutOfPlaceAreRefused() throws {
        let (disk, references) = try makeDisk([[1, 2, 3], [4, 5, 6]])
        let swapped = disk.copy()
        swapped.damage(Self.path) { bytes in
            let first = bytes[0..<40]
            bytes.replaceSubrange(0..<40, with: bytes[40..<80])
            bytes.replaceSubrange(40..<80, with: first)
        }
        #expect(try text(swapped, references[0]).contains("the checksum does not match"))
        let (other, _) = try makeDisk([[9, 9, 9], [4, 5, 6]])
        let foreign = other.files[Self.path]!
        disk.damage(Self.path) { $0 = foreign }
        #expect(try text(disk, references[0]).contains("differs from the checksum in its reference"))
    }

    @Test func aWrongReadThatPassesIsHealed() throws {
        let (disk, references) = try makeDisk([PageBench.payload(4, count: 500)])
        for isSticky in [false, true] {
            let faults = FaultInjector(disk)
            let bench = try PageBench(on: faults)
            faults.add(FaultRule(.flip, calls: [.read], kind: .pages, isSticky: isSticky))
            if isSticky {
                #expect(message { try bench.read(references[0]) }.hasPrefix("damaged"))
            } else {
                #expect(try bench.read(references[0]).bytes == PageBench.payload(4, count: 500))
            }
            #expect(faults.count(of: [.read]) == 2)
        }
    }

    @Test func arbitraryReferencesNeverTrap() throws {
        let (disk, references) = try makeDisk((0..<20).map { PageBench.payload($0, count: $0 * 30) })
        let bench = try PageBench(on: disk)
        var random = SplitMix(seed: 3)
        for _ in 0..<2000 {
            var reference = references.randomElement(using: &random)!
            switch Int.random(in: 0..<4, using: &random) {
            case 0: reference.address = random.next() >> UInt64.random(in: 0..<40, using: &random)
            case 1: reference.stamp = random.next()
            case 2: reference.address ^= 1 << UInt64.random(in: 0..<64, using: &random)
            default: reference.stamp ^= 1 << UInt64.random(in: 0..<16, using: &random)
            }
            #expect(throws: EngineError.self) { _ = try bench.read(reference) }
        }
    }
}
