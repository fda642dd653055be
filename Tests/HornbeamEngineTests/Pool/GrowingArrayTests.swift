import Testing

@testable import HornbeamEngine

/// An array that grows without being copied, beside a Swift array.
@Suite struct GrowingArrayTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func resemblesAnArray(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var array = GrowingArray<UInt64>()
        var model: [UInt64] = []
        for _ in 0..<200 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                array.removeAll()
                model.removeAll()
            case 1..<10:
                let number = random.next()
                array.append(number)
                model.append(number)
            default:
                let numbers = (0..<Int.random(in: 0...300, using: &random)).map { _ in random.next() }
                unsafe numbers.withUnsafeBufferPointer { unsafe array.append(contentsOf: $0) }
                model += numbers
            }
            #expect(array.count == model.count)
            #expect(unsafe Array(array.elements) == model, "seed \(seed)")
        }
    }

    @Test("elements survive the growth into huge pages")
    func largeArrays() {
        var array = GrowingArray<UInt32>()
        let count = 3 * PoolMemory.hugePageBytes
        for n in 0..<count { array.append(UInt32(n)) }
        #expect(array.count == count)
        #expect((0..<count).allSatisfy { array[$0] == UInt32($0) })
    }
}
