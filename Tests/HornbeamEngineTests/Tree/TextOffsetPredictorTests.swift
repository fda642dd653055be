import Testing
@testable import HornbeamEngine

@Suite("Predicted text offsets") struct TextOffsetPredictorTests {
    /// Where the texts of two columns begin in a packed leaf, from the end of its arrays: the second column's come first, the last row's
    /// before all others.
    private func leaf(_ count: Int, _ first: (Int) -> Int, _ second: (Int) -> Int) -> (first: [Int], second: [Int]) {
        var (starts, end) = ((first: [Int](repeating: 0, count: count), second: [Int](repeating: 0, count: count)), 0)
        for slot in (0..<count).reversed() {
            starts.second[slot] = end
            end += second(slot)
        }
        for slot in (0..<count).reversed() {
            starts.first[slot] = end
            end += first(slot)
        }
        return starts
    }

    @Test("texts of rows that are much alike are predicted, whichever column they belong to", arguments: [(160, 24, 33), (60, 20, 200), (250, 5, 9)], [0, 1, 2])
    func alikeRowsArePredicted(_ shape: (count: Int, first: Int, second: Int), _ seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        let first = TextOffsetPredictor()
        let second = TextOffsetPredictor()
        var right = (first: 0, second: 0)
        for read in 0..<1_500 {
            let count = shape.count + Int.random(in: -1...1, using: &random)
            // One leaf in ten is of another kind.
            let shortened = Int.random(in: 0..<10, using: &random) == 0 ? 1 : 0
            func length(_ bytes: Int) -> Int { bytes - shortened + [0, 0, 0, 1].randomElement(using: &random)! }
            let starts = leaf(count, { _ in length(shape.first) }, { _ in length(shape.second) })
            let slot = Int.random(in: 0..<count, using: &random)
            let place = TextOffsetPredictor.RowPosition(slot: slot, of: count)
            if read >= 500 {
                right.first += isNear(first, place, starts.first[slot]) ? 1 : 0
                right.second += isNear(second, place, starts.second[slot]) ? 1 : 0
            }
            let areTheirs = (first.learn(1, place, starts.first[slot]), second.learn(5, place, starts.second[slot]))
            #expect(areTheirs == (true, true))
        }
        #expect(right.first >= 850 && right.second >= 850, "\(shape), seed \(seed): \(right) of 1000")
        let columns = (first.reliableColumn, second.reliableColumn)
        #expect(columns == (1 << 1, 1 << 5))
        let isOthers = first.learn(5, TextOffsetPredictor.RowPosition(slot: 0, of: 10), 0)
        #expect(!isOthers, "the texts of another column do not change this prediction")
    }

    private func isNear(_ predictor: borrowing TextOffsetPredictor, _ place: TextOffsetPredictor.RowPosition, _ start: Int) -> Bool {
        guard let line = predictor.line, line.isReliable else { return false }
        return abs(line.start(place) - start) <= TextOffsetPredictor.Line.tolerance
    }

    @Test("a line is unchanged after encoding it in a word", arguments: [0, 1, 7, 63], [-3_000, -1, 0, 1, 70, 16_000])
    func linesAreKept(column: Int, start: Int) {
        var line = TextOffsetPredictor.Line(of: column)
        for read in 0..<2_000 { _ = line.learn(TextOffsetPredictor.RowPosition(slot: read * 7 % 40, of: 40), start) }
        let copy = TextOffsetPredictor.Line(line.state)
        #expect((copy.mark, copy.confidence, copy.byCount, copy.byBalance) == (line.mark, line.confidence, line.byCount, line.byBalance))
        #expect(line.isReliable && abs(line.start(TextOffsetPredictor.RowPosition(slot: 20, of: 40)) - start) <= TextOffsetPredictor.Line.tolerance)
    }

    @Test("texts at random offsets are not predicted", arguments: 0..<4)
    func otherTextsAreNotPredicted(seed: Int) {
        var random = SplitMix(seed: UInt64(seed))
        let predictor = TextOffsetPredictor()
        var sure = 0
        for _ in 0..<2_000 {
            let place = TextOffsetPredictor.RowPosition(slot: Int.random(in: 0..<200, using: &random), of: 200)
            _ = predictor.learn(1, place, Int.random(in: 0..<14_000, using: &random))
            if predictor.reliableColumn != 0 { sure += 1 }
        }
        #expect(sure == 0)
    }
}
